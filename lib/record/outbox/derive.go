package outbox

import (
	"fmt"

	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// Derive returns new entries for an approved text that goes to target, cut where the approval says and
// into parts of at most limit characters (0: any). Text, target and key of a post depend only on
// these arguments; an entry's file only records its progress.
func Derive(approved *decision.Record, target *decision.Target, limit int) []*Entry {
	texts := parts(approved, limit)
	all := make([]*Entry, len(texts))
	for i, text := range texts {
		all[i] = &Entry{
			ID:      ID(approved.Key, approved.Cycle, approved.DraftSHA256, i+1),
			PostKey: PostKey(approved.Key, approved.Cycle, approved.DraftSHA256, i+1),
			Key:     approved.Key, Cycle: approved.Cycle, State: Intent,
			Platform: target.Platform, ChatID: target.ChatID, ThreadID: target.ThreadID,
			ReplyTo:     target.ReplyToID,
			DraftSHA256: approved.DraftSHA256, Part: i + 1, Parts: len(texts), Limit: limit, Text: text,
		}
	}
	return all
}

// parts returns the texts of an approval's messages: cut where the approval says, and further where one
// exceeds the limit.
func parts(approved *decision.Record, limit int) (texts []string) {
	cut, err := draft.Cut(approved.Text, approved.Cuts)
	if err != nil { // no approval that counts has such cuts
		cut = []string{approved.Text}
	}
	for _, part := range cut {
		texts = append(texts, Split(part, limit)...)
	}
	return texts
}

// Agrees compares an entry read from a file with the one derived from its claim and offer. limit
// is the platform's, for entries of versions that did not store theirs.
func (e *Entry) Agrees(approved *decision.Record, target *decision.Target, limit int) error {
	err := e.agrees(Derive(approved, target, e.Limit))
	if err != nil && e.Limit == 0 && e.agrees(Derive(approved, target, limit)) == nil {
		err = nil
	}
	return err
}

func (e *Entry) agrees(all []*Entry) error {
	if e.Parts != len(all) || e.Part < 1 || e.Part > len(all) {
		return e.forged("part", fmt.Sprintf("%d of %d", e.Part, e.Parts), fmt.Sprintf("%d parts", len(all)))
	}
	want := all[e.Part-1]
	for _, f := range []struct{ name, is, want string }{
		{"text", e.Text, want.Text}, {"platform", e.Platform, want.Platform},
		{"chat_id", e.ChatID, want.ChatID},
		{"thread_id", e.ThreadID, want.ThreadID}, {"reply_to_message_id", e.ReplyTo, want.ReplyTo},
		{"post_key", e.PostKey, want.PostKey}, {"draft_sha256", e.DraftSHA256, want.DraftSHA256},
	} {
		if f.is != f.want {
			return e.forged(f.name, f.is, f.want)
		}
	}
	switch e.State {
	case Intent, Posted, Parked, Refused, Dropped:
		return nil
	}
	return e.forged("state", e.State, "")
}

// forged is the error of a field that differs from its derived value.
func (e *Entry) forged(field, is, want string) error {
	err := fmt.Errorf("post %q: %s is %s", e.path(), field, short(is))
	if want != "" {
		err = fmt.Errorf("%w, and what was approved gives %s", err, short(want))
	}
	return hinted(err)
}

// hinted adds a hint to the error of a file that cannot be trusted.
func hinted(err error) error {
	return sysexit.Hint(sysexit.With(sysexit.Data, err),
		"the file was changed by another program than tri-reply, and is not used; "+
			"move it away and start again: tri-reply first looks for the post in the chat")
}

func short(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Package backup writes a consistent copy of a home into one file while its pipeline
// runs, and restores it without posting twice.
//
// What is folded from logs is copied before the logs, so that in the copy it is
// never ahead of them; the decisions before the outbox, and that before the
// replies, so that whatever is being posted meanwhile is in one of lib/record/outbox's
// states, or has no claim. To every program the copy looks like a home that was
// killed. What has happened since is another matter, and Restore's.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// left is what a copy does not need: it is made anew, or belongs to processes.
var left = []string{"locks", "index", "logs", "supervise.json", "watch.json"}

// order is that of copying; what is not named comes in between.
var order = map[string]int{
	"open": -1, "closed": -1, "runs": -1, "escalations": -1, "dispatch.json": -2,
	decision.LogName: 1, outbox.Dir: 2, "replies.ndjson": 3,
}

// Save writes a home to w.
func Save(h *durable.Home, w io.Writer) error {
	names, err := list(h)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	for _, name := range names {
		if err := put(h, out, name); err != nil {
			return fmt.Errorf("back up %q: %w", name, err)
		}
	}
	return sysexit.With(sysexit.IO, errors.Join(out.Close(), zip.Close()))
}

// list is what is copied, in that order.
func list(h *durable.Home) ([]string, error) {
	var names []string
	err := fs.WalkDir(h.Root().FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a thread that was just closed; its log has it
			return nil
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(left, name):
			return fs.SkipDir
		case !d.Type().IsRegular() || slices.Contains(left, name) || strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "lock":
			return nil
		}
		names = append(names, name)
		return nil
	})
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names, err
}

func rank(name string) int {
	top, _, _ := strings.Cut(name, "/")
	return order[top]
}

// put copies one file as it is now. A log may grow meanwhile: what it has now is
// copied, and its whole lines are what counts.
func put(h *durable.Home, out *tar.Writer, name string) error {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	if _, err = io.CopyN(out, f, info.Size()); errors.Is(err, io.EOF) {
		return sysexit.With(sysexit.TempFail, errors.New("it became shorter meanwhile: try again"))
	}
	return err
}

// Restored is what Restore did.
type Restored struct {
	Files   int
	Revoked int // approved drafts that had not begun to be posted
	Looked  int // posts that are looked for before they are made
}

// Restore makes a home of a copy. dir must not be there yet, or be empty.
//
// The copy is of the past: what was approved in it may have been posted since. So
// no approval that had not begun to be posted counts any more, and the pipeline
// looks into it again; and a post that had begun is looked for in the chat first.
func Restore(r io.Reader, dir string, now time.Time) (done Restored, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return done, sysexit.Hint(sysexit.With(sysexit.Usage, fmt.Errorf("%q is not empty", dir)), "name a folder that is not there yet")
	}
	h, err := durable.Open(dir)
	if err != nil {
		return done, err
	}
	defer h.Close()
	if done.Files, err = unpack(h, r); err != nil {
		return done, err
	}
	state, err := standing(h)
	if err != nil {
		return done, err
	}
	if done.Revoked, err = revoke(h, state, now); err != nil {
		return done, err
	}
	done.Looked, err = look(h, state.Claims(), now)
	return done, err
}

// maxFile is the most that one file of a copy may have, in bytes.
const maxFile = 64 << 30

func unpack(h *durable.Home, r io.Reader) (n int, err error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return 0, sysexit.With(sysexit.Data, fmt.Errorf("read backup: %w", err))
	}
	in := tar.NewReader(zip)
	folders := map[string]bool{}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			for dir := range folders {
				if err := h.SyncDir(dir); err != nil {
					return n, err
				}
			}
			return n, nil
		}
		if err != nil {
			return n, sysexit.With(sysexit.Data, fmt.Errorf("read backup: %w", err))
		}
		if head.Typeflag != tar.TypeReg || !fs.ValidPath(head.Name) || head.Size > maxFile {
			return n, sysexit.With(sysexit.Data, fmt.Errorf("read backup: %q is no file of a home", head.Name))
		}
		if err := write(h, head.Name, in); err != nil {
			return n, fmt.Errorf("restore %q: %w", head.Name, err)
		}
		folders[path.Dir(head.Name)] = true
		n++
	}
}

func write(h *durable.Home, name string, r io.Reader) error {
	if err := h.MkdirAll(path.Dir(name)); err != nil {
		return err
	}
	f, err := h.Root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	_, err = io.Copy(f, r)
	return sysexit.With(sysexit.IO, errors.Join(err, f.Sync(), f.Close()))
}

// since is what makes a word of the past doubtful.
const since = "the home was restored from a backup: it may have been posted since"

// standing folds the log of decisions. Whoever is in it counts here: what today's
// list of approvers would refuse needs no revoking, and one revoke too many does
// no harm.
func standing(h *durable.Home) (*decision.State, error) {
	rs, err := decision.Read(h)
	policy := decision.Policy{Auto: true}
	for _, r := range rs {
		policy.Approvers = append(policy.Approvers, r.By)
	}
	state := decision.NewState(policy)
	for _, r := range rs {
		state.Add(r)
	}
	return state, err
}

// revoke takes back every yes that nobody had begun to act upon.
func revoke(h *durable.Home, state *decision.State, now time.Time) (n int, err error) {
	var open []decision.Record
	state.Keys(func(st *decision.Standing) {
		if st.Approved() {
			open = append(open, decision.Record{
				Kind: decision.Revoke, By: "tri-backup", Via: "code", Key: st.Key, Cycle: st.Cycle,
				DraftSHA256: st.Decision.DraftSHA256, At: text.Timestamp(now), Note: since,
			})
		}
	})
	slices.SortFunc(open, func(a, b decision.Record) int { return strings.Compare(a.Key, b.Key) })
	for _, r := range open {
		if _, err := decision.Append(h, r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// look has every post that was on its way looked for in the chat before it is
// made, as if a try of it had been cut short. One that was claimed and of which
// nothing else is known waits for a person.
func look(h *durable.Home, claims []*decision.Standing, now time.Time) (n int, err error) {
	entries, err := outbox.Open(h)
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[decision.ID(e.Key, e.Cycle, e.DraftSHA256)] = true
		if e.State != outbox.Intent {
			continue
		}
		e.Tries, e.TriedAt = max(e.Tries, 1), text.Timestamp(now)
		if err := e.Save(h); err != nil {
			return n, err
		}
		n++
	}
	if err := replied(h, known); err != nil {
		return n, err
	}
	for _, st := range claims {
		d := st.Decision
		if known[d.ID()] || st.Offer.Target == nil {
			continue
		}
		t := st.Offer.Target
		e := &outbox.Entry{
			ID: outbox.ID(d.Key, d.Cycle, d.DraftSHA256, 1), PostKey: outbox.PostKey(d.Key, d.Cycle, d.DraftSHA256, 1), Key: d.Key, Cycle: d.Cycle,
			State: outbox.Parked, Platform: t.Platform, ChatID: t.ChatID, ThreadID: t.ThreadID, ReplyTo: t.ReplyToID,
			DraftSHA256: d.DraftSHA256, Part: 1, Parts: 1, Text: d.Text, Tries: 1, TriedAt: text.Timestamp(now), IntentAt: text.Timestamp(now), Why: since,
		}
		if err := e.Save(h); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// replied adds the drafts that have their line in replies.ndjson.
func replied(h *durable.Home, known map[string]bool) error {
	text, err := h.ReadFile("replies.ndjson")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	for line := range bytes.Lines(text) {
		var r outbox.Reply
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // torn: tri-reply cuts it and looks
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read replies.ndjson: %w", err))
		}
		known[decision.ID(r.Key, r.Cycle, r.DraftSHA256)] = true
	}
	return nil
}

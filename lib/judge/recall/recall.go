// Package recall chooses what of a team's memory helps with a question: entries for the same readers whose
// cited lines are unchanged, ranked by words. An entry is a hint: a draft that uses it must cite
// the lines anew.
package recall

import (
	"context"
	"os"
	"slices"
	"strings"
	"unicode"

	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
)

// States of an entry's cited lines.
const (
	Unchanged = "unchanged"
	Moved     = "moved" // unchanged, at another line
	Changed   = "changed"
)

// Limits of what is recalled for a question.
const (
	Most      = 12   // entries
	MostCore  = 4000 // characters of core lessons
	MostOther = 8000 // characters of other entries
)

// State compares the lines that refs cite with the codebase. why says for a person what moved or changed. An
// error means that the codebase cannot be read.
func State(root *os.Root, repo evidence.Repo, refs []draft.Ref) (state, why string, err error) {
	state = Unchanged
	for _, ref := range refs {
		if ref.Receipt == nil && ref.Kind == draft.KindFile {
			continue // it could not be read when it was cited, and the approver has seen that
		}
		ok, note, err := evidence.StillStands(root, repo, ref)
		switch {
		case err != nil:
			return "", "", err
		case !ok:
			return Changed, ref.Ref + ": " + note, nil
		case note != "" && why == "":
			state, why = Moved, ref.Ref+": "+note
		}
	}
	return state, why, nil
}

// Quarantined returns the parts of an entry that are instructions to a reader. Such an entry is not used
// unless a person has kept it.
func Quarantined(e *memory.Entry) []string {
	if e.Kept {
		return nil
	}
	return append(safety.Injected(e.Text, safety.Sources{}), safety.Injected(e.Question, safety.Sources{})...)
}

// Usable reports whether an entry may be recalled: it is neither proposed, forgotten, superseded nor a
// refusal, states a fact, and has no instruction in it.
func Usable(e *memory.Entry) bool {
	return e.Out == "" && e.Source != memory.Refused && e.Category != memory.Hypothesis &&
		e.Category != memory.Todo &&
		len(Quarantined(e)) == 0
}

// Readers are who may read an entry: those of one chat, about one codebase. An entry that was posted nowhere,
// a person's note, is for every chat of its codebase.
type Readers struct{ Codebase, Platform, ChatID string }

func (r Readers) may(e *memory.Entry) bool {
	return e.Codebase == r.Codebase && (e.ChatID == "" || e.ChatID == r.ChatID && e.Platform == r.Platform)
}

// maxRanked is how many entries are ranked: those that share the most words with the question.
const maxRanked = 64

type candidate struct {
	entry  memory.Entry
	text   string
	shared int // words
}

// Words returns the different words of a text, in lower case.
func Words(s string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		all[w] = true
	}
	return all
}

// Rank returns the usable entries for readers that share words with a question, best first, within the
// limits; core lessons come before the others.
func Rank(ctx context.Context, entries []memory.Entry, readers Readers,
	question string) ([]memory.Entry, error) {
	var near []candidate
	asked := Words(question)
	for _, e := range entries {
		if !readers.may(&e) {
			continue
		}
		c := candidate{entry: e, text: e.Question + "\n" + e.Text}
		for _, r := range e.Refs {
			c.text += "\n" + r.Ref + "\n" + r.Quote
		}
		for w := range Words(c.text) {
			if asked[w] {
				c.shared++
			}
		}
		if c.shared > 0 && Usable(&e) {
			near = append(near, c)
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return b.shared - a.shared })
	texts, byID := map[string]string{}, map[string]memory.Entry{}
	for _, c := range near[:min(len(near), maxRanked)] {
		texts[c.entry.ID], byID[c.entry.ID] = c.text, c.entry
	}
	if len(texts) == 0 {
		return nil, nil
	}
	found, err := codesearch.Texts(texts).Search(ctx, question, 4*Most)
	if err != nil {
		return nil, err
	}
	var core, other []memory.Entry
	room, roomCore := MostOther, MostCore
	seen := map[string]bool{}
	for _, hit := range found.Hits {
		e := byID[hit.Path]
		if seen[e.ID] || len(seen) == Most {
			continue
		}
		left, list := &room, &other
		if e.Core {
			left, list = &roomCore, &core
		}
		if *left -= len([]rune(e.Text)); *left < 0 {
			*left += len([]rune(e.Text))
			continue
		}
		seen[e.ID] = true
		*list = append(*list, e)
	}
	return append(core, other...), nil
}

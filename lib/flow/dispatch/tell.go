package dispatch

import (
	"cmp"
	"slices"
	"time"

	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// maxWords is how many messages a run receives. Later ones wait for the next cycle, which resumes the run's
// session: without a bound, people who keep writing would keep a run from its end.
const maxWords = 8

// tell brings the words of a run in progress to what waits in its thread. Words are durable before the run
// receives them, and carry the id of what was said: each is written once, however often this is called.
// maxWords bounds the asker's.
func (p *pool) tell(t *thread.Thread, id string) error {
	if _, ok := p.live[id]; !ok {
		return nil // it gets them when it starts
	}
	dir := p.Home.Path(run.Folder(p.Home, id))
	told, err := run.Words(dir)
	if err != nil || len(t.Pending)+len(t.PendingNotes)+len(told) == 0 {
		return err
	}
	stretched := p.stretched(t, dir)
	var words []run.Word
	for _, m := range t.Pending {
		word := t.Word(m)
		if slices.ContainsFunc(told, func(w run.Word) bool { return w.ID == word }) {
			continue
		}
		kind := run.Append
		switch {
		case slices.ContainsFunc(told, func(w run.Word) bool {
			return slices.Contains(w.MessageIDs, m.MessageID)
		}):
			kind = run.Edit
		case m.Relation == thread.RelationRedirect:
			kind = run.Redirect
		case stretched:
			continue
		}
		if len(told)+len(words) < maxWords {
			words = append(words, run.Word{ID: word, Kind: kind, By: "asker",
				MessageIDs: []string{m.MessageID}, Text: m.Said()})
		}
	}
	for _, n := range t.PendingNotes { // however long the run has taken
		kind := cmp.Or(n.Relation, run.Append)
		if word := t.Said(n); !slices.ContainsFunc(told, func(w run.Word) bool { return w.ID == word }) {
			words = append(words, run.Word{ID: word, Kind: kind, By: n.By, Text: n.Text})
		}
	}
	for _, w := range told { // what was deleted since
		if len(w.MessageIDs) == 1 && w.Kind != run.Withdraw && !t.Holds(w.MessageIDs[0]) {
			id := run.WordID(t.Key, w.MessageIDs[0], run.Withdraw)
			words = append(words, run.Word{ID: id, Kind: run.Withdraw, By: "asker", MessageIDs: w.MessageIDs})
		}
	}
	if len(words) == 0 {
		return nil
	}
	if _, err := run.Tell(p.Home, id, p.Now(), words...); err != nil {
		return err
	}
	return p.fault("words")
}

// stretched reports whether a run has worked for twice the time that its question was expected to take.
func (p *pool) stretched(t *thread.Thread, dir string) bool {
	s, err := run.LoadState(dir)
	if err != nil || t.ExpectedMin <= 0 {
		return false // no agent was started yet
	}
	began, err := time.Parse(time.RFC3339, s.StartedAt)
	return err == nil && p.Now().Sub(began).Minutes() > 2*t.ExpectedMin
}

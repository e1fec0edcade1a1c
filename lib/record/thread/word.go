package thread

import (
	"slices"

	"tri/lib/record/decision"
	"tri/lib/record/run"
)

// Word returns the id of the word that tells a run a message of t: another one when it is edited.
func (t *Thread) Word(m Message) string {
	return run.WordID(t.Key, m.MessageID, decision.Sum(m.Content))
}

// Said returns the id of the word that tells a run what an operator said.
func (t *Thread) Said(n Note) string {
	return run.WordID(t.Key, "operator "+n.By+" "+n.At, decision.Sum(n.Text))
}

// unheard reports whether messages wait that a result does not answer.
func (t *Thread) unheard(r *run.Result) bool {
	return slices.ContainsFunc(t.Pending, func(m Message) bool {
		return !slices.Contains(r.Heard, t.Word(m))
	}) ||
		slices.ContainsFunc(t.PendingNotes, func(n Note) bool { return !slices.Contains(r.Heard, t.Said(n)) })
}

// heard makes what waits and a run was told, as it says with its result, part of the cycle: the result
// answers it.
func (t *Thread) heard(r *run.Result) {
	if len(r.Heard) == 0 {
		return
	}
	var left []Message
	t.PendingMessageIDs = []string{}
	for _, m := range t.Pending {
		if slices.Contains(r.Heard, t.Word(m)) {
			t.Messages = append(t.Messages, m)
			continue
		}
		left, t.PendingMessageIDs = append(left, m), append(t.PendingMessageIDs, m.MessageID)
	}
	t.Pending = left
	var notes []Note
	for _, n := range t.PendingNotes {
		if slices.Contains(r.Heard, t.Said(n)) {
			t.Notes = append(t.Notes, n)
			continue
		}
		notes = append(notes, n)
	}
	t.PendingNotes = notes
}

package approve

import (
	"fmt"

	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

// Direct appends an operator's word on an item that is open, whether or not something of it waits: tell,
// redirect, cancel or dismiss, with a note. A branch may be of a closed one.
func (g *Gate) Direct(t *thread.Thread, kind, note string) (Said, error) {
	if t.Status == thread.Closed && kind != decision.Branch {
		return Said{}, sysexit.With(sysexit.No,
			fmt.Errorf("%s %s: it is closed: %s", kind, t.Key, t.CloseReason))
	}
	return g.decide(&Item{Key: t.Key, Cycle: t.Cycle}, decision.Record{Kind: kind, Note: note})
}

// Todo appends an operator's change of people's lists: an entry is added with a text, done or undone.
func (g *Gate) Todo(id, act, text string) error {
	_, err := g.decide(&Item{Key: decision.TodoKey(id), Cycle: 1},
		decision.Record{Kind: decision.Todo, Outcome: act, Note: text})
	return err
}

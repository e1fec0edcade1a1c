package approve

import (
	"strings"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/thread"
)

// TestNoDecisionKeeps: an edit shows what it proposes to remember, an approval proposes nothing, and neither
// writes to the memory.
func TestNoDecisionKeeps(t *testing.T) {
	g := newGate(t, "ana")
	refs := []draft.Ref{{Kind: draft.KindFile, Ref: "a.go:1", Receipt: &draft.Receipt{SHA256: "x"}}}
	for _, id := range []string{"1", "2"} {
		key, text := "local.dev."+id, "It is "+id+"."
		put(t, g, id, "how many?", text)
		th, err := thread.Load(g.Home, key)
		if err != nil {
			t.Fatal(err)
		}
		th.Cycle = 2
		if err := th.Save(g.Home); err != nil {
			t.Fatal(err)
		}
		if _, err := decision.Append(g.Home, decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: 2,
			Text: text, DraftSHA256: decision.Sum(text), Evidence: refs}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(key string) *Item {
		it, err := g.Find(key, Draft)
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	said, err := g.Edit(find("local.dev.1"), "It is 1. It counts\x1b from 0.")
	if err == nil {
		t.Fatal("a control character was approved")
	}
	said, err = g.Edit(find("local.dev.1"), "It is 1. It counts from 0.")
	if err != nil || said.Lesson == nil || said.Lesson.Text != "It counts from 0." ||
		!strings.Contains(said.Proposes(), "not used yet: It counts from 0.; after the post, tri-memory keep m-") {
		t.Errorf("%q, %v", said.Proposes(), err)
	}
	if said, err = g.Decide(find("local.dev.2"), decision.Approve, ""); err != nil || said.Proposes() != "" {
		t.Errorf("%q, %v", said.Proposes(), err)
	}
	if g.Home.Exists(memory.LogName) {
		t.Error("a decision wrote to the memory")
	}
}

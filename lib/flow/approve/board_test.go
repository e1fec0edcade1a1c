package approve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tri/lib/record/thread"
)

// A board knows what others have done, and what its own gate has.
func TestBoard(t *testing.T) {
	g := newGate(t, "ana")
	first := put(t, g, "1", "where?", "Here.")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b, err := g.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	items, version, err := b.Items()
	if err != nil || len(items) != 1 || items[0].Key != first {
		t.Fatalf("%v, %v", items, err)
	}
	changed := b.Changed()
	put(t, g, "2", "when?", "Now.")
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the board has not seen a new draft")
	}
	// The offer and the thread are two writes, and may be two changes.
	for deadline := time.Now().Add(20 * time.Second); len(items) != 2 && time.Now().Before(deadline); items, version, _ = b.Items() {
		time.Sleep(5 * time.Millisecond)
	}
	if len(items) != 2 || version < 2 {
		t.Fatalf("%d items in version %d", len(items), version)
	}
	seen := items[0]
	if _, err := g.Approve(seen); err != nil {
		t.Fatal(err)
	}
	b.Refresh()
	items, after, _ := b.Items()
	if after <= version || items[len(items)-1].Kind != Approved || seen.Kind != Draft {
		t.Errorf("version %d, kind %s; the item that was seen is %s", after, items[len(items)-1].Kind, seen.Kind)
	}
	b.Refresh()
	if _, again, _ := b.Items(); again != after {
		t.Error("nothing changed, and the version did")
	}
}

func TestBoardSaysSameAsItems(t *testing.T) {
	g := newGate(t, "ana")
	b, err := g.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		key := put(t, g, fmt.Sprint(i), "where?", fmt.Sprint("Here ", i))
		switch i % 4 {
		case 1:
			it, err := g.Find(key, Draft)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Dismiss(it, ""); err != nil {
				t.Fatal(err)
			}
		case 2:
			th, err := thread.Load(g.Home, key)
			if err != nil {
				t.Fatal(err)
			}
			th.Status = thread.Investigating
			if err := th.Save(g.Home); err != nil {
				t.Fatal(err)
			}
		}
		b.Refresh()
		got, _, err1 := b.Items()
		want, err2 := g.Items()
		if err1 != nil || err2 != nil || len(got) != len(want) {
			t.Fatalf("%d items, want %d: %v, %v", len(got), len(want), err1, err2)
		}
		for j := range got {
			if got[j].ID != want[j].ID || got[j].Kind != want[j].Kind || got[j].Number != want[j].Number {
				t.Fatalf("%+v, want %+v", got[j], want[j])
			}
		}
	}
}

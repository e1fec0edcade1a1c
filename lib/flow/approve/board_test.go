package approve

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tri/lib/record/decision"
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
	for deadline := time.Now().Add(20 * time.Second); len(items) != 2 && time.Now().Before(deadline); items,
		version, _ = b.Items() {
		time.Sleep(5 * time.Millisecond)
	}
	if len(items) != 2 || version < 2 {
		t.Fatalf("%d items in version %d", len(items), version)
	}
	seen := items[0]
	if _, err := g.Decide(seen, decision.Approve, ""); err != nil {
		t.Fatal(err)
	}
	b.Refresh()
	items, after, _ := b.Items()
	if after <= version || items[len(items)-1].Kind != Approved || seen.Kind != Draft {
		t.Errorf("version %d, kind %s; the item that was seen is %s", after,
			items[len(items)-1].Kind, seen.Kind)
	}
	b.Refresh()
	if _, again, _ := b.Items(); again != after {
		t.Error("nothing changed, and the version did")
	}
}

// TestDamagedFilesAreNamed: a thread and a post that cannot be read are listed with the reason, nothing
// can be decided about them, and all other drafts can be decided as before.
func TestDamagedFilesAreNamed(t *testing.T) {
	g := newGate(t, "ana")
	first := put(t, g, "1", "where?", "Here.")
	put(t, g, "2", "when?", "Now.")
	bad := map[string]bool{first: true, "x.1.y.1": true}
	if err := errors.Join(g.Home.Replace(thread.OpenPath(first), []byte(`{"key`)),
		g.Home.Replace("outbox/x.1.y.1.json", []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	b, err := g.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := b.Items()
	b.Refresh()
	items, again, err := b.Items()
	if err != nil || len(items) != 3 || again != version {
		t.Fatalf("%d items, version %d then %d, %v", len(items), version, again, err)
	}
	for _, it := range items {
		if (it.Kind == Damaged) != bad[it.Key] || bad[it.Key] && it.Note == "" {
			t.Errorf("%+v", it)
		}
		g.View(it)
		if _, err := g.Decide(it, decision.Dismiss, ""); (err != nil) != bad[it.Key] {
			t.Errorf("%s dismissed: %v", it.Key, err)
		}
	}
	if it, err := g.Find(first, Draft); err == nil {
		t.Errorf("found %+v", it)
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
			if _, err := g.Decide(it, decision.Dismiss, ""); err != nil {
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
			if got[j].ID != want[j].ID || got[j].Kind != want[j].Kind {
				t.Fatalf("%+v, want %+v", got[j], want[j])
			}
		}
	}
}

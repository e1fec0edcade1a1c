package dispatch

import (
	"fmt"
	"slices"
	"testing"

	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// TestWithout: without any one subscriber, and without all of them, questions are answered, offered and
// rebuilt.
func TestWithout(t *testing.T) {
	b := newBench(t)
	d, err := newDispatcher(b.options())
	if err != nil {
		t.Fatal(err)
	}
	all := len(d.subscribers)
	for i := range all + 1 {
		name := "all"
		if i < all {
			name = fmt.Sprintf("%T", d.subscribers[i])
		}
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add("1", "ana", "", event.Actionable, "why?")
			b.add("2", "ben", "", event.Actionable, "is this a lie?")
			d, err := newDispatcher(b.options())
			if err != nil {
				t.Fatal(err)
			}
			if d.subscribers = slices.Delete(d.subscribers, min(i, all-1), min(i+1, all)); i == all {
				d.subscribers = nil
			}
			if err := d.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"1", "2"} {
				if n, _ := b.offers(id); n != 1 || b.thread(id).Status != thread.PendingUser {
					t.Errorf("%s: %d offers, %s", id, n, b.thread(id).Status)
				}
			}
			if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
				t.Errorf("rebuild: %+v, %v", done, err)
			}
		})
	}
}

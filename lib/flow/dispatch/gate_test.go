package dispatch

import (
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// TestApproverAdded: a decision of a person who was added to the approvers counts, as the program that wrote
// it has said: in a dispatcher that was started before, and in one that is started after an earlier one has
// passed over it.
func TestApproverAdded(t *testing.T) {
	for _, live := range []bool{true, false} {
		b := newBench(t)
		b.add("1", "ana", "", event.Actionable, "why?")
		b.run()
		b.cfg.Team.Approvers = []string{"eve"}
		added := decision.Policy{Approvers: []string{"boss"}}
		o := b.options()
		o.Policy = func() (decision.Policy, error) { return decision.PolicyOf(b.cfg), nil }
		if live {
			o.Policy = func() (decision.Policy, error) { return added, nil }
		}
		d, err := newDispatcher(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.each(subscriber.open); err != nil {
			t.Fatal(err)
		}
		if err := d.recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.decide(decision.Redo, "1", "look again")
		if _, err := readLines(b.home, decision.LogName, d.store.mark.Decisions, func(l []byte) error {
			return d.takeDecision(line{l, d.store.mark.Decisions + int64(len(l)) + 1})
		}); err != nil {
			t.Fatal(err)
		}
		if th := b.thread("1"); live != (th.Cycle == 2) {
			t.Errorf("live %v: cycle %d, %s", live, th.Cycle, b.say.String())
		}
		if err := d.store.saveMark(); err != nil {
			t.Fatal(err)
		}
		d.close()
		b.cfg.Team.Approvers = added.Approvers
		b.run()
		if th := b.thread("1"); th.Cycle != 2 || th.Status != thread.PendingUser || b.runs.Load() != 2 {
			t.Errorf("live %v: cycle %d, %s, %d runs", live, th.Cycle, th.Status, b.runs.Load())
		}
		b.run() // once
		if th := b.thread("1"); th.Cycle != 2 {
			t.Errorf("live %v: again in cycle %d", live, th.Cycle)
		}
		if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed > 0 {
			t.Errorf("%+v, %v", done, err)
		}
	}
}

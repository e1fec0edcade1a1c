package dispatch

import (
	"context"

	"tri/lib/record/thread"
)

// recover brings memory and threads to the end of the journal: inputs that were journalled but not applied
// when the last dispatcher ended are applied now.
func (d *Dispatcher) recover(ctx context.Context) error {
	if err := d.store.read(); err != nil {
		return err
	}
	for _, t := range d.store.open { // a move interrupted between its two steps
		if err := d.Home.Remove(thread.ClosedPath(t.Key)); err != nil {
			return err
		}
	}
	if err := d.readDecisions(); err != nil {
		return err
	}
	if _, err := readLines(d.Home, "replies.ndjson", 0, func(line []byte) error {
		_, err := d.readReply(line)
		return err
	}); err != nil {
		return err
	}
	if err := d.retireClosed(); err != nil {
		return err
	}
	for _, t := range d.store.sorted() {
		if err := d.do(t); err != nil {
			return err
		}
	}
	if err := d.pool.stopLost(); err != nil {
		return err
	}
	if err := d.each(func(s subscriber) error { return s.begun(d.store.sorted()) }); err != nil {
		return err
	}
	return d.startRuns(ctx)
}

// retireClosed withdraws offers left open by a dispatcher that was killed after closing a thread and
// before recording it in the decision log.
func (d *Dispatcher) retireClosed() error {
	for key := range d.gate.latest {
		s := d.gate.Standing(key)
		if d.store.open[key] != nil || s == nil || s.Offer == nil || s.Void != "" || s.Claimed {
			continue
		}
		t, err := d.store.load(key)
		if err != nil {
			return err
		}
		if err := d.do(t); err != nil {
			return err
		}
	}
	return nil
}

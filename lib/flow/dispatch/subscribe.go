package dispatch

import "tri/lib/record/thread"

// subscriber is notified when threads move, after the move is durable. It writes no thread: without it the
// fold is the same.
type subscriber interface {
	// begun is called once, with the open threads, after the journal has been applied.
	begun(open []*thread.Thread, load func(key string) (*thread.Thread, error)) error
	// ran is called when a run of a thread starts.
	ran(t *thread.Thread, runID string) error
	// moved is called with the threads that inputs have changed.
	moved(ts ...*thread.Thread) error
}

// each calls fn for each subscriber.
func (d *Dispatcher) each(fn func(subscriber) error) error {
	for _, s := range d.subscribers {
		if err := fn(s); err != nil {
			return err
		}
	}
	return nil
}

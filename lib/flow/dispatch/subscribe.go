package dispatch

import "tri/lib/record/thread"

// subscriber is told of the moves of threads, behind their durable end. It writes no
// thread: what it does can be taken out, and the fold is the same.
type subscriber interface {
	// begun is called once, with the open threads, when what the journal has is applied.
	begun(open []*thread.Thread, load func(key string) (*thread.Thread, error)) error
	// ran is called when a run of a thread starts.
	ran(t *thread.Thread, runID string) error
	// moved is called with the threads that inputs have moved.
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

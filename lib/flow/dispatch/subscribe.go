package dispatch

import (
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// A subscriber is a rule beside the fold loop, in a file of its own; attach wires it by one line, and without
// that line the rest works. It writes no thread: what it wants of one it returns as an input.
type subscriber interface {
	// open is called once, before anything else; close at the end.
	open() error
	close() error
	// recorded is called with each record of the decision log, in order, those of earlier processes first.
	// counts is false for a record that has no effect.
	recorded(r *decision.Record, counts bool)
	// posted is called with each post of replies.ndjson, those of earlier processes first.
	posted(r *outbox.Reply)
	// begun is called once, with the open threads, after the logs have been read.
	begun(open []*thread.Thread) error

	// taken is called with each event that was taken, and what the rules said of it.
	taken(e *event.Classified, f *thread.Facts) error
	// moved is called with the threads that inputs have changed, after the change is durable.
	moved(ts ...*thread.Thread) error
	// offered is called when a draft is offered, and at a start for each offer that is open.
	offered(t *thread.Thread, offer *decision.Record) error

	// holds reports whether a run that is due has to wait.
	holds(j job, t *thread.Thread) bool
	// starting is called before a run starts. It may complete the job. An input is applied instead of the
	// run.
	starting(j *job, t *thread.Thread) (*thread.Input, error)
	// ran is called when a run has started.
	ran(t *thread.Thread, runID string) error
	// hints returns what a run is given of other work.
	hints(j job, t *thread.Thread) []Hint
	// ended is called with the result of a run before it is applied. t is nil if the thread is closed.
	ended(t *thread.Thread, res *run.Result) error

	// tick is called every second, idle when no run waits for a start. They return inputs to apply.
	tick(now time.Time) ([]thread.Input, error)
	idle(now time.Time) []thread.Input
}

// attach wires the subscribers, in the order in which they are called.
func (d *Dispatcher) attach() {
	hints := newHints(d)
	d.subscribers = []subscriber{
		newHold(d),
		newInbox(d),
		newReuse(d, hints.memory),
		newSpending(d),
		hints,
		newReactor(d),
		newNotices(d),
		newAuto(d),
		newExpiry(d),
	}
}

// each calls fn for each subscriber, until one returns an error.
func (d *Dispatcher) each(fn func(subscriber) error) error {
	for _, s := range d.subscribers {
		if err := fn(s); err != nil {
			return err
		}
	}
	return nil
}

// quiet is a subscriber to nothing. Subscribers embed it.
type quiet struct{}

func (quiet) open() error                                          { return nil }
func (quiet) close() error                                         { return nil }
func (quiet) recorded(*decision.Record, bool)                      {}
func (quiet) posted(*outbox.Reply)                                 {}
func (quiet) begun([]*thread.Thread) error                         { return nil }
func (quiet) taken(*event.Classified, *thread.Facts) error         { return nil }
func (quiet) moved(...*thread.Thread) error                        { return nil }
func (quiet) offered(*thread.Thread, *decision.Record) error       { return nil }
func (quiet) holds(job, *thread.Thread) bool                       { return false }
func (quiet) starting(*job, *thread.Thread) (*thread.Input, error) { return nil, nil }
func (quiet) ran(*thread.Thread, string) error                     { return nil }
func (quiet) hints(job, *thread.Thread) []Hint                     { return nil }
func (quiet) ended(*thread.Thread, *run.Result) error              { return nil }
func (quiet) tick(time.Time) ([]thread.Input, error)               { return nil, nil }
func (quiet) idle(time.Time) []thread.Input                        { return nil }

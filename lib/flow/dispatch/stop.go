package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"tri/lib/agent"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// errUndue is the end of a run whose item has moved on: nothing waits for its result.
var errUndue = errors.New("its result is no longer needed")

// live is a run in progress.
type live struct {
	job
	cancel context.CancelCauseFunc // nil: it is detached, and its manager ends it
}

// enliven registers a run that starts now, and returns its context.
func (d *Dispatcher) enliven(ctx context.Context, j job) context.Context {
	l := live{job: j}
	if j.before != nil || j.kind != run.Investigate || !j.long || d.Long == nil {
		ctx, l.cancel = context.WithCancelCause(ctx)
	}
	d.live[j.runID] = l
	return ctx
}

// stopUndue ends the runs whose threads no longer need them.
func (d *Dispatcher) stopUndue() {
	for id, l := range d.live {
		if t := d.threads[l.key]; t != nil && isDue(t, l.job) {
			continue
		}
		delete(d.live, id)
		if l.cancel != nil {
			l.cancel(errUndue)
			continue
		}
		go func() {
			if err := d.Long.Stop(id); err != nil {
				d.Say("stop long run %s: %v", id, err)
			}
		}()
	}
}

// interrupted reports whether a run's context ended with the dispatcher's: the run is still due.
func interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errUndue)
}

// undue makes res the result of a run that was ended by errUndue. What it used is in its state: nothing if
// no agent was started.
func undue(res *run.Result, s run.State, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		res.Usage = &draft.Usage{CostUSD: new(0.0)}
	}
	fail(res, agent.Fail(agent.Killed, errUndue), s.Failure)
	res.Failure.Kind, res.Failure.Limit = agent.Killed, ""
}

// stopLost ends detached runs that an earlier dispatcher started, and that are no longer due.
func (d *Dispatcher) stopLost() error {
	if d.Long == nil {
		return nil
	}
	ids, err := run.IDs(d.Home)
	if err != nil {
		return err
	}
	for _, id := range slices.DeleteFunc(ids, func(id string) bool { return !run.IsID(id) || d.running[id] || d.book.Settled(id) }) {
		o, key, err := run.Asked(d.Home, id)
		if err != nil {
			return err
		}
		if o == nil || o.By != run.Dispatcher {
			continue
		}
		if held, err := run.Held(d.Home, id); err != nil || !held {
			if err != nil {
				return err
			}
			continue
		}
		d.running[id] = true
		d.long++
		go func() {
			err := d.Long.Stop(id)
			var res *run.Result
			if err == nil {
				res, err = run.Load(d.Home, id)
			}
			if err != nil {
				d.Say("stop long run %s: %v", id, err)
			}
			d.results <- result{job{kind: run.Investigate, runID: id, key: key, long: true}, res}
		}()
	}
	return nil
}

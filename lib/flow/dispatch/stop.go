package dispatch

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"tri/lib/agent"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// errUndue is the end of a run whose item has moved on: nothing waits for its result.
var errUndue = errors.New("its result is no longer needed")

// live is a run in progress.
type live struct {
	job
	context context.Context
	cancel  context.CancelCauseFunc // nil: it is detached, and its manager ends it
}

// enliven registers a run that starts now.
func (p *pool) enliven(ctx context.Context, j job) {
	l := live{job: j, context: ctx}
	if j.before != nil || j.kind != run.Investigate || !j.long || p.Long == nil {
		l.context, l.cancel = context.WithCancelCause(ctx)
	}
	p.live[j.runID] = l
}

// stopUndue ends the runs that no thread of open needs.
func (p *pool) stopUndue(open map[string]*thread.Thread) {
	for id, l := range p.live {
		if t := open[l.key]; t != nil && isDue(t, l.job) {
			continue
		}
		delete(p.live, id)
		if l.cancel != nil {
			l.cancel(errUndue)
			continue
		}
		go func() {
			if err := p.Long.Stop(id); err != nil {
				p.Say("stop long run %s: %v", id, err)
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
func (p *pool) stopLost() error {
	if p.Long == nil {
		return nil
	}
	ids, err := run.IDs(p.Home)
	if err != nil {
		return err
	}
	for _, id := range slices.DeleteFunc(ids, func(id string) bool {
		return !run.IsID(id) || p.running[id]
	}) {
		o, key, unread := run.Asked(p.Home, id) // cheaper than Held, and most runs have no order
		if unread == nil && (o == nil || o.By != run.Dispatcher) {
			continue
		}
		held, err := run.Held(p.Home, id)
		if err == nil && held {
			err = unread
		}
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		p.running[id] = true
		p.busyAt[detached]++
		go func() {
			err := p.Long.Stop(id)
			var res *run.Result
			if err == nil {
				res, err = run.Load(p.Home, id)
			}
			if err != nil {
				p.Say("stop long run %s: %v", id, err)
			}
			j := job{kind: run.Investigate, runID: id, key: key, long: true, at: detached}
			p.results <- result{j, res}
		}()
	}
	return nil
}

package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// job is a run that is due.
type job struct {
	kind, runID, key string
	long             bool

	before *answer // an earlier answer that may replace the run
	anew   bool    // the earlier answer was rejected
}

// do carries out the effects that are due for a thread. It is called at every move and at start, and skips
// what is already done.
func (d *Dispatcher) do(t *thread.Thread) error {
	for _, e := range thread.Due(*t) {
		switch e.Kind {
		case thread.EffectInvestigate:
			d.enqueue(job{kind: run.Investigate, runID: e.RunID, key: t.Key, long: e.Long})
		case thread.EffectTell:
			if err := d.tell(t, e.RunID); err != nil {
				return err
			}
		case thread.EffectValidate:
			d.enqueue(job{kind: run.Validate, runID: e.RunID, key: t.Key, long: e.Long})
		case thread.EffectOffer:
			if err := d.putOffer(t); err != nil {
				return err
			}
		case thread.EffectRetire:
			if err := d.retire(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Dispatcher) enqueue(j job) {
	if !d.running[j.runID] {
		d.running[j.runID] = true
		d.queue = append(d.queue, j)
	}
}

// startRuns starts queued runs, as far as there is room.
func (d *Dispatcher) startRuns(ctx context.Context) error {
	for progress := true; progress; {
		progress = false
		waiting := d.queue
		d.queue = nil
		for _, j := range waiting {
			if !d.room(j) || d.held(j) {
				d.queue = append(d.queue, j)
				continue
			}
			started, err := d.start(ctx, j)
			if err != nil {
				return err
			}
			progress = progress || !started
		}
		if err := d.settleRefused(); err != nil {
			return err
		}
	}
	return d.resume(ctx)
}

// start starts a run, or applies the result of a run that has already ended, which may queue further runs.
func (d *Dispatcher) start(ctx context.Context, j job) (started bool, err error) {
	t := d.threads[j.key]
	if t == nil || !isDue(t, j) {
		delete(d.running, j.runID)
		return false, nil
	}
	res, err := run.Load(d.Home, j.runID)
	if err != nil {
		return false, err
	}
	if res != nil {
		delete(d.running, j.runID)
		return false, d.takeRun(j, res)
	}
	j.before = d.answers.answered(j, t)
	if paid, err := d.pay(j, t); !paid || err != nil {
		return false, err
	}
	if err := d.each(func(s subscriber) error { return s.ran(t, j.runID) }); err != nil {
		return false, err
	}
	snapshot, err := d.around(t)
	if err != nil {
		return false, err
	}
	its := d.enliven(ctx, j)
	if j.kind == run.Investigate {
		if err := d.tell(t, j.runID); err != nil {
			return false, err
		}
	}
	if j.long {
		d.long++
	} else {
		d.active++
	}
	go d.work(ctx, its, j, snapshot, d.hints(j, t))
	return true, nil
}

func isDue(t *thread.Thread, j job) bool {
	for _, e := range thread.Due(*t) {
		if e.RunID == j.runID {
			return true
		}
	}
	return false
}

// work carries out one run, from taking the lock to publishing the result, in its own goroutine. The run's
// context ends with the dispatcher's, ctx, and when the run is no longer due.
func (d *Dispatcher) work(ctx, its context.Context, j job, t *thread.Thread, hints []Hint) {
	res, err := d.perform(its, j, t, hints)
	r := result{job: j}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errAnew):
		r.job.before, r.job.anew = nil, true
	case errors.Is(err, durable.ErrLocked):
		// An agent outlived the dispatcher that started it: wait for its end.
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	case err != nil:
		d.fail(err)
	default:
		r.run = res
	}
	d.results <- r
}

func (d *Dispatcher) perform(ctx context.Context, j job, t *thread.Thread, hints []Hint) (*run.Result, error) {
	if j.before == nil && j.kind == run.Investigate && j.long && d.Long != nil {
		return d.longer(ctx, j.runID, t, hints)
	}
	return d.owned(j.runID, func(r *run.Run) (res *run.Result, err error) {
		res = d.blank(j, t, r)
		if j.before != nil {
			err = d.answers.again(ctx, j.before, t, res)
		} else {
			err = d.here(ctx, j, t, hints, r, res)
		}
		if interrupted(ctx) {
			err = ctx.Err() // the run is repeated at the next start
		}
		return res, err
	})
}

// owned publishes the result that work returns for a run, unless there already is one. It holds the run's
// lock, so no other process works on it.
func (d *Dispatcher) owned(id string, work func(*run.Run) (*run.Result, error)) (res *run.Result, err error) {
	r, err := run.Begin(d.Home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.End()) }()
	if res, err := run.Load(d.Home, id); err != nil || res != nil {
		return res, err
	}
	if res, err = work(r); err != nil {
		return nil, err
	}
	if err := r.Publish(*res); err != nil {
		return nil, err
	}
	return run.Load(d.Home, id) // as published: with the words that it answers
}

// blank returns the result record of a run that starts now.
func (d *Dispatcher) blank(j job, t *thread.Thread, r *run.Run) *run.Result {
	res := &run.Result{
		RunID: j.runID, Kind: j.kind, Key: t.Key, Cycle: t.Cycle, Round: t.InvestigatorRound,
		Agent: d.Config.Investigator.Agent, StartedAt: text.Timestamp(d.Now()), SessionID: r.SessionID,
	}
	if j.kind == run.Validate {
		res.Agent = d.Config.Validator.Agent
	}
	return res
}

// here carries out a run in this process.
func (d *Dispatcher) here(ctx context.Context, j job, t *thread.Thread, hints []Hint, r *run.Run, res *run.Result) error {
	limited, cancel := context.WithTimeout(ctx, d.limit(j))
	defer cancel()
	value, err := d.ask(limited, j, t, hints, r)
	if interrupted(ctx) {
		return ctx.Err()
	}
	if errors.Is(err, supervise.ErrNotKept) {
		return err // a disk failure is the dispatcher's error, not the run's
	}
	res.EndedAt = text.Timestamp(d.Now())
	state, serr := run.LoadState(r.Dir())
	if serr != nil { // no agent was started
		state = run.State{}
	}
	res.Usage = state.Usage // including the cost of attempts that were killed
	if state.SessionID != nil {
		res.SessionID = *state.SessionID // the program may have named it
	}
	switch {
	case err != nil && ctx.Err() != nil:
		undue(res, state, serr)
	case errors.Is(err, agent.ErrNothing):
		res.Status, res.Error = run.Nothing, err.Error()
	case limited.Err() != nil:
		err = agent.Fail(agent.Timeout, fmt.Errorf("took longer than %v", d.limit(j)))
		fail(res, err, &run.Failure{Limit: supervise.Wall, LastSafeArtifact: artifactOf(state)})
	case err != nil:
		fail(res, err, state.Failure)
	default:
		return fill(res, value)
	}
	return nil
}

// fail makes res the result of a run that failed with err. seen is the failure recorded in the run's
// state, or nil.
func fail(res *run.Result, err error, seen *run.Failure) {
	f := run.Failure{Kind: agent.FailureKind(err), Message: err.Error()}
	if seen != nil {
		f.Limit, f.LastSafeArtifact = seen.Limit, seen.LastSafeArtifact
	}
	res.Status, res.Error, res.Failure = run.Failed, f.Message, &f
}

func artifactOf(s run.State) string {
	if s.Failure == nil {
		return ""
	}
	return s.Failure.LastSafeArtifact
}

// fill makes res the result of a run that returned value.
func fill(res *run.Result, value any) (err error) {
	res.Status = run.Done
	if res.Value, err = json.Marshal(value); err != nil {
		return fmt.Errorf("run %s: %w", res.RunID, err)
	}
	var usage *draft.Usage
	switch value := value.(type) {
	case *draft.Return:
		usage = value.Usage
	case *verdict.Verdict:
		usage, res.Model = value.Usage, value.ValidatorModel
	}
	if res.Usage == nil {
		res.Usage = usage
	}
	return nil
}

func (d *Dispatcher) ask(ctx context.Context, j job, t *thread.Thread, hints []Hint, r *run.Run) (any, error) {
	if j.kind == run.Validate {
		return d.Validate(ctx, t, hints, r)
	}
	return d.Investigate(ctx, t, hints, r)
}

// limit is the maximum duration of a run.
func (d *Dispatcher) limit(j job) time.Duration {
	minutes := d.Config.Investigator.HardCapRuntimeMin
	if j.kind == run.Validate {
		minutes = d.Config.Validator.HardCapRuntimeMin
	}
	if j.long {
		minutes = max(d.Config.Escalation.MaxMin, minutes)
	}
	return time.Duration(minutes * float64(time.Minute))
}

// ended frees the slot of a run.
func (d *Dispatcher) ended(j job) {
	if j.long {
		d.long--
	} else {
		d.active--
	}
	delete(d.running, j.runID)
	if l := d.live[j.runID]; l.cancel != nil {
		l.cancel(nil)
	}
	delete(d.live, j.runID)
}

func (d *Dispatcher) takeResult(r result) error {
	d.ended(r.job)
	if r.run == nil {
		if t := d.threads[r.job.key]; t != nil && isDue(t, r.job) {
			d.enqueue(r.job)
		}
		return nil
	}
	return d.takeRun(r.job, r.run)
}

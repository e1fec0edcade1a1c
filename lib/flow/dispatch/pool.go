package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
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
	rank             int    // in the queue: lower first
	at               string // one of slots; set by begin

	// before does the run's work without an agent, from an earlier answer. If it returns errAnew, the run
	// is started again without it.
	before func(ctx context.Context, t *thread.Thread, res *run.Result) error
	anew   bool
}

// result is the end of a run. run is nil if the run is to be retried later.
type result struct {
	job job
	run *run.Result
}

// pool carries out runs. Its fields belong to the loop; only perform and what it calls run beside it.
type pool struct {
	Options
	running map[string]bool // run ids, queued or in progress
	queue   []job
	busyAt  map[string]int  // runs in progress
	live    map[string]live // runs in progress, by id
	results chan result
	begun   chan thread.Input // starts of long runs, with where to watch them
	lost    chan error        // a fatal error
	pauses  []time.Duration   // before further attempts, where a failure passes
}

func newPool(o Options) *pool {
	return &pool{
		Options: o, running: map[string]bool{}, busyAt: map[string]int{}, live: map[string]live{},
		results: make(chan result), begun: make(chan thread.Input), lost: make(chan error, 1),
		pauses: []time.Duration{30 * time.Second, 2 * time.Minute},
	}
}

// Ranks of runs: what brings an item to its end precedes what begins another, so that many questions at once
// reach a person one by one, in their order, and not all at the end.
const (
	rankValidate = iota
	rankAgain    // a later round
	rankNew
)

// enqueue queues a run behind those of its rank, unless it is queued or in progress.
func (p *pool) enqueue(j job) {
	if p.running[j.runID] {
		return
	}
	p.running[j.runID] = true
	i, _ := slices.BinarySearchFunc(p.queue, j.rank+1, func(q job, rank int) int { return q.rank - rank })
	p.queue = slices.Insert(p.queue, i, j)
}

// Where runs are, each with slots of its own: a run elsewhere may wait long until a worker begins, and holds
// up none here.
const (
	here     = "here"
	away     = "away" // config.Agent.On
	detached = "detached"
)

var slots = []string{here, away, detached}

// slot returns where a run will be.
func (p *pool) slot(j job) string {
	a := p.Config.Investigator
	if j.kind == run.Validate {
		a = p.Config.Validator
	}
	switch {
	case j.long:
		return detached
	case a.On != "" && j.before == nil:
		return away
	}
	return here
}

// begin starts a run in its own goroutine.
func (p *pool) begin(ctx context.Context, j job, t *thread.Thread, hints []Hint) {
	j.at = p.slot(j)
	p.busyAt[j.at]++
	go p.work(ctx, p.live[j.runID].context, j, t, hints)
}

// room reports whether a run could start now.
func (p *pool) room(j job) bool { return p.busyAt[p.slot(j)] < p.Config.Dispatch.Concurrency }

// full reports whether no run at all could start now.
func (p *pool) full() bool {
	for _, at := range slots {
		if p.busyAt[at] < p.Config.Dispatch.Concurrency {
			return false
		}
	}
	return true
}

// active counts the runs in progress.
func (p *pool) active() (n int) {
	for _, k := range p.busyAt {
		n += k
	}
	return n
}

// busy reports whether runs are queued or in progress.
func (p *pool) busy() bool { return len(p.queue)+p.active() > 0 }

// drain waits for runs that the end of the context interrupted.
func (p *pool) drain() {
	for p.active() > 0 {
		p.ended((<-p.results).job)
	}
}

func (p *pool) fail(err error) {
	select {
	case p.lost <- err:
	default:
	}
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
func (p *pool) work(ctx, its context.Context, j job, t *thread.Thread, hints []Hint) {
	res, err := p.perform(its, j, t, hints)
	r := result{job: j}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errAnew):
		r.job.before, r.job.anew = nil, true
	case errors.Is(err, durable.ErrLocked):
		// An agent outlived the dispatcher that started it: wait for its end.
		sleep(ctx, 200*time.Millisecond)
	case err != nil:
		p.fail(err)
	default:
		r.run = res
	}
	p.results <- r
}

func (p *pool) perform(ctx context.Context, j job, t *thread.Thread, hints []Hint) (*run.Result, error) {
	if j.before == nil && j.kind == run.Investigate && j.long && p.Long != nil {
		return p.longer(ctx, j.runID, t, hints)
	}
	return p.owned(j.runID, func(r *run.Run) (res *run.Result, err error) {
		res = p.blank(j, t, r)
		if j.before != nil {
			err = j.before(ctx, t, res)
		} else {
			err = p.here(ctx, j, t, hints, r, res)
		}
		if interrupted(ctx) {
			err = ctx.Err() // the run is repeated at the next start
		}
		return res, err
	})
}

// owned publishes the result that work returns for a run, unless there already is one. It holds the run's
// lock, so no other process works on it.
func (p *pool) owned(id string, work func(*run.Run) (*run.Result, error)) (res *run.Result, err error) {
	r, err := run.Begin(p.Home, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.End()) }()
	if res, err := run.Load(p.Home, id); err != nil || res != nil {
		return res, err
	}
	if res, err = work(r); err != nil {
		return nil, err
	}
	if err := r.Publish(*res); err != nil {
		return nil, err
	}
	return run.Load(p.Home, id) // as published: with the words that it answers
}

// blank returns the result record of a run that starts now.
func (p *pool) blank(j job, t *thread.Thread, r *run.Run) *run.Result {
	res := &run.Result{
		RunID: j.runID, Kind: j.kind, Key: t.Key, Cycle: t.Cycle, Round: t.InvestigatorRound,
		Agent: p.Config.Investigator.Agent, StartedAt: text.Timestamp(p.Now()), SessionID: r.SessionID,
	}
	if j.kind == run.Validate {
		res.Agent = p.Config.Validator.Agent
	}
	return res
}

// here carries out a run in this process.
func (p *pool) here(ctx context.Context, j job, t *thread.Thread, hints []Hint, r *run.Run,
	res *run.Result) error {
	limited, cancel := agent.WithLimit(ctx, p.limit(j, t))
	defer cancel()
	value, err := p.ask(limited, j, t, hints, r)
	for _, pause := range p.pauses {
		if !passes(err) || !sleep(limited, pause) {
			break
		}
		value, err = p.ask(limited, j, t, hints, r)
	}
	if interrupted(ctx) {
		return ctx.Err()
	}
	if errors.Is(err, agent.ErrNotKept) {
		return err // a disk failure is the dispatcher's error, not the run's
	}
	if short(err) {
		return sysexit.With(sysexit.TempFail, fmt.Errorf("run %s is repeated later: %w", j.runID, err))
	}
	res.EndedAt = text.Timestamp(p.Now())
	state, serr := run.LoadState(r.Dir())
	if serr != nil { // no agent was started
		state = run.State{}
	}
	res.Usage = state.Usage       // including the cost of attempts that were killed
	if state.Model != res.Agent { // the built-in search has none
		res.Model = state.Model
	}
	if state.SessionID != nil {
		res.SessionID = *state.SessionID // the program may have named it
	}
	switch {
	case err != nil && ctx.Err() != nil:
		undue(res, state, serr)
	case errors.Is(err, agent.ErrNothing):
		res.Status, res.Error = run.Nothing, err.Error()
	case limited.Err() != nil:
		err = agent.Fail(agent.Timeout, fmt.Errorf("took longer than %v", p.limit(j, t)))
		fail(res, err, &run.Failure{Limit: supervise.Wall, LastSafeArtifact: artifactOf(state)})
	case err != nil:
		fail(res, err, state.Failure)
	default:
		return fill(res, value)
	}
	return nil
}

// passes reports whether a failure may be over soon: the model's endpoint is overloaded, or this machine has
// no more descriptors, disk space, processes or memory.
func passes(err error) bool {
	if status, _ := sysexit.Of(err); status == sysexit.TempFail || short(err) {
		return true
	}
	return errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN)
}

// short reports whether this machine has no more descriptors or disk space. That is not a run's failure: the
// dispatcher ends, and the next one repeats the run.
func short(err error) bool {
	var errno syscall.Errno
	errors.As(err, &errno)
	switch errno {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT:
		return true
	}
	return false
}

// sleep waits. It reports false if the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
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

func (p *pool) ask(ctx context.Context, j job, t *thread.Thread, hints []Hint, r *run.Run) (any, error) {
	if j.kind == run.Validate {
		return p.Validate(ctx, t, hints, r)
	}
	return p.Investigate(ctx, t, hints, r)
}

// limit is the maximum duration of a run.
func (p *pool) limit(j job, t *thread.Thread) time.Duration {
	minutes := p.Config.Investigator.HardCapRuntimeMin
	if t.Minutes > 0 {
		minutes = t.Minutes // of an intent
	}
	if j.kind == run.Validate {
		minutes = p.Config.Validator.HardCapRuntimeMin
	}
	if j.long {
		minutes = max(p.Config.Escalation.MaxMin, minutes)
	}
	return time.Duration(minutes * float64(time.Minute))
}

// ended frees the slot of a run. A pool without work returns the memory of the last search to the system.
func (p *pool) ended(j job) {
	p.busyAt[j.at]--
	delete(p.running, j.runID)
	if l := p.live[j.runID]; l.cancel != nil {
		l.cancel(nil)
	}
	delete(p.live, j.runID)
	if !p.busy() {
		go debug.FreeOSMemory()
	}
}

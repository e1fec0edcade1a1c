// Package supervise wraps an agent with limits: it records progress (state.json,
// raw/stream.jsonl), ends a run that stalls or exceeds its limits, and classifies failures. It
// works outside the agent and does not rely on its cooperation.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// DefaultStall is how long a run may emit no event and use no CPU time.
const DefaultStall = 5 * time.Minute

// every is how often state.json is written for the heartbeat alone, sample how long CPU time is
// measured for, and busy the share of one processor that counts as work: an idle program still
// wakes up now and then.
const (
	every  = time.Second
	sample = 5 * time.Second
	busy   = 0.01
)

// ErrAbandon, as the cause of a cancelled context, says that a person abandoned the run. A run
// cancelled for any other cause can be resumed.
var ErrAbandon = errors.New("given up by a person")

// Options configure the supervision.
type Options struct {
	Limits
	// Dir is the run's folder; "" means Task.Dir. If that is "" too, nothing is written.
	Dir        string
	ConfigHash string
	// Watch receives the agent's events, as Task.Watch does. May be nil.
	Watch func(agent.Event)
	// Open leaves a successful run ACTIVE: the caller sets its final state with Update.
	Open bool

	Now  func() time.Time // nil: time.Now
	Tick <-chan time.Time // when to check; nil: every second
	// CPU returns the processor time of a process and its descendants; nil means the system's
	// figure.
	CPU func(pid int) time.Duration
}

// Agent is a supervised agent. It is safe for concurrent use by runs in different folders if the
// wrapped agent is.
type Agent struct {
	agent.Agent
	Options
}

// Wrap returns a under supervision.
func Wrap(a agent.Agent, o Options) *Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CPU == nil {
		o.CPU = CPUTime
	}
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	return &Agent{a, o}
}

// Capabilities returns those of the wrapped agent.
func (a *Agent) Capabilities() agent.Capabilities { return agent.CapabilitiesOf(a.Agent) }

// Run runs the task. An error carries its kind of failure; the result has the usage in any case.
// state.json holds the usage summed over all attempts.
func (a *Agent) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &watch{options: a.Options, cancel: cancel, told: t.Watch, began: a.Now()}
	if w.options.Dir == "" {
		w.options.Dir = t.Dir
	}
	if err := w.open(); err != nil {
		return agent.Result{}, fmt.Errorf("%w: %w", agent.ErrNotKept, err)
	}
	if agent.CapabilitiesOf(a.Agent).Rejoins {
		w.earlier = nil // what it reports includes earlier attempts
	}
	t.Watch = w.event
	t.MaxTurns = cmp.Or(t.MaxTurns, a.Turns)
	t.MaxCostUSD = cmp.Or(t.MaxCostUSD, a.CostUSD)
	stop := w.look()
	res, err := a.Agent.Run(ctx, t)
	stop()
	return w.close(ctx, res, err)
}

// watch supervises one run.
type watch struct {
	options Options
	cancel  context.CancelCauseFunc
	told    func(agent.Event)
	began   time.Time
	keep    *keeper // nil: nothing is written

	mu      sync.Mutex
	ended   bool
	state   run.State
	earlier *draft.Usage // usage of earlier attempts
	usage   *draft.Usage // usage reported by this attempt
	beat    time.Time    // the last sign of life
	cpu     time.Duration
	sampled time.Time // zero: cpu has not been measured
	limit   *limit    // why the run was stopped
	lost    error     // state could not be written
}

func (w *watch) open() error {
	w.beat = w.began
	if w.options.Dir != "" {
		var err error
		if w.keep, err = openKeeper(w.options.Dir); err != nil {
			return err
		}
		if w.state, err = w.keep.load(); err != nil {
			return errors.Join(err, w.keep.close())
		}
	}
	w.earlier = w.state.Usage
	if w.earlier == nil && w.state.SessionID != nil {
		w.earlier = &draft.Usage{TokensUnknown: true} // the program ran without reporting usage
	}
	s := &w.state
	s.Status, s.PID, s.Agent, s.Owner = run.Active, nil, run.Process{}, run.ProcessOf(os.Getpid())
	s.EndedAt, s.Failure, s.Doing = nil, nil, ""
	s.StartedAt = cmp.Or(s.StartedAt, text.Timestamp(w.began))
	s.ConfigHash = cmp.Or(w.options.ConfigHash, s.ConfigHash)
	s.LastHeartbeat = new(text.Timestamp(w.began))
	if err := w.keep.save(s, w.began); err != nil {
		return errors.Join(err, w.keep.close())
	}
	return nil
}

// look starts the periodic checks and returns the function that stops them.
func (w *watch) look() (stop func()) {
	tick, release := w.options.Tick, func() {}
	if tick == nil {
		t := time.NewTicker(every)
		tick, release = t.C, t.Stop
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-tick:
				w.glance()
			}
		}
	}()
	return func() {
		release()
		close(end)
		<-ended
	}
}

// event handles an event of the agent.
func (w *watch) event(e agent.Event) {
	for _, told := range []func(agent.Event){w.told, w.options.Watch} {
		if told != nil {
			told(e)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := w.options.Now()
	w.fail(w.keep.note(e, now))
	s, changed := &w.state, false
	if w.limit == nil { // events of a run that is being stopped are not a sign of life
		w.beat, s.LastHeartbeat = now, new(text.Timestamp(now))
		if doing := describe(e); doing != "" {
			s.Doing = doing
		}
	}
	if e.SessionID != "" && (s.SessionID == nil || *s.SessionID != e.SessionID) {
		s.SessionID, changed = &e.SessionID, true
	}
	if e.PID > 0 && (s.PID == nil || *s.PID != e.PID) {
		s.PID, s.Agent, changed = &e.PID, run.ProcessOf(e.PID), true
		w.sampled = time.Time{}
	}
	if e.Usage != nil {
		changed = changed || w.usage == nil || !same(*w.usage, *e.Usage) // usage is written at once
		w.usage = e.Usage
		s.Usage = add(w.earlier, *w.usage)
		w.hold()
	}
	w.save(now, changed)
}

// glance checks whether the run is alive and within its limits.
func (w *watch) glance() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := w.options.Now()
	if w.works(now) {
		w.beat = now
		w.state.LastHeartbeat = new(text.Timestamp(now))
	}
	o, changed := w.options, false
	if o.Wall > 0 && now.Sub(w.began) >= o.Wall {
		w.stop(&limit{Wall, over("wall clock", o.Wall)})
	}
	if o.Stall > 0 && now.Sub(w.beat) >= o.Stall && w.state.Status == run.Active {
		w.state.Status, changed = run.Stalled, true
		w.stop(&limit{Silence, fmt.Errorf("stalled: no output and no work for %v", o.Stall)})
	}
	w.save(now, changed)
}

// works reports whether the run's processes have used the processor since the last sample.
func (w *watch) works(now time.Time) bool {
	span := now.Sub(w.sampled)
	if !w.sampled.IsZero() && span < sample {
		return false
	}
	pid := os.Getpid() // an agent in this process, or not started yet
	if w.state.PID != nil {
		pid = *w.state.PID
	}
	used, first := w.options.CPU(pid), w.sampled.IsZero()
	worked := used - w.cpu
	w.cpu, w.sampled = used, now
	return !first && worked.Seconds() >= busy*span.Seconds()
}

func (w *watch) save(now time.Time, atOnce bool) {
	if atOnce || w.keep.due(now) {
		w.fail(w.keep.save(&w.state, now))
	}
}

// fail ends a run whose state cannot be written.
func (w *watch) fail(err error) {
	if err != nil && w.lost == nil {
		w.lost = fmt.Errorf("%w: %w", agent.ErrNotKept, err)
		w.cancel(w.lost)
	}
}

// close writes the end of the run to its state.
func (w *watch) close(ctx context.Context, res agent.Result, err error) (agent.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	now, s := w.options.Now(), &w.state
	if w.usage != nil && res.Usage == (draft.Usage{}) {
		res.Usage = *w.usage
	}
	if res.Usage != (draft.Usage{}) {
		s.Usage = add(w.earlier, res.Usage)
	}
	if res.SessionID != "" {
		s.SessionID = &res.SessionID
	}
	s.Model = cmp.Or(text.Line(res.Model, 100), s.Model)
	s.PID = nil
	err = w.judge(ctx, err)
	if s.Status != run.Active {
		s.EndedAt = new(text.Timestamp(now))
	}
	if s.Failure != nil {
		s.Failure.LastSafeArtifact = w.keep.artifact()
		w.fail(w.keep.note(agent.Event{Kind: agent.Failed, Text: s.Failure.Kind + ": " + s.Failure.Message},
			now))
	}
	w.fail(w.keep.save(s, now))
	return res, errors.Join(err, w.lost, w.keep.close())
}

// judge sets the final status of the state, and gives err its kind.
func (w *watch) judge(ctx context.Context, err error) error {
	s := &w.state
	if err == nil || errors.Is(err, agent.ErrNothing) {
		s.Status, s.Failure = run.Active, nil
		if !w.options.Open {
			s.Status = run.Complete
		}
		return err
	}
	if s.Status != run.Stalled {
		s.Status = run.Crashed
	}
	what := ""
	switch cause := context.Cause(ctx); {
	case cause == nil:
		err = agent.Fail(agent.FailureKind(err), err)
	case w.limit != nil && cause == error(w.limit):
		what = w.limit.what
		err = &agent.Failure{Kind: agent.Timeout, Err: cause}
	case errors.Is(cause, context.DeadlineExceeded):
		what = Wall
		err = &agent.Failure{Kind: agent.Timeout, Err: err}
	case errors.Is(cause, ErrAbandon):
		s.Status = run.Abandoned
		err = &agent.Failure{Kind: agent.Killed, Err: fmt.Errorf("%w: %w", cause, err)}
	case w.lost != nil:
		err = agent.Fail(agent.Unknown, err)
	default: // the supervisor itself was cancelled
		err = &agent.Failure{Kind: agent.Killed, Err: err}
	}
	s.Failure = &run.Failure{Kind: agent.FailureKind(err), Message: text.Line(err.Error(), 1000), Limit: what}
	return err
}

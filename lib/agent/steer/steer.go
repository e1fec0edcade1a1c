// Package steer wraps an agent so that it can receive messages while it works, whatever its program
// supports. Words come from words.ndjson of the run's folder. A program that takes them (see
// agent.Capabilities) receives them as they come. Any other is ended at a word and continues as the next
// leg: in its own session, or in a new one that is told what was done before. A program that dies
// continues in the same way, and so does a run whose wrapper was killed.
//
//	words.ndjson    what to say; read here
//	heard.ndjson    what became of it; written here
//	checkpoint.json what was done so far; written here
//
// Compose it as supervise.Wrap(steer.Wrap(a)), so that limits and usage cover all legs.
package steer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Limits of one run.
const (
	MaxLegs    = 8               // words begin no further leg
	MaxCrashes = 2               // further legs after the program died
	Burst      = 2 * time.Second // words within it begin one leg
)

// ErrSteered, as the cause of a cancelled context, says that the leg was ended for a word.
var errSteered = errors.New("a message came for the run")

// ErrStopped says that the run was ended by a word of the kind run.Stop.
var ErrStopped = errors.New("the run is no longer wanted")

// Options configure the wrapper.
type Options struct {
	Prompts *prompt.Set      // nil: the built-in templates
	Burst   time.Duration    // 0: Burst
	Now     func() time.Time // nil: time.Now
	// Dir is the folder of the three files; "" is Task.Dir. A caller that sets it continues what was
	// interrupted by itself: no earlier checkpoint is read, and a program that died stays dead.
	Dir string
}

// Agent is an agent that can receive messages. It is safe for concurrent use by runs in different
// folders if the wrapped agent is.
type Agent struct {
	agent.Agent
	Options
}

// Wrap returns a as an agent that can receive messages.
func Wrap(a agent.Agent, o Options) (*Agent, error) {
	if o.Prompts == nil {
		var err error
		if o.Prompts, err = prompt.Load(""); err != nil {
			return nil, err
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Burst = cmp.Or(o.Burst, Burst)
	return &Agent{a, o}, nil
}

// Around wraps a with the templates of a set, if there is an agent. It takes the results of a
// constructor of agents.
func Around(prompts *prompt.Set) func(a agent.Agent, err error) (agent.Agent, error) {
	return func(a agent.Agent, err error) (agent.Agent, error) {
		if a == nil || err != nil {
			return nil, err
		}
		return Wrap(a, Options{Prompts: prompts})
	}
}

// Capabilities returns those of the wrapped agent. It steers in any case.
func (a *Agent) Capabilities() agent.Capabilities {
	can := agent.CapabilitiesOf(a.Agent)
	can.Steers = cmp.Or(can.Steers, agent.Cut)
	return can
}

// Run runs the task in as many legs as it takes. Without a folder nothing can be said to it.
// Task.Words and Task.Heard are set here.
func (a *Agent) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	if cmp.Or(a.Dir, t.Dir) == "" {
		return a.Agent.Run(ctx, t)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l, err := a.open(t)
	if err != nil {
		return agent.Result{SessionID: t.SessionID}, fmt.Errorf("run in legs: %w", err)
	}
	followed := make(chan error, 1)
	go func() {
		err := run.FollowWords(ctx, l.dir, len(l.words), func(w run.Word) error {
			select {
			case l.arrived <- w:
			case <-ctx.Done():
			}
			return nil
		})
		if err != nil {
			cancel(err)
		}
		followed <- err
	}()
	res, err := l.run(ctx)
	cancel(nil)
	if lost := errors.Join(l.lost, <-followed); lost != nil {
		err = errors.Join(sysexit.With(sysexit.IO, lost), err)
	}
	return res, errors.Join(err, l.close())
}

// run runs legs until one has the answer.
func (l *legs) run(ctx context.Context) (agent.Result, error) {
	crashes := 0
	for {
		t, err := l.begin()
		if err != nil {
			return agent.Result{SessionID: t.SessionID, Usage: l.sum(draft.Usage{})}, err
		}
		res, why, err := l.once(ctx, t)
		total := l.sum(res.Usage)
		l.mu.Lock()
		l.spent = &total
		l.mu.Unlock()
		res.Usage = total
		switch {
		case ctx.Err() != nil:
		case errors.Is(why, ErrStopped):
			err = sysexit.With(sysexit.Unavailable, &agent.Failure{Kind: agent.Killed, Err: ErrStopped})
		case errors.Is(why, errSteered):
			l.next("a message came")
			continue
		case t.Fork && errors.Is(err, agent.ErrNoResume):
			l.unfork()
			continue
		case t.Resume && errors.Is(err, agent.ErrNoResume) && !l.own && !(l.task.Resume && l.a.Dir != ""):
			l.session, l.leg, l.asked = "", l.leg-1, nil // the same leg, in a new session
			continue
		case errors.Is(err, agent.ErrNoSteer) && l.native:
			l.native, l.leg, l.asked = false, l.leg-1, nil
			continue
		case err != nil && agent.FailureKind(err) == agent.Killed && crashes < MaxCrashes &&
			l.a.Dir == "":
			crashes++
			l.next("its program died: " + err.Error())
			continue
		case (err == nil || errors.Is(err, agent.ErrNothing)) && l.leg < MaxLegs && len(l.unheard()) > 0:
			l.next("a message came at the end")
			continue
		}
		l.finish(err, ctx.Err() != nil)
		return res, err
	}
}

// outcome is the end of a leg.
type outcome struct {
	res agent.Result
	err error
}

// once runs one leg. why is ErrSteered or ErrStopped if it was ended here.
func (l *legs) once(outer context.Context, t agent.Task) (res agent.Result, why, err error) {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	said := make(chan agent.Word)
	if l.native {
		t.Words = said
	}
	t.Watch, t.Heard = l.see, l.heard
	done := make(chan outcome, 1)
	go func() {
		res, err := l.a.Agent.Run(ctx, t)
		done <- outcome{res, err}
	}()
	var ended *outcome
	var burst <-chan time.Time
	var queue []agent.Word
	end := func(cause error) {
		why = cause
		l.checkpoint()
		cancel(cause)
	}
	for {
		if ended != nil && burst == nil {
			return ended.res, why, ended.err
		}
		var out chan<- agent.Word
		var first agent.Word
		if len(queue) > 0 {
			out, first = said, queue[0]
		}
		select {
		case w := <-l.arrived:
			l.told(w)
			switch {
			case w.Kind == run.Stop:
				l.heard(w.ID, run.Taken)
				end(ErrStopped)
				burst = nil
			case errors.Is(why, ErrStopped):
			case l.native:
				queue = append(queue, l.word(w))
				l.checkpoint()
			case l.leg < MaxLegs && (ended == nil || why != nil):
				if burst == nil {
					burst = time.After(l.a.Burst)
				}
				if w.Kind == run.Redirect && why == nil {
					end(errSteered)
				}
			}
		case out <- first:
			queue = queue[1:]
		case <-burst:
			if burst = nil; why == nil && ended == nil {
				end(errSteered)
			}
		case o := <-done:
			ended, done, queue = &o, nil, nil
			if why == nil || outer.Err() != nil {
				burst = nil // words that came too late begin the next leg at once
			}
		}
	}
}

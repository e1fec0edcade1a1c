package longrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Runner does one long run, in its terminal.
type Runner struct {
	*Desk
	Agent agent.Agent
	// Investigate does the round, with an agent that is watched.
	Investigate func(ctx context.Context, a agent.Agent, j *Job) (*draft.Return, error)
	Screen      io.Writer // the terminal; one that is gone is no matter
	// Trouble is what kept Agent from being made: the run ends with it.
	Trouble error
}

// Job is a request with what its run works with.
type Job struct {
	Request
	Dir       string
	SessionID string
	Hold      *os.File
}

// Run does the run, and leaves return.json and exit.json. When ctx ends without
// anybody having asked for the run's end, it leaves neither: whoever waits for it
// starts it again.
func (r *Runner) Run(ctx context.Context, id string) error {
	if !isID.MatchString(id) {
		return fmt.Errorf("%q is no run id", id)
	}
	req, err := r.request(id)
	if err != nil {
		return err
	}
	lock, err := r.lock(folder(id) + "/lock") // who only looks at it holds it for a moment
	if err != nil {
		return err
	}
	if over, err := run.LoadExit(r.Home, id); err != nil || over != nil {
		return errors.Join(err, lock.Unlock())
	}
	return errors.Join(r.run(ctx, req, lock), lock.Unlock())
}

func (r *Runner) run(outer context.Context, req *Request, lock *durable.Lock) error {
	x := run.Exit{RunID: req.RunID, Key: req.Thread.Key, By: req.By, StartedAt: text.Timestamp(r.Now())}
	w, err := r.worker(req.RunID)
	if err != nil {
		return err
	}
	w.Process, w.Starts = run.ProcessOf(os.Getpid()), w.Starts+1
	if err := r.write(folder(req.RunID)+"/runner.json", w); err != nil {
		return err
	}
	x.Starts = w.Starts
	said, err := openTranscript(r.transcriptPath(req.RunID), r.Screen, r.Now)
	if err != nil {
		return r.end(&x, nil, err, nil)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(outer))
	defer cancel(nil)
	defer context.AfterFunc(outer, func() { cancel(r.why(outer, req.RunID)) })()
	limits := supervise.Of(r.Config.Investigator)
	limits.Wall = time.Duration(r.Config.Escalation.MaxMin * float64(time.Minute))
	j := &Job{Request: *req, Dir: r.Home.Path(folder(req.RunID)), SessionID: run.UUID(), Hold: lock.File()}
	said.begin(req, w)
	a := supervise.Wrap(r.Agent, supervise.Options{Limits: limits, Dir: j.Dir, Watch: said.event, Now: r.Now})
	err = r.Trouble
	if r.givenUp(req.RunID) {
		cancel(supervise.ErrAbandon)
		err = agent.Fail(agent.Killed, supervise.ErrAbandon)
	}
	var ret *draft.Return
	if err == nil {
		ret, err = r.Investigate(ctx, a, j)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), supervise.ErrAbandon) {
		said.line("stopped", "told to: %v", context.Cause(ctx))
		return said.close()
	}
	return errors.Join(r.end(&x, ret, err, said), said.close())
}

// why is what ended the context: a person who gave the run up, by tri-escalate
// kill or by Control-C in its terminal, or whoever stops this machine.
func (r *Runner) why(ctx context.Context, id string) error {
	cause := context.Cause(ctx)
	if r.givenUp(id) || strings.Contains(cause.Error(), os.Interrupt.String()) {
		return supervise.ErrAbandon
	}
	return cause
}

// end writes down what a run gave, and then how it ended.
func (r *Runner) end(x *run.Exit, ret *draft.Return, err error, said *transcript) error {
	state, serr := supervise.Load(r.Home.Path(folder(x.RunID)))
	if serr != nil { // it came to no agent
		state = run.State{}
	}
	x.Usage = state.Usage
	if state.SessionID != nil {
		x.SessionID = *state.SessionID
	}
	if err == nil {
		err = r.give(x.RunID, ret)
	}
	switch {
	case errors.Is(err, agent.ErrNothing):
		x.Status, x.Error = run.Nothing, err.Error()
	case err != nil:
		x.Status, x.Error = run.Failed, err.Error()
		x.Failure = &run.Failure{Kind: agent.FailureKind(err), Message: x.Error}
		if f := state.Failure; f != nil {
			x.Failure.Limit, x.Failure.LastSafeArtifact = f.Limit, f.LastSafeArtifact
		}
	default:
		x.Status = run.Done
	}
	x.EndedAt = text.Timestamp(r.Now())
	if said != nil {
		said.end(*x) // before anybody can know
	}
	if err := r.write(folder(x.RunID)+"/exit.json", x); err != nil {
		return err
	}
	return r.account(x)
}

// give makes return.json, of a return that is worth it: the agent's word is checked
// once more, and its evidence must carry the receipts that code gives.
func (r *Runner) give(id string, ret *draft.Return) error {
	if err := check(ret); err != nil {
		return agent.Fail(agent.Abort, fmt.Errorf("the agent's return: %w", err))
	}
	return r.write(folder(id)+"/return.json", ret)
}

func check(ret *draft.Return) error {
	if err := ret.Check(); err != nil {
		return err
	}
	for i, ref := range ret.EvidenceRefs {
		if ref.Receipt == nil {
			return fmt.Errorf("evidence %d has no receipt", i+1)
		}
	}
	return nil
}

package longrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Runner carries out one long run, in its terminal.
type Runner struct {
	*Manager
	Agent agent.Agent
	// Investigate does the investigation, with a supervised agent.
	Investigate func(ctx context.Context, a agent.Agent, j *Job) (*draft.Return, error)
	Screen      io.Writer // the terminal; errors writing to it are ignored
	// Trouble is the error that prevented Agent from being made: the run fails with it.
	Trouble error
}

// Job is a request with its run.
type Job struct {
	Request
	*run.Run
}

// Run carries out the run and publishes its result. If ctx ends although no person ended the run, there is
// no result, and the process waiting for the run starts it again.
func (r *Runner) Run(ctx context.Context, id string) error {
	if !run.IsID(id) {
		return fmt.Errorf("%q is not a run id", id)
	}
	req, err := r.request(id)
	if err != nil {
		return err
	}
	own, err := run.Begin(r.Home, id)
	for end := time.Now().Add(patience); errors.Is(err, durable.ErrLocked) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // a look at a run holds its lock briefly
		own, err = run.Begin(r.Home, id)
	}
	if err != nil {
		return err
	}
	if over, err := run.Load(r.Home, id); err != nil || over != nil {
		return errors.Join(err, own.End())
	}
	return errors.Join(r.run(ctx, &Job{*req, own}), own.End())
}

func (r *Runner) run(outer context.Context, j *Job) error {
	t := j.Thread
	res := run.Result{
		RunID: j.RunID, Kind: run.Investigate, Key: t.Key, Cycle: t.Cycle, Round: t.InvestigatorRound,
		Agent: r.Config.Investigator.Agent, By: j.By, StartedAt: text.Timestamp(r.Now()),
		SessionID: j.SessionID,
	}
	err := run.Update(j.Dir(), func(s *run.State) {
		s.Status, s.Owner, s.EndedAt, s.Terminal = run.Active, run.ProcessOf(os.Getpid()), nil, config.None
		s.StartedAt = cmp.Or(s.StartedAt, res.StartedAt)
		if os.Getenv("TMUX") != "" {
			s.Terminal = config.Tmux
		}
		s.Starts++
		res.Starts = s.Starts
	})
	if err != nil {
		return err
	}
	said, err := openTranscript(r.transcriptPath(j.RunID), r.Screen, r.Now)
	if err != nil {
		return r.end(j, &res, nil, err, nil)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(outer))
	defer cancel(nil)
	defer context.AfterFunc(outer, func() { cancel(r.why(outer, j.RunID)) })()
	limits := supervise.Of(r.Config.Investigator)
	limits.Wall = time.Duration(r.Config.Escalation.MaxMin * float64(time.Minute))
	said.begin(&j.Request, res.Starts)
	a := supervise.Wrap(r.Agent, supervise.Options{Limits: limits, Dir: j.Dir(),
		Watch: said.event, Now: r.Now})
	err = r.Trouble
	if run.IsCancelled(r.Home, j.RunID) {
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
	return errors.Join(r.end(j, &res, ret, err, said), said.close())
}

// why returns why the context ended: a person ended the run, by tri-escalate kill or by Control-C in its
// terminal, or the process was stopped.
func (r *Runner) why(ctx context.Context, id string) error {
	cause := context.Cause(ctx)
	if run.IsCancelled(r.Home, id) || strings.Contains(cause.Error(), os.Interrupt.String()) {
		return supervise.ErrAbandon
	}
	return cause
}

// end publishes the result of a run.
func (r *Runner) end(j *Job, res *run.Result, ret *draft.Return, err error, said *transcript) error {
	state, serr := r.state(j.RunID)
	if serr != nil {
		return serr
	}
	res.Usage, res.Model = state.Usage, state.Model
	if state.SessionID != nil {
		res.SessionID = *state.SessionID
	}
	if err == nil {
		err = r.give(j, res, ret)
	}
	switch {
	case errors.Is(err, agent.ErrNothing):
		res.Status, res.Error = run.Nothing, err.Error()
	case err != nil:
		res.Status, res.Error = run.Failed, err.Error()
		res.Failure = &run.Failure{Kind: agent.FailureKind(err), Message: res.Error}
		if f := state.Failure; f != nil {
			res.Failure.Limit, res.Failure.LastSafeArtifact = f.Limit, f.LastSafeArtifact
		}
	default:
		res.Status = run.Done
	}
	res.EndedAt = text.Timestamp(r.Now())
	if said != nil {
		said.end(res) // before the end is published
	}
	return errors.Join(j.Publish(*res), r.settle(res))
}

// give sets the value of the result, and writes return.json, if the return is valid: it is checked once
// more, and the files that it cites must carry receipts made by code.
func (r *Runner) give(j *Job, res *run.Result, ret *draft.Return) error {
	err := check(ret)
	if err != nil {
		return agent.Fail(agent.Abort, fmt.Errorf("the agent's return: %w", err))
	}
	if res.Value, err = json.MarshalIndent(ret, "", "  "); err != nil {
		return fmt.Errorf("long run %s: %w", j.RunID, err)
	}
	return r.Home.Replace(r.folder(j.RunID)+"/return.json", append(res.Value, '\n'))
}

func check(ret *draft.Return) error {
	if err := ret.Check(); err != nil {
		return err
	}
	for i, ref := range ret.EvidenceRefs {
		if ref.Kind == draft.KindFile && ref.Receipt == nil {
			return fmt.Errorf("evidence %d has no receipt", i+1)
		}
	}
	return nil
}

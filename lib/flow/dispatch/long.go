package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Long is where long investigations run, detached from this process: they live on
// when it does not.
type Long interface {
	// Start has a run begin, unless it has begun or ended, and says where it can be
	// watched.
	Start(t *thread.Thread, hints []Hint, runID string) (thread.Escalation, error)
	// Stop ends a run that nobody needs any more.
	Stop(runID string) error
	// Wait gives the run's end, with status, error, failure, usage and value.
	Wait(ctx context.Context, runID string) (*run.Result, error)
}

// longer has a run done detached, and waits for its end into res.
func (d *Dispatcher) longer(ctx context.Context, t *thread.Thread, hints []Hint, res *run.Result) error {
	if first := t.InvestigatorReturn; first != nil && t.Status == thread.Escalated {
		hints = append(hints, Hint{Source: "a shorter look at this very question", Text: first.SummaryForOrchestrator + "\n" + first.ResearchNotes})
	}
	at, err := d.Long.Start(t, hints, res.RunID)
	if err != nil {
		res.EndedAt = text.Timestamp(d.Now())
		fail(res, agent.Fail(agent.ToolError, fmt.Errorf("start a long run: %w", err)), nil)
		return nil
	}
	select {
	case d.begun <- thread.Input{At: text.Timestamp(d.Now()), Key: t.Key, Escalated: &at}:
	case <-ctx.Done():
		return ctx.Err()
	}
	end, err := d.Long.Wait(ctx, res.RunID)
	if err != nil {
		return err
	}
	res.StartedAt, res.EndedAt, res.Status, res.Error, res.Failure = end.StartedAt, end.EndedAt, end.Status, end.Error, end.Failure
	res.Model, res.SessionID, res.Usage, res.Value = end.Model, end.SessionID, end.Usage, end.Value
	return nil
}

// callBack ends the long runs that their threads have moved on from.
func (d *Dispatcher) callBack() {
	for id, key := range d.away {
		if t := d.threads[key]; t != nil && isDue(t, job{runID: id}) {
			continue
		}
		delete(d.away, id)
		go func() {
			if err := d.Long.Stop(id); err != nil {
				d.Say("stop long run %s: %v", id, err)
			}
		}()
	}
}

// longerLook reports whether a run's end asks for a longer look that the
// configuration has: the agent said so, or its time was up.
func (d *Dispatcher) longerLook(j job, res *run.Result) bool {
	if !d.Config.Escalation.Enabled || j.long || j.kind != run.Investigate {
		return false
	}
	if res.Failure != nil {
		return res.Failure.Kind == agent.Timeout && res.Failure.Limit == supervise.Wall
	}
	var ret draft.Return
	return json.Unmarshal(res.Value, &ret) == nil && ret.EscalationRequested
}

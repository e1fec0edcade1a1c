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

// Long runs long investigations detached from this process, so that they survive its end.
type Long interface {
	// Start starts a run, unless it has already started or ended, and returns where it can be watched.
	Start(t *thread.Thread, hints []Hint, runID string) (thread.Escalation, error)
	// Stop ends a run whose result is no longer needed.
	Stop(runID string) error
	// Wait returns the run's result when it has ended.
	Wait(ctx context.Context, runID string) (*run.Result, error)
}

// longer runs an investigation detached and waits for its end. The detached runner owns the run and
// publishes its result. A run that cannot be started has failed.
func (p *pool) longer(ctx context.Context, id string, t *thread.Thread, hints []Hint) (*run.Result, error) {
	if first := t.InvestigatorReturn; first != nil && t.Status == thread.Escalated {
		hints = append(hints, Hint{Source: "a shorter look at this very question",
			Text: first.SummaryForOrchestrator + "\n" + first.ResearchNotes})
	}
	at, err := p.Long.Start(t, hints, id)
	if err != nil {
		return p.owned(id, func(r *run.Run) (*run.Result, error) {
			res := p.blank(job{kind: run.Investigate, runID: id}, t, r)
			res.EndedAt = text.Timestamp(p.Now())
			fail(res, agent.Fail(agent.ToolError, fmt.Errorf("start a long run: %w", err)), nil)
			return res, nil
		})
	}
	select {
	case p.begun <- thread.Input{At: text.Timestamp(p.Now()), Key: t.Key, Escalated: &at}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.Long.Wait(ctx, id)
}

// longerLook reports whether the end of a run calls for a longer investigation, and the configuration
// allows one: the agent asked for it, or its time was up.
func (p *pool) longerLook(j job, res *run.Result) bool {
	if !p.Config.Escalation.Enabled || j.long || j.kind != run.Investigate {
		return false
	}
	if res.Failure != nil {
		return res.Failure.Kind == agent.Timeout && res.Failure.Limit == supervise.Wall
	}
	var ret draft.Return
	return json.Unmarshal(res.Value, &ret) == nil && ret.EscalationRequested
}

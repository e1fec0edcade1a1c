package supervise

import (
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
)

// Limits are what one run may take; 0 is no limit, except of Stall.
type Limits struct {
	Wall    time.Duration
	Stall   time.Duration // neither a word nor work; 0 is DefaultStall, below 0 never
	Turns   int
	Tokens  int64 // in and out
	CostUSD float64
}

// Of are the limits that a configuration sets for every run of an agent, without
// its time.
func Of(c config.Agent) Limits {
	return Limits{
		Stall: time.Duration(c.StallMin * float64(time.Minute)),
		Turns: c.MaxTurns, Tokens: c.MaxTokens, CostUSD: c.MaxBudgetUSD,
	}
}

// Around puts an agent under supervision, if there is one: it takes what a list
// of agents gives.
func (l Limits) Around(a agent.Agent, err error) (agent.Agent, error) {
	if a == nil || err != nil {
		return nil, err
	}
	return Wrap(a, Options{Limits: l}), nil
}

// hold ends the run when what it tells of has passed a limit.
func (w *watch) hold() {
	u, o := w.usage, w.options
	switch {
	case o.Turns > 0 && u.Turns > o.Turns:
		w.stop(&limit{Turns, over("turns", o.Turns)})
	case o.Tokens > 0 && u.InputTokens+u.OutputTokens > o.Tokens:
		w.stop(&limit{Tokens, over("tokens", o.Tokens)})
	case o.CostUSD > 0 && u.CostUSD != nil && *u.CostUSD > o.CostUSD:
		w.stop(&limit{Cost, over("cost", fmt.Sprintf("%v USD", o.CostUSD))})
	}
}

// stop ends the run for a limit.
func (w *watch) stop(why *limit) {
	if w.limit == nil {
		w.limit = why
		w.cancel(why)
	}
}

// What a run can have used up, as run.Failure.Limit says it.
const (
	Wall    = "wall"
	Silence = "silence"
	Turns   = "turns"
	Tokens  = "tokens"
	Cost    = "cost"
)

// limit is a limit that a run has reached.
type limit struct {
	what string
	error
}

func over(budget string, limit any) error {
	return fmt.Errorf("its budget is used up: %s, %v", budget, limit)
}

package supervise

import (
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
)

// Limits bound one run, Wall and Stall each attempt of it; 0 means no limit, except for Stall.
type Limits struct {
	Wall    time.Duration
	Stall   time.Duration // without an event or CPU time; 0 means DefaultStall, negative never
	Turns   int
	Tokens  int64 // input and output
	CostUSD float64
}

// Of returns the limits that a configuration sets for every run of an agent, except Wall.
func Of(c config.Agent) Limits {
	return Limits{
		Stall: time.Duration(c.StallMin * float64(time.Minute)),
		Turns: c.MaxTurns, Tokens: c.MaxTokens, CostUSD: c.MaxBudgetUSD,
	}
}

// Around wraps a in supervision, if there is an agent. It takes the results of a constructor of
// agents.
func (l Limits) Around(a agent.Agent, err error) (agent.Agent, error) {
	if a == nil || err != nil {
		return nil, err
	}
	return Wrap(a, Options{Limits: l}), nil
}

// hold stops the run if what all its attempts have used exceeds a limit.
func (w *watch) hold() {
	u, o := w.state.Usage, w.options
	switch {
	case o.Turns > 0 && u.Turns > o.Turns:
		w.stop(&limit{Turns, over("turns", o.Turns)})
	case o.Tokens > 0 && u.InputTokens+u.OutputTokens > o.Tokens:
		w.stop(&limit{Tokens, over("tokens", o.Tokens)})
	case o.CostUSD > 0 && u.CostUSD != nil && *u.CostUSD > o.CostUSD:
		w.stop(&limit{Cost, over("cost", fmt.Sprintf("%v USD", o.CostUSD))})
	}
}

// stop ends the run because of a limit.
func (w *watch) stop(why *limit) {
	if w.limit == nil {
		w.limit = why
		w.cancel(why)
	}
}

// Limits that a run can exceed, the values of run.Failure.Limit.
const (
	Wall    = "wall"
	Silence = "silence"
	Turns   = "turns"
	Tokens  = "tokens"
	Cost    = "cost"
)

// limit is the error of a run that reached a limit.
type limit struct {
	what string
	error
}

func over(budget string, limit any) error {
	return fmt.Errorf("its budget is used up: %s, %v", budget, limit)
}

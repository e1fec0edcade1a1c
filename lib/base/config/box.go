package config

import (
	"errors"
	"strings"
	"time"
)

// Box configures agents that a person starts under supervision (tri-box).
type Box struct {
	// Agent is the program that works; default: the investigator's.
	Agent Agent `yaml:"agent"`
	// Limits are per type of run.
	Limits BoxLimits `yaml:"limits"`
	// OpsCommands are the only commands that a run of type ops may use, each as the words that a
	// command line must begin with ("kubectl get"). If empty, there are no such runs.
	OpsCommands []string `yaml:"ops_commands"`
	// FixCommands are the commands that fix and benchmark may use ("go test"); default none.
	FixCommands []string `yaml:"fix_commands"`
	// FixTest is the test of a fix, an argument vector ([go, test, ./...]) that is run in the
	// sandbox. A change that does not pass is not offered. Default none.
	FixTest []string `yaml:"fix_test"`
	// EnvTest are the names of the variables that the codebase's .env.test may set for the agent;
	// default none.
	EnvTest []string `yaml:"env_test"`
}

// BoxLimits are the limits of each type of run.
type BoxLimits struct {
	Scout     Limit `yaml:"scout"`
	Plan      Limit `yaml:"plan"`
	Fix       Limit `yaml:"fix"`
	Review    Limit `yaml:"review"`
	Benchmark Limit `yaml:"benchmark"`
	Ops       Limit `yaml:"ops"`
}

// Limit bounds one run; 0 means no limit.
type Limit struct {
	Minutes *float64 `yaml:"minutes"`
	Turns   *int     `yaml:"turns"`
	Tokens  *int64   `yaml:"tokens"` // input and output, including cached tokens
	CostUSD *float64 `yaml:"cost_usd"`
}

// Of returns the limit of a type of run.
func (l *BoxLimits) Of(kind string) *Limit {
	return map[string]*Limit{"scout": &l.Scout, "plan": &l.Plan, "fix": &l.Fix, "review": &l.Review,
		"benchmark": &l.Benchmark, "ops": &l.Ops}[kind]
}

// Time returns Minutes as a duration.
func (l *Limit) Time() time.Duration { return time.Duration(*l.Minutes * float64(time.Minute)) }

// fill sets defaults: read-only runs have small limits, and no run is without limits.
func (b *Box) fill() {
	if b.Agent.Agent != "" {
		b.Agent.fill("", 1)
	}
	for kind, minutes := range map[string]float64{"scout": 15, "plan": 15, "review": 15, "ops": 15, "fix": 60,
		"benchmark": 60} {
		l, cost := b.Limits.Of(kind), 5.0
		if minutes > 15 {
			cost = 20
		}
		setPointer(&l.Minutes, minutes)
		setPointer(&l.Turns, 200)
		setPointer(&l.Tokens, int64(20_000_000))
		setPointer(&l.CostUSD, cost)
	}
}

// compile reports, with line numbers, errors that the schema cannot express.
func (b *Box) compile(f *faults) {
	if b.Agent.Agent != "" {
		b.Agent.compile(f, "box", "agent")
	}
	for name, commands := range map[string][]string{"ops_commands": b.OpsCommands,
		"fix_commands": b.FixCommands} {
		for i, c := range commands {
			// An agent's rules for commands are patterns; these are plain words.
			if strings.TrimSpace(c) == "" || strings.ContainsAny(c, "*()?:;|&<>$`\\\"'\n") {
				f.add(errors.New("should be plain words, as in: kubectl get"), "box", name, i)
			}
		}
	}
}

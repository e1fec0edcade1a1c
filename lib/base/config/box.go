package config

import (
	"errors"
	"strings"
	"time"
)

// Box is how agents are run by hand, under supervision (tri-box).
type Box struct {
	// Agent is which program works; nothing said is the investigator's.
	Agent Agent `yaml:"agent"`
	// Limits are per type of run.
	Limits BoxLimits `yaml:"limits"`
	// OpsCommands are the only commands that a run of type ops may use, each the
	// words that a command line must begin with ("kubectl get"); none: no such run.
	OpsCommands []string `yaml:"ops_commands"`
	// FixCommands are those that fix and benchmark may use ("go test"); default none.
	FixCommands []string `yaml:"fix_commands"`
	// FixTest is run on what a fix has changed, in the sandbox, as an argument vector
	// ([go, test, ./...]); what does not pass is not offered. Default none.
	FixTest []string `yaml:"fix_test"`
	// EnvTest are the names of the variables that the codebase's .env.test may set for
	// the agent; default none.
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

// Limit is the most that one run may take; 0 is no limit.
type Limit struct {
	Minutes *float64 `yaml:"minutes"`
	Turns   *int     `yaml:"turns"`
	Tokens  *int64   `yaml:"tokens"` // in and out, cached ones too
	CostUSD *float64 `yaml:"cost_usd"`
}

// Of is the limit of a type of run.
func (l *BoxLimits) Of(kind string) *Limit {
	return map[string]*Limit{"scout": &l.Scout, "plan": &l.Plan, "fix": &l.Fix, "review": &l.Review, "benchmark": &l.Benchmark, "ops": &l.Ops}[kind]
}

// Time is Minutes as a duration.
func (l *Limit) Time() time.Duration { return time.Duration(*l.Minutes * float64(time.Minute)) }

// fill has who only reads stop early, and nobody run without an end.
func (b *Box) fill() {
	if b.Agent.Agent != "" {
		b.Agent.fill("", 1)
	}
	for kind, minutes := range map[string]float64{"scout": 15, "plan": 15, "review": 15, "ops": 15, "fix": 60, "benchmark": 60} {
		l, cost := b.Limits.Of(kind), 5.0
		if minutes > 15 {
			cost = 20
		}
		orElse(&l.Minutes, minutes)
		orElse(&l.Turns, 200)
		orElse(&l.Tokens, int64(20_000_000))
		orElse(&l.CostUSD, cost)
	}
}

func orElse[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// compile names, with its line, what the schema cannot see.
func (b *Box) compile(f *faults) {
	if b.Agent.Agent != "" {
		b.Agent.compile(f, "box", "agent")
	}
	for name, commands := range map[string][]string{"ops_commands": b.OpsCommands, "fix_commands": b.FixCommands} {
		for i, c := range commands {
			// An agent's rules about commands are patterns; these are words.
			if strings.TrimSpace(c) == "" || strings.ContainsAny(c, "*()?:;|&<>$`\\\"'\n") {
				f.add(errors.New("should be plain words, as in: kubectl get"), "box", name, i)
			}
		}
	}
}

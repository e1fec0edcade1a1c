package box

import (
	"errors"
	"fmt"
	"slices"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// right is a row of the permission matrix.
type right struct {
	tools   []string
	shell   func(*config.Box) []string // commands that Bash may run; nil: no Bash
	write   bool                       // works in its own worktree
	exports bool                       // its changes become a patch
	plans   bool                       // its final answer is a plan
}

var (
	reads  = []string{"Read", "Grep", "Glob"}
	edits  = []string{"Edit", "Write"} // the tools that Task.Write allows
	tested = func(c *config.Box) []string { return c.FixCommands }
	matrix = map[string]*right{
		Scout:     {tools: reads},
		Plan:      {tools: reads, plans: true},
		Review:    {tools: reads},
		Fix:       {tools: reads, shell: tested, write: true, exports: true},
		Benchmark: {tools: reads, shell: tested, write: true},
		Ops:       {tools: reads, shell: func(c *config.Box) []string { return c.OpsCommands }},
	}
)

// agentOf returns the box's own agent, or the investigator if the box has none.
func agentOf(c *config.Config) config.Agent {
	if c.Box.Agent.Agent == "" {
		return c.Investigator
	}
	return c.Box.Agent
}

// newAgent makes the agent. An agent that can only search is refused.
func (b *Box) newAgent() (agent.Agent, error) {
	a := agentOf(b.Config)
	if !a.Searches() {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("agent %q takes no tasks", a.Agent)),
			"name one under `box: agent:`, as {agent: claude}; to search, use tri-investigate")
	}
	return b.New(a, b.Config.Sandbox)
}

// envelope returns what the configuration allows a run. It depends on nothing else, so it can be
// recomputed later.
func (b *Box) envelope(kind, run string, able agent.Capabilities) (Envelope, error) {
	a, c := agentOf(b.Config), &b.Config.Box
	r := matrix[kind]
	e := Envelope{
		Agent: a.Agent, Command: a.Command, Model: a.Model, Sandbox: b.Config.Sandbox,
		Tools: slices.Clone(r.tools), Write: r.write, EnvTest: c.EnvTest, Safe: []string{}, Human: []string{},
	}
	limit := c.Limits.Of(kind)
	e.Rights = &Rights{
		Network: a.Network, BaseURL: a.BaseURL, Read: a.Read, Env: a.Env,
		MemoryMB: a.MemoryMB, Processes: a.Processes, DiskMB: a.DiskMB, StallMin: a.StallMin,
		Minutes: *limit.Minutes, Turns: *limit.Turns, Tokens: *limit.Tokens, CostUSD: *limit.CostUSD,
	}
	if r.exports {
		e.Rights.FixTest = c.FixTest
	}
	for _, s := range b.Config.Servers(false) {
		for _, tool := range s.Tools {
			e.MCP = append(e.MCP, s.Name+"."+tool)
		}
	}
	if r.write {
		e.Tools = append(e.Tools, edits...)
	}
	if r.shell != nil {
		e.Shell = slices.Clone(r.shell(c))
	}
	if len(e.Shell) > 0 {
		e.Tools = append(e.Tools, "Bash")
	}
	switch {
	case kind == Ops && len(e.Shell) == 0:
		return e, sysexit.Hint(sysexit.With(sysexit.Config, errors.New("ops: no command is allowed")),
			"name them under `box: ops_commands:`, as [kubectl get, kubectl describe]")
	case kind == Ops && !able.Narrows:
		return e, sysexit.Hint(sysexit.With(sysexit.Config,
			fmt.Errorf("ops: agent %q cannot be restricted to the named commands", a.Agent)),
			"name one that can under `box: agent:`, as {agent: claude}")
	}
	if able.Commands {
		e.commands = commandsOf(run)
		for _, c := range e.commands {
			if c.human {
				e.Human = append(e.Human, c.name)
			} else {
				e.Safe = append(e.Safe, c.name)
			}
		}
	}
	return e, nil
}

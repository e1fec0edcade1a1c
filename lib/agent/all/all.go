// Package all is the list of agents: the one place that knows every adapter, for
// the programs that take one by its name.
package all

import (
	"fmt"

	"tri/lib/agent"
	"tri/lib/agent/claude"
	"tri/lib/agent/exec"
	"tri/lib/agent/search"
	"tri/lib/config"
	"tri/lib/sysexit"
)

// New makes the agent that the configuration names; "" is search. sandbox is the
// configuration's own word on it, "off" or anything else. None is nil: no agent
// is wanted.
func New(cfg config.Agent, sandbox string) (agent.Agent, error) {
	switch cfg.Agent {
	case "", "search":
		return search.Below(cfg.Home), nil
	case "claude":
		return orNil(claude.New(cfg, sandbox))
	case "exec":
		return orNil(exec.New(cfg, sandbox))
	case "none":
		return nil, nil
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("no agent is called %q", cfg.Agent)),
		"there are: search, claude, exec, and none for a validator")
}

// orNil keeps a nil pointer from becoming an agent that is not nil.
func orNil[A agent.Agent](a A, err error) (agent.Agent, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Package all is the list of agents: the one place that knows every adapter, for
// the programs that take one by its name.
package all

import (
	"fmt"

	"tri/lib/agent"
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
		return search.New(), nil
	case "none":
		return nil, nil
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("no agent is called %q", cfg.Agent)),
		"there are: search, claude, exec, and none for a validator")
}

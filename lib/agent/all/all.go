// Package all lists every agent adapter, for programs that choose one by name.
package all

import (
	"cmp"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/acp"
	"tri/lib/agent/aider"
	"tri/lib/agent/api"
	"tri/lib/agent/claude"
	"tri/lib/agent/cline"
	"tri/lib/agent/codex"
	"tri/lib/agent/continuedev"
	"tri/lib/agent/cursor"
	"tri/lib/agent/exec"
	"tri/lib/agent/gemini"
	"tri/lib/agent/goose"
	"tri/lib/agent/opencode"
	"tri/lib/agent/qwen"
	"tri/lib/agent/remote"
	"tri/lib/agent/search"
	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

type maker func(cfg config.Agent, sandbox string) (agent.Agent, error)

// agents are all agents, in the order of tri-agent(7).
var agents = []struct {
	name string
	make maker
}{
	{"search", func(cfg config.Agent, _ string) (agent.Agent, error) { return search.Below(cfg.Home), nil }},
	{"claude", of(claude.New)},
	{"codex", of(codex.New)},
	{"cursor", of(cursor.New)},
	{"aider", of(aider.New)},
	{"continue", of(continuedev.New)},
	{"gemini", of(gemini.New)},
	{"opencode", of(opencode.New)},
	{"qwen", of(qwen.New)},
	{"goose", of(goose.New)},
	{"cline", of(cline.New)},
	{"acp", of(acp.New)},
	{"api", of(api.New)},
	{"exec", of(exec.New)},
}

// None is the setting for no agent, for a validator.
const None = "none"

// names returns the names of the agents, without None.
func names() []string {
	var names []string
	for _, a := range agents {
		names = append(names, a.name)
	}
	return names
}

// New makes the agent that the configuration names; "" means search. sandbox is the
// configuration's setting, "off" or anything else. For None the agent is nil.
func New(cfg config.Agent, sandbox string) (agent.Agent, error) {
	switch cfg.Agent {
	case "":
		cfg.Agent = "search"
	case None:
		return nil, nil
	}
	if cfg.On != "" {
		return remote.New(cfg, sandbox, capabilities(cfg)), nil
	}
	for _, a := range agents {
		if a.name == cfg.Agent {
			return a.make(cfg, sandbox)
		}
	}
	return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "no agent is called %q", cfg.Agent),
		"there are: "+strings.Join(names(), ", ")+", and none for a validator")
}

// capabilities returns what the agent of a configuration would support here. Its key and its command are
// needed only where it runs.
func capabilities(cfg config.Agent) agent.Capabilities {
	cfg.On, cfg.KeyFile, cfg.BaseURL = "", "", "http://localhost"
	if len(cfg.Command) == 0 {
		cfg.Command = []string{"true"}
	}
	cfg.Model = cmp.Or(cfg.Model, "any")
	a, err := New(cfg, "off")
	if err != nil {
		return agent.Capabilities{} // what is not known is not used
	}
	return agent.CapabilitiesOf(a)
}

// Supervised is New for an agent that keeps to the limits of cfg.
func Supervised(cfg config.Agent, sandbox string) (agent.Agent, error) {
	return supervise.Of(cfg).Around(New(cfg, sandbox))
}

// of keeps a nil pointer from becoming a non-nil agent.
func of[A agent.Agent](make func(config.Agent, string) (A, error)) maker {
	return func(cfg config.Agent, sandbox string) (agent.Agent, error) {
		a, err := make(cfg, sandbox)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
}

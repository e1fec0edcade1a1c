package health

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tri/lib/agent/proc"
	"tri/lib/base/config"
)

func (x *checker) agents(ctx context.Context) {
	x.agent(ctx, "investigator", x.config.Investigator)
	x.agent(ctx, "validator", x.config.Validator)
	x.walls(ctx)
	for _, s := range x.config.MCPServers {
		x.server(s)
	}
	if x.config.Escalation.Enabled {
		x.tool(ctx, "tmux", "tmux", "-V", "long runs live in it")
	}
	x.boxAgent(ctx)
}

// server checks a tool server's programs and variables. It starts and asks none.
func (x *checker) server(s config.Server) {
	name := "tools " + s.Name
	programs := map[string]string{} // and where the configuration names them
	if len(s.Command) > 0 {
		programs[s.Command[0]] = "command"
	}
	for _, c := range s.Commands {
		programs[c.Argv[0]] = "argv of " + c.Name
	}
	for _, program := range slices.Sorted(maps.Keys(programs)) {
		if _, err := lookPath(program); err != nil {
			x.failed(name, "install it, or name it with its path under `"+programs[program]+"`", err)
			return
		}
	}
	for _, v := range append(slices.Clone(s.Env), s.TokenEnv) {
		if v != "" && os.Getenv(v) == "" {
			x.warn(name, "set it where tri runs", "$%s is not set here", v)
			return
		}
	}
	x.ok(name, "%s", strings.Join(s.Tools, ", "))
}

// boxAgent checks what tri-box needs besides the sandbox: its agent, if it has one of its own, and
// git.
func (x *checker) boxAgent(ctx context.Context) {
	a := x.config.Box.Agent
	if a.Agent != "" {
		x.agent(ctx, "box agent", a)
	}
	if (a.Agent != "" || x.config.Investigator.Searches()) &&
		!slices.ContainsFunc(x.checks, func(c Check) bool { return c.Name == "git" }) {
		x.tool(ctx, "git", "git", "--version", "tri-box works in git worktrees")
	}
}

func (x *checker) agent(ctx context.Context, name string, a config.Agent) {
	if a.On != "" {
		x.elsewhere(name, a)
		return
	}
	switch a.Agent {
	case "search":
		x.ok(name, "search, built in: no model, no key")
		return
	case "none":
		x.ok(name, "none: code alone checks the drafts")
		return
	case "api":
		if _, err := a.Key(); err != nil {
			x.failed(name, "set the variable, or name a file under "+name+".key_file", err)
			return
		}
		x.ok(name, "%s at %s", a.Model, cmp.Or(a.BaseURL, a.API))
		return
	}
	program := a.Program()
	if len(program) == 0 {
		x.fail(name, "name the program under `command:`", "%s: no command", a.Agent)
		return
	}
	if _, err := lookPath(program[0]); err != nil {
		x.failed(name, "install it, or name it with its path under `command:`", err)
		return
	}
	said := program[0]
	if _, v := proc.Version(program); v != "" {
		said = a.Agent + " " + v
	} else if a.Agent == "claude" {
		v, err := version(ctx, program[0], "--version")
		if err != nil {
			x.failed(name, "see that it runs", err)
			return
		}
		said = v
	}
	key, missing := credential(a)
	if missing != "" {
		x.warn(name, "set one, or name the file with its login under `read:`", "%s, and no key: %s",
			said, missing)
		return
	}
	x.ok(name, "%s%s", said, key)
}

// elsewhere checks the program that reaches the machine where the agent runs, and no more: the agent is
// that machine's.
func (x *checker) elsewhere(name string, a config.Agent) {
	program := "tri-nats"
	if a.Hosts() != nil {
		program = "ssh"
	}
	if _, err := lookPath(program); err != nil {
		x.failed(name, "install it, or remove `on:` from the configuration", err)
		return
	}
	x.ok(name, "%s on %s", a.Agent, strings.TrimPrefix(a.On, "ssh "))
}

// credential returns where the program's credential is, or what is missing. Both are "" if the
// needs of the program are unknown.
func credential(a config.Agent) (found, missing string) {
	names := a.Keys()
	for _, name := range names {
		if os.Getenv(name) != "" {
			return ", its key in " + name, ""
		}
	}
	for _, file := range a.Read {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return ", its login in " + file, ""
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return "", fmt.Sprintf("%s is not set here", strings.Join(names, " or "))
}

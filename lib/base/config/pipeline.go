package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tri/lib/base/lazyregexp"
)

// Stage is one long-running program of the pipeline: it runs in the home, and is restarted when it
// exits.
type Stage struct {
	// watch, thread, turn, classify, dispatch, reply, chat, web, panel, nats; or a team's own
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"` // replaces the built-in command; required for a team's own stage
	Off     *bool    `yaml:"off"`     // it is not run

	// Lock is the file in the home that the stage locks while it runs, "" if unknown.
	Lock string `yaml:"-"`
}

// The logs between the stages.
const (
	EventsName     = "events.ndjson"
	ThreadedName   = "events-threaded.ndjson"
	TurnsName      = "events-turns.ndjson"
	ClassifiedName = "events-classified.ndjson"
)

// Stages returns the pipeline of a home in start order: the built-in stages that the configuration
// needs, as modified by `pipeline`, then a team's own.
func (c *Config) Stages(home string) []Stage {
	own := []string{"--home", home}
	var with []string
	if c.Path != "" {
		with = []string{"--config", c.Path}
	}
	cmd := func(parts ...[]string) []string { return slices.Concat(parts...) }
	out := func(name string) []string { return []string{"--follow", "--out", name} }
	from := EventsName
	var stages []Stage
	add := func(s Stage, builtin bool) {
		said := slices.IndexFunc(c.Pipeline, func(p Stage) bool { return p.Name == s.Name })
		if said >= 0 {
			p := c.Pipeline[said]
			if len(p.Command) > 0 {
				s.Command = p.Command
			}
			builtin = p.Off == nil && builtin || p.Off != nil && !*p.Off
		}
		if builtin {
			stages = append(stages, s)
		}
	}
	add(Stage{Name: "watch", Lock: "locks/watch", Command: cmd([]string{"tri-watch"}, own, with)},
		len(c.On())+len(c.Sweep) > 0)
	for _, f := range []struct{ stage, out string }{{"thread", ThreadedName}, {"turn", TurnsName}} {
		before := len(stages)
		add(Stage{Name: f.stage, Lock: "." + f.out + ".lock",
			Command: cmd([]string{"tri-" + f.stage}, out(f.out), []string{from})}, true)
		if len(stages) > before {
			from = f.out
		}
	}
	add(Stage{Name: "classify", Lock: "." + ClassifiedName + ".lock",
		Command: cmd([]string{"tri-classify"}, with, out(ClassifiedName), []string{from})}, true)
	add(Stage{Name: "dispatch", Lock: "locks/dispatch",
		Command: cmd([]string{"tri-dispatch"}, own, with, []string{ClassifiedName})},
		len(c.Codebases) > 0 || c.hasStage("dispatch"))
	add(Stage{Name: "reply", Lock: "locks/reply", Command: cmd([]string{"tri-reply"}, own, with)},
		c.posts() || c.hasStage("reply"))
	add(Stage{Name: "chat", Lock: "locks/chat", Command: cmd([]string{"tri-approve", "chat"}, own, with)},
		c.Gate.Chat.ChatID != "")
	add(Stage{Name: "web", Lock: "locks/web", Command: cmd([]string{"tri-approve", "web"}, own, with)}, false)
	add(Stage{Name: "panel", Lock: "locks/panel", Command: cmd([]string{"tri-panel", "watch"}, own, with)},
		len(c.Panel.Triggers) > 0)
	add(Stage{Name: "nats", Command: cmd([]string{"tri-nats", "pub"}, own, []string{"all"})},
		c.Nats.URL != "")
	for _, p := range c.Pipeline {
		if !slices.Contains(builtins, p.Name) && (p.Off == nil || !*p.Off) {
			stages = append(stages, p)
		}
	}
	return stages
}

// posts reports whether there is a platform that accepts posts: a text log does not.
func (c *Config) posts() bool {
	return slices.ContainsFunc(c.On(), func(name string) bool { return name != PlatformTail })
}

// hasStage reports whether the configuration has an entry for a built-in stage.
func (c *Config) hasStage(stage string) bool {
	return slices.ContainsFunc(c.Pipeline, func(p Stage) bool { return p.Name == stage })
}

var builtins = []string{"watch", "thread", "turn", "classify", "dispatch", "reply", "chat", "web", "panel",
	"nats"}

var stageName = lazyregexp.New(`^[a-z][a-z0-9-]{0,30}$`)

func (c *Config) compilePipeline(f *faults) {
	seen := map[string]bool{}
	for i, p := range c.Pipeline {
		switch {
		case !stageName.MatchString(p.Name):
			f.add(fmt.Errorf("%q: want a to z, 0 to 9 and -", p.Name), "pipeline", i, "name")
		case seen[p.Name]:
			f.add(fmt.Errorf("two stages are called %q", p.Name), "pipeline", i, "name")
		case len(p.Command) == 0 && !slices.Contains(builtins, p.Name):
			f.add(errors.New("a custom stage needs a command"), "pipeline", i)
		}
		seen[p.Name] = true
		if len(p.Command) > 0 && p.Command[0] != filepath.Base(p.Command[0]) &&
			!filepath.IsAbs(p.Command[0]) {
			f.add(fmt.Errorf("%q: want a name on PATH or an absolute path", p.Command[0]), "pipeline",
				i, "command")
		}
	}
}

// Tri-validate judges returns: code checks every citation and the draft itself, and a second agent
// tries to refute what passes.
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tri/lib/agent/all"
	"tri/lib/agent/lens"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/flow/validate"
	"tri/lib/record/run"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-validate",
	Usage: "check every citation of a draft, and try to refute the draft",
	Args:  "[file ...]",
	Help: `Reads returns of tri-investigate, one JSON object per line, and writes a verdict for
each: pass, bounce (with the errors to correct) or escalate. Every reference is
looked up in the codebase; every path, name and number of the draft must occur in
the evidence or in the question. Status 0: every return passed; 1: some did not.

  tri-investigate --codebase . event.json |
      tri-validate --codebase . --code-only
  tri-validate --codebase . return.json | jq -r '.verdict, .reasons[]'
  tri-drill returns.ndjson | tri-validate --code-only | tri-drill --score`,
	Schemas: []string{"verdict", "return"},
	Flags: []cli.Flag{
		cli.Home("use config.yaml in"), cli.Config(),
		cli.String("codebase",
			"look up citations in `DIR` (default the first configured codebase, else here)"),
		cli.Bool("code-only", "use no second agent, whatever is configured"),
		cli.String("agent",
			"use the agent `NAME` of tri-agent(7), or none, instead of the configured one"),
		cli.Bool("agent-only", "have the second agent alone judge returns of tri-drill"),
		cli.String("prompts", "read validate.md from `DIR` instead of the configured prompts"),
		cli.Strings("lens",
			"also ask the lens `NAME` (tri-panel list) about drafts that pass; repeatable"),
		cli.String("keep", "keep prompts and transcripts below `DIR`"),
		cli.String("rejects", "append refused records to `FILE`"),
	},
	Values: config.Values("validator"),
	Run:    judge,
}

func judge(c *cli.Call) error {
	if c.Bool("code-only") && (c.IsSet("agent") || c.IsSet("lens") || c.Bool("agent-only")) {
		return cli.Usagef("--code-only excludes --agent, --agent-only and --lens")
	}
	cfg, err := config.ForHome(c.String("home"), c.String("config"))
	if err != nil {
		return err
	}
	v := &validate.Validator{Secrets: cfg.Secrets(), Now: time.Now}
	asked := *cfg // lenses ask the configured agent, whoever else attacks
	cfg.Validator.Agent = cmp.Or(c.String("agent"), cfg.Validator.Agent, "none")
	if cfg.Validator.Agent == "search" {
		return cli.Usagef("search cannot judge; a validator is none, or an agent with a model")
	}
	if !c.Bool("code-only") {
		if v.Agent, err = all.New(cfg.Validator, cfg.Sandbox); err != nil {
			return err
		}
		if v.Prompts, err = prompts(c.String("prompts"), cfg.Dispatch.PromptsDir); err != nil {
			return err
		}
	}
	if v.Alone = c.Bool("agent-only"); v.Alone && (v.Agent == nil || c.IsSet("lens")) {
		return cli.Usagef("--agent-only needs a configured second agent, and excludes --lens")
	}
	v.Lenses = c.Strings("lens")
	asks := !c.Bool("code-only") && (len(v.Lenses) > 0 || cfg.Panel.Lenses.Any())
	var home *durable.Home
	if asks || c.IsSet("home") {
		if home, err = durable.OpenHome(cmp.Or(c.String("home"), durable.DefaultDir())); err != nil {
			return err
		}
		defer home.Close()
	}
	v.Team(home, cfg)
	if asks {
		if v.Room, err = lens.Open(home, &asked, v.Prompts,
			lens.Room{New: all.Supervised, Getenv: os.Getenv, Now: time.Now}); err != nil {
			return err
		}
		v.Secrets = append(v.Secrets, v.Room.Values()...)
	}
	first := ""
	if len(cfg.Codebases) > 0 {
		first = cfg.Codebases[0].Path
	}
	stage := validate.Stage{
		Validator: v, Codebase: cmp.Or(c.String("codebase"), first, "."), Keep: c.String("keep"),
		Cap: time.Duration(cfg.Validator.HardCapRuntimeMin * float64(time.Minute)), UUID: run.UUID,
		Out: c.Out, Say: c.Notef,
	}
	return stage.Each(c.Context, stream.Input{Files: c.Args, Stdin: c.In, After: -1,
		Rejects: c.String("rejects"), Say: c.Notef})
}

// prompts reads the templates in dir, which must have one for the validator, or in the configured folder.
func prompts(dir, configured string) (*prompt.Set, error) {
	if dir == "" {
		return prompt.Load(configured)
	}
	if _, err := os.Stat(filepath.Join(dir, "validate.md")); err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("read prompts: %w", err))
	}
	return prompt.Load(dir)
}

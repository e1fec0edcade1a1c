// Tri-investigate researches the question of an event or a thread in a codebase
// and drafts an answer, with references that code can check.
package main

import (
	"cmp"
	"path/filepath"
	"time"

	"tri/lib/agent/all"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/flow/investigate"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-investigate",
	Usage: "research a question in a codebase and draft the answer",
	Args:  "[file ...]",
	Help: `Reads events, classified or not, or threads, one JSON object per line, and writes a
return for each: a draft, its confidence and its evidence. Without a configuration
it searches the current directory, with no model and no network. It skips events
that tri-classify tagged as ambient or ack, and fills in fields that a hand-written
record lacks.

  tri-watch export slack.zip | tri-classify |
      tri-investigate --codebase ~/src/shop
  tri-investigate --codebase . event.json | jq -r .draft_reply
  tri-investigate --codebase . event.json |
      tri-validate --codebase . --code-only`,
	Schemas: []string{"return", "event", "classified-event", "thread"},
	Flags: []cli.Flag{
		cli.Home("use config.yaml in"), cli.Config(),
		cli.String("codebase",
			"read `DIR` (default the chat's configured codebase, else the current directory)"),
		cli.String("agent", "use the agent `NAME` of tri-agent(7) instead of the configured one"),
		&cli.IntFlag{Name: "round", Usage: "set the round to `N`", DefaultText: "the thread's"},
		cli.String("keep", "keep prompts and transcripts below `DIR`"),
		cli.String("rejects", "append refused records to `FILE`"),
	},
	Values:      config.Values("investigator"),
	LongRunning: true, // so that a signal ends the agent too
	Run:         run,
}

func run(c *cli.Call) error {
	if n := c.Int("round"); n < 0 || n > 9 {
		return cli.Usagef("--round %d: want 1 to 9", n)
	}
	path := c.String("config")
	if home := c.String("home"); path == "" && home != "" {
		path = filepath.Join(home, "config.yaml")
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	cfg.Investigator.Agent = cmp.Or(c.String("agent"), cfg.Investigator.Agent)
	cfg.Investigator.Home = cmp.Or(c.String("home"), durable.DefaultDir())
	agent, err := all.New(cfg.Investigator, cfg.Sandbox)
	if err != nil {
		return err
	}
	prompts, err := prompt.Load(cfg.Dispatch.PromptsDir)
	if err != nil {
		return err
	}
	stage := investigate.Stage{
		Investigator: investigate.New(agent, prompts, cfg, cfg.Investigator.Home),
		Codebase: func(platform, chatID string) string {
			return cmp.Or(c.String("codebase"), cfg.CodebaseFor(platform, chatID), ".")
		},
		Round: c.Int("round"), Cap: time.Duration(cfg.Investigator.HardCapRuntimeMin * float64(time.Minute)),
		Keep: c.String("keep"), Out: c.Out, Say: c.Notef,
	}
	return stage.Each(c.Context, stream.Input{Files: c.Args, Stdin: c.In, After: -1,
		Rejects: c.String("rejects"), Say: c.Notef})
}

// Tri-dispatch takes classified events and moves threads from question to
// checked draft.
package main

import (
	"context"
	"time"

	"tri/lib/agent/all"
	"tri/lib/cli"
	"tri/lib/config"
	"tri/lib/disk"
	"tri/lib/dispatch"
	"tri/lib/draft"
	"tri/lib/investigate"
	"tri/lib/ndjson"
	"tri/lib/prompt"
	"tri/lib/run"
	"tri/lib/stream"
	"tri/lib/thread"
	"tri/lib/validate"
	"tri/lib/verdict"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-dispatch",
	Usage: "take classified events and move threads from question to checked draft",
	Args:  "[file]",
	Help: `Reads classified events from the file, which it follows, or from stdin. Opens a
thread for each actionable one, has it investigated and validated, and offers the
draft to people (tri-approve). Everything is kept under the home, in files.
Prints one record for each move of a thread.

  tri-watch local chat | tri-classify | tri-dispatch
  tri-dispatch --once events-classified.ndjson   until every thread is at rest
  tri-dispatch --shadow events-classified.ndjson offer nothing for posting
  tri-dispatch --rebuild                         make the threads anew from the log`,
	Schemas: []string{"thread", "classified-event", "run", "spend"},
	Stays:   true,
	Flags: []cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "keep logs and threads in `DIR` (default $TRI_HOME or ~/.tri)"},
		&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the home's config.yaml"},
		&cli.StringFlag{Name: "codebase", Usage: "read `DIR` where the configuration names no codebase", Value: "."},
		&cli.BoolFlag{Name: "once", Usage: "end when the input has ended and every thread is at rest"},
		&cli.BoolFlag{Name: "shadow", Usage: "offer nothing for posting; keep what people answered beside the draft"},
		&cli.BoolFlag{Name: "rebuild", Usage: "fold the log of inputs again, mend the threads' files, and end"},
		&cli.StringFlag{Name: "rejects", Usage: "append refused records to `FILE`"},
	},
	Run: start,
}

func start(c *cli.Call) error {
	home, err := disk.Open(c.String("home"))
	if err != nil {
		return err
	}
	if c.Bool("rebuild") {
		done, err := dispatch.Rebuild(home)
		c.Say("%d threads, %d mended, %d unknown removed", done.Threads, done.Changed, done.Removed)
		return err
	}
	path := c.String("config")
	if path == "" && home.Exists("config.yaml") {
		path = home.Path("config.yaml")
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	prompts, err := prompt.Load(cfg.Dispatch.PromptsDir)
	if err != nil {
		return err
	}
	return dispatchWith(c, home, cfg, prompts)
}

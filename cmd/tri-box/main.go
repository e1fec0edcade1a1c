// Tri-box runs an agent under supervision: in a folder that keeps everything, with only the rights
// of its type of run, up to a patch that a person merges.
package main

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"tri/lib/agent/all"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/flow/box"
	"tri/lib/flow/panel"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-box",
	Usage: "run an agent on a task and merge its patch",
	Args:  "command [argument ...]",
	Help: `Every run has a folder under .agents/runs of the checkout. scout, plan, review and
ops change nothing; fix and benchmark work in their own git worktree. The changes
of fix become a patch, which a person merges. NAME is latest, last-fail, or the
beginning of a run's name or id. The task - is read from standard input.

  tri-box scout 'why is the cache cold after a deploy?'
  tri-box fix 'retry must not sleep after the last try' && tri-box merge latest
  tri-box resume last-fail
  tri-box list --json |
      jq -r 'select(.state.status == "REVIEW") | .meta.run_name'`,
	LongRunning: true, // a signal ends the agent, and its work is kept
	Commands: []cli.Program{
		task(box.Scout, "answer a question about the code"),
		task(box.Plan, "plan a change"),
		task(box.Fix, "make a change, as a patch"),
		task(box.Review, "review a change",
			cli.String("since", "review the changes since `COMMIT` (default HEAD)"),
			cli.String("of", "review the patch of the run `NAME`"),
			cli.Bool("panel", "let the personas of tri-panel(1) review it, and write the discussion")),
		task(box.Benchmark, "measure something, in a copy that is discarded"),
		task(box.Ops, "inspect a system with the commands in box.ops_commands"),
		command("resume", "name [words]", "continue an interrupted run, or add words to a running one",
			func(c *cli.Call, b *box.Box) error {
				words := strings.Join(c.Args[1:], " ")
				return b.Work(func() (*box.Run, error) { return b.Resume(c.Context, c.Args[0], words) })
			}, json, verbose),
		command("merge", "name", "apply a run's patch to the checkout", func(c *cli.Call, b *box.Box) error {
			return b.Merge(c.Context, c.Args[0], box.Merge{Check: c.Bool("check"), Yes: c.Bool("yes"),
				Exec: c.Bool("allow-exec"), Secrets: c.Bool("allow-secrets"), Branch: c.Bool("branch"),
				Pull: c.Bool("pr")})
		}, cli.Bool("check", "only show the patch and whether it applies"),
			cli.Bool("yes", "do not ask"), cli.Bool("allow-exec", "allow files to become executable"),
			cli.Bool("allow-secrets", "allow likely secrets"),
			cli.Bool("branch", "commit the patch to a branch, and leave the files unchanged"),
			cli.Bool("pr", "commit the patch to a branch, and open a pull request")),
		command("list", "", "list the runs, newest first",
			func(c *cli.Call, b *box.Box) error { return b.List(c.Int("limit")) },
			json, cli.Int("limit", "list at most `N`; 0 lists all", 20)),
		command("show", "name", "show all details of a run",
			func(c *cli.Call, b *box.Box) error { return b.Show(c.Args[0]) }, json),
		command("tail", "name", "follow a run until it ends",
			func(c *cli.Call, b *box.Box) error { return b.Tail(c.Context, c.Args[0], c.Bool("once")) },
			json, cli.Bool("once", "print the existing output and exit")),
		command("gc", "", "remove worktrees and home folders of finished runs, and remains of killed ones",
			func(c *cli.Call, b *box.Box) error { return b.GC(c.Context, c.Duration("older")) },
			json, &cli.DurationFlag{Name: "older",
				Usage: "abandon runs that have waited this `LONG` to be resumed or merged",
				Value: 7 * 24 * time.Hour}),
	},
}

var (
	json    = cli.Bool("json", "write records")
	verbose = cli.Bool("verbose", "print each action of the agent on stderr")
)

// command returns a command with the common flags. It checks the state of earlier runs first.
func command(name, args, usage string, do func(*cli.Call, *box.Box) error, flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.String("dir", "work on the checkout that contains `DIR` (default the current directory)"),
		cli.Home("use config.yaml in"), cli.Config())
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, Run: func(c *cli.Call) error {
		dir := cmp.Or(c.String("home"), durable.DefaultDir())
		cfg, err := config.ForHome(dir, c.String("config"))
		if err != nil {
			return err
		}
		pays, err1 := box.PaidBy(dir, cmp.Or(os.Getenv("TRI_USER"), os.Getenv("USER"), "somebody"))
		prompts, err2 := prompt.Load(cfg.Dispatch.PromptsDir)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		b, err := box.Open(c.Context, cmp.Or(c.String("dir"), "."),
			box.Box{Config: cfg, Prompts: prompts, New: all.New, Now: time.Now, Pays: pays,
				In: c.In, Out: c.Out, Err: c.Err, Say: c.Notef, JSON: c.Bool("json"),
				Verbose: c.Bool("verbose"), Existing: args != "task"})
		if err != nil {
			return err
		}
		defer b.Close()
		return do(c, b)
	}}
}

func task(kind, usage string, flags ...cli.Flag) cli.Program {
	return command(kind, "task", usage, func(c *cli.Call, b *box.Box) error {
		asked := box.Request{Type: kind, Task: c.Args[0], Since: c.String("since"), Of: c.String("of")}
		if kind == box.Review && c.Bool("panel") {
			return discuss(c, b, asked)
		}
		return b.Work(func() (*box.Run, error) { return b.Start(c.Context, asked) })
	}, append(flags, json, verbose)...)
}

// discuss has personas review a change in place of an agent.
func discuss(c *cli.Call, b *box.Box, asked box.Request) error {
	diff, base, err := b.Change(c.Context, asked)
	if err != nil {
		return err
	}
	home, err := durable.MakeHome(c.String("home"))
	if err != nil {
		return err
	}
	defer home.Close()
	j, err := panel.Open(home, b.Config, cmp.Or(c.String("dir"), "."), all.Supervised)
	if err != nil {
		return err
	}
	j.Out, j.Say = c.Out, c.Notef
	return j.Patch(c.Context, diff, base, c.Args[0])
}

// Tri-escalate runs long investigations in terminals that outlive this program.
package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/all"
	"tri/lib/agent/steer"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/flow/investigate"
	"tri/lib/flow/longrun"
	"tri/lib/record/draft"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-escalate",
	Usage: "run long investigations in persistent terminals",
	Args:  "command [id]",
	Help: `A long run works in a tmux session or, without tmux, in the background. It
continues when the process that started it dies or its user logs out. Its folder
runs/<run id> has its actions (transcript.log), its draft (return.json) and its
outcome (result.json). tri-dispatch starts long runs of the pipeline and waits
for them. An ID is that of a run, the key of its thread, the beginning of either,
or latest.

  tri-escalate start --rubric rubric.md <event.json
  tri-escalate attach latest
  tri-escalate poll --wait | jq .status`,
	Schemas:     []string{"run", "escalation", "state"},
	LongRunning: true, // so that a signal ends the agent too
	Commands: []cli.Program{
		command("start", "[key]", "investigate the question of a thread, or of a record on stdin",
			start,
			cli.String("rubric", "read the criteria for the answer from `FILE`"),
			cli.String("codebase", "read `DIR` instead of the configured codebase")),
		command("list", "", "list all long runs", func(_ *cli.Call, o *longrun.Commands) error {
			return o.Show()
		}),
		command("attach", "id", "show a run live", func(c *cli.Call, o *longrun.Commands) error {
			return o.Watch(c.Context, c.Args[0], c.Bool("write"))
		},
			cli.Bool("write", "pass keyboard input to the run: Control-C ends it")),
		command("poll", "[id ...]", "print the runs that have ended",
			func(c *cli.Call, o *longrun.Commands) error {
				return o.Ended(c.Context, c.Args, c.Bool("wait"))
			},
			cli.Bool("wait", "wait for active runs")),
		command("kill", "id", "end a run", func(c *cli.Call, o *longrun.Commands) error {
			return o.End(c.Context, c.Args[0])
		}),
		command("runner", "id", "execute a run; for internal use", runner),
	},
}

func start(c *cli.Call, o *longrun.Commands) error {
	t, err := o.Thread(c.Args, investigate.Parse)
	if err != nil {
		return err
	}
	t.Codebase = cmp.Or(c.String("codebase"), t.Codebase, o.Config.CodebaseFor(t.Platform, t.ChatID), ".")
	return o.Start(t, c.String("rubric"))
}

func runner(c *cli.Call, o *longrun.Commands) error {
	ctx := c.IgnoreHangup()
	o.Config.Investigator.Home = o.Home.Dir()
	prompts, err2 := prompt.Load(o.Config.Dispatch.PromptsDir)
	finder, err1 := steer.Around(prompts)(all.New(o.Config.Investigator, o.Config.Sandbox))
	inv := investigate.New(finder, prompts, o.Config, o.Home.Dir())
	inv.Servers = o.Config.Servers(true)
	work := func(ctx context.Context, a agent.Agent, j *longrun.Job) (*draft.Return, error) {
		inv.Agent = a
		earlier, err := investigate.Continues(o.Home, j.Thread)
		if err != nil {
			return nil, err
		}
		return inv.Run(ctx, investigate.Request{
			Thread: j.Thread, Codebase: j.Thread.Codebase, Hints: j.Hints, RunDir: j.Dir(),
			SessionID: j.SessionID, Hold: j.LockFile(), Earlier: earlier,
		})
	}
	return (&longrun.Runner{Manager: o.Manager, Agent: finder, Screen: c.Out, Investigate: work,
		Trouble: errors.Join(err1, err2)}).Run(ctx, c.Args[0])
}

func command(name, args, usage string, do func(*cli.Call, *longrun.Commands) error,
	flags ...cli.Flag) cli.Program {
	flags = append(flags, cli.Home("keep everything in"), cli.Config())
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, Run: func(c *cli.Call) error {
		open := durable.OpenHome
		if name == "start" {
			open = durable.MakeHome
		}
		home, cfg, err := config.Home(open, c.String("home"), c.String("config"))
		if err != nil {
			return err
		}
		defer home.Close()
		manager := &longrun.Manager{Home: home, Config: cfg, Now: time.Now}
		return do(c, &longrun.Commands{Manager: manager, In: c.In, Out: c.Out, Say: c.Notef,
			By: cmp.Or(os.Getenv("TRI_USER"), os.Getenv("USER"), "somebody")})
	}}
}

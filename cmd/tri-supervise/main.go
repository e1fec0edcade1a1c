// Tri-supervise keeps the stages of a home's pipeline running: it starts them in order, restarts
// them when they end, and stops them together.
package main

import (
	"encoding/json"
	"fmt"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/subcommand"
	"tri/lib/base/sysexit"
	"tri/lib/flow/supervise"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-supervise",
	Usage: "keep the stages of a pipeline alive",
	Args:  "command [stage]",
	Help: `Runs the pipeline of the configuration, which needs no editing: thread, classify
and dispatch, watch and reply where a chat is configured, and chat where gate.chat
names a channel. Each stage reads the log that the one before it writes, so that
any of them may end at any time; it is started again and goes on where its own
output ends. What a stage says goes to logs/STAGE.log of the home.

  tri-supervise run             stay in front; ^C ends the pipeline
  tri up                        the same, behind your back
  tri-supervise status
  tri-supervise restart dispatch`,
	Stays: true,
	Commands: []cli.Program{
		command("run", "", "run the pipeline until told to stop", run,
			cli.Bool("detach", "go on without a terminal, once every stage is ready")),
		command("status", "", "show each stage", status,
			cli.Bool("json", "write a record")),
		command("restart", "stage", "end a stage and start it again",
			func(c *cli.Call, h *durable.Home) error { return supervise.Restart(h, c.Args[0]) }),
		command("stop", "", "end the pipeline, and wait until it has",
			func(c *cli.Call, h *durable.Home) error { return supervise.Stop(c.Context, h) }),
	},
}

func command(name, args, usage string, do func(*cli.Call, *durable.Home) error,
	flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.Home("the pipeline of"), cli.Config())
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, Run: func(c *cli.Call) error {
		home, err := durable.OpenHome(c.String("home"))
		if err != nil {
			return err
		}
		defer home.Close()
		return do(c, home)
	}}
}

func run(c *cli.Call, home *durable.Home) error {
	if c.String("config") == "" && !home.Exists("config.yaml") {
		return sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("%q has no config.yaml", home.Dir())),
			"tri init writes one")
	}
	cfg, err := config.ForHome(home.Dir(), c.String("config"))
	if err != nil {
		return err
	}
	if len(cfg.On()) == 0 && len(cfg.Pipeline) == 0 {
		c.Say("no chat is configured: nothing comes in, and nothing can be posted")
	}
	if c.Bool("detach") {
		st, err := supervise.Detach(c.Context, home,
			[]string{"run", "--home", home.Dir(), "--config", c.String("config")})
		if err == nil {
			st.Tell(c.Say)
		}
		return err
	}
	return supervise.Run(c.Context, supervise.Options{
		Home: home, Stages: cfg.Stages(home.Dir()), Find: subcommand.Find, Say: c.Say,
		Ready: func() { c.Say("every stage has been started") },
	})
}

func status(c *cli.Call, home *durable.Home) error {
	st, alive, err := supervise.Load(home)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = json.NewEncoder(c.Out).Encode(st)
	} else {
		err = st.Print(c.Out, alive, time.Now())
	}
	if err == nil && !alive {
		err = cli.Quiet
	}
	return err
}

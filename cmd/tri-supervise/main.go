// Tri-supervise keeps the stages of a home's pipeline running: it starts them in order, restarts
// them when they end, and stops them together.
package main

import (
	"fmt"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/subcommand"
	"tri/lib/base/sysexit"
	"tri/lib/flow/supervise"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-supervise",
	Usage: "start the pipeline and restart its stages",
	Args:  "command [stage]",
	Help: `Runs the stages of a home's pipeline; the configuration can change them. Each stage
reads the log of the stage before it and resumes where its own output ends, so a
stage may be killed at any time; it is then restarted. The messages of a stage go
to logs/STAGE.log of the home.

  tri-supervise run             run in the foreground; ^C stops the pipeline
  tri up                        run in the background
  tri-supervise status
  tri-supervise restart dispatch`,
	LongRunning: true,
	Commands: []cli.Program{
		command("run", "", "run the pipeline until stopped", run,
			cli.Bool("detach", "return when every stage has started, and continue in the background")),
		command("status", "", "print the state of each stage", status,
			cli.Bool("json", "write a record")),
		command("restart", "stage", "stop a stage and start it again",
			func(c *cli.Call, h *durable.Home) error { return supervise.Restart(h, c.Args[0]) }),
		command("stop", "", "stop the pipeline and wait for its end",
			func(c *cli.Call, h *durable.Home) error { return supervise.Stop(c.Context, h) }),
	},
}

func command(name, args, usage string, do func(*cli.Call, *durable.Home) error,
	flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.Home("use the home"), cli.Config())
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
		c.Notef("no chat is configured: nothing comes in, and nothing can be posted")
	}
	if len(cfg.Codebases) == 0 {
		c.Notef("no codebase is configured: no question is investigated")
	}
	if c.Bool("detach") {
		st, err := supervise.Detach(c.Context, home,
			[]string{"run", "--home", home.Dir(), "--config", c.String("config")})
		if err == nil {
			st.Tell(c.Notef)
		}
		return err
	}
	return supervise.Run(c.Context, supervise.Options{
		Home: home, Stages: cfg.Stages(home.Dir()), Find: subcommand.Find, Say: c.Notef,
		Ready: func() { c.Notef("every stage has been started") },
	})
}

func status(c *cli.Call, home *durable.Home) error {
	st, alive, err := supervise.Load(home)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = ndjson.Write(c.Out, st)
	} else {
		err = st.Print(c.Out, alive, time.Now())
	}
	if err == nil && !alive {
		err = cli.ErrSilent
	}
	return err
}

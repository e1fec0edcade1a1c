// Tri-report retells what became of any message and why, says what an operator
// needs to know in the morning, and holds the filter against what people say.
package main

import (
	"context"
	"io"
	"time"

	"tri/lib/audit"
	"tri/lib/classify"
	"tri/lib/cli"
	"tri/lib/config"
	"tri/lib/query"
	"tri/lib/report"
	"tri/lib/stream"
	"tri/lib/verify"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-report",
	Usage: "retell what became of a message, what waits, and how good the filter is",
	Args:  "command [arg ...]",
	Help: `Reads the home's logs; audit alone writes, to labels.ndjson.

  tri-report why 142               a message, by its id, or as dev:142
  tri-report brief --since 12h     what waits, what was answered, what failed
  tri-report diff new.yaml         what other rules would change
  tri-report audit                 label dropped messages: misses per 100
  tri-report tune                  which words would mend the misses
  tri-report why 142 --json | jq .outcome`,
	Schemas: []string{"label"},
	Commands: []cli.Program{
		command("why", "message_id", "tell everything about a message, as chat:id where the id alone is not enough", 1, 1, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return report.Why(d.Home, d.Config, c.Args[0], classify.InWords)
		}),
		command("brief", "", "say what waits for a person, what was answered and what failed", 0, 0, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return report.Morning(d.Home, d.Config, d.Now, d.Now.Add(-c.Duration("since"))), nil
		}, back(24*time.Hour)),
		command("week", "", "say what the last seven days brought, beside the seven before", 0, 0, func(_ *cli.Call, d *audit.Desk) (printer, error) {
			return report.LastWeek(d.Home, d.Config, d.Now)
		}),
		command("acceptance", "", "hold AC-01 to AC-11 against what was recorded", 0, 0, func(_ *cli.Call, d *audit.Desk) (printer, error) {
			return report.Accept(d.Home, d.Config, d.Now, d.Missed)
		}),
		command("cost", "", "say what runs took, by agent, question type, person and day", 0, 0, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return report.Spending(d.Home, d.Config, d.Now, d.Now.Add(-c.Duration("since")))
		}, back(7*24*time.Hour)),
		command("trust", "", "say whether automatic replies are earned, and what is missing", 0, 0, func(_ *cli.Call, d *audit.Desk) (printer, error) {
			return report.Trust(d.Home, d.Config, d.Now)
		}),
		command("verify", "", "hold chain, logs, files and threads against each other and their schemas", 0, 0, func(_ *cli.Call, d *audit.Desk) (printer, error) {
			return verify.Home(d.Home)
		}),
		command("html", "", "write a page with plots for a browser, which needs nothing else", 0, 0, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return report.HTML(d.Home, d.Config, d.Now, d.Now.Add(-c.Duration("since")), d.Missed)
		}, back(90*24*time.Hour)),
		command("diff", "config.yaml [events.ndjson ...]", "say what other rules would change in the history", 1, 1<<20, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return d.Diff(c.Context, c.Args[0], c.Args[1:], c.Int("limit"))
		}, &cli.IntFlag{Name: "limit", Usage: "show the newest `N` changes, 0 all", Value: 20}),
		command("audit", "", "label a random sample of the dropped messages and print misses per 100", 0, 0, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return d.Audit(c.Context, audit.Order{Window: c.Duration("window"), Sample: c.Int("sample"), Seed: c.Int64("seed"), Ask: !c.Bool("no-ask")})
		}, &cli.DurationFlag{Name: "window", Usage: "draw from the last `TIME` of the history, 0 from all", Value: 7 * 24 * time.Hour},
			&cli.IntFlag{Name: "sample", Usage: "draw `N` messages", Value: 100},
			&cli.Int64Flag{Name: "seed", Usage: "draw by `N` (default that of the last label, else by the clock)"},
			&cli.StringFlag{Name: "as", Usage: "label as `NAME`", EnvVars: []string{"TRI_USER", "USER"}},
			&cli.BoolFlag{Name: "no-ask", Usage: "only print what the labels say"}),
		command("tune", "", "propose words from the team's own labels and show their effect", 0, 0, func(c *cli.Call, d *audit.Desk) (printer, error) {
			return d.Tune(c.Context, c.Int("most"))
		}, &cli.IntFlag{Name: "most", Usage: "propose at most `N` phrases", Value: 10}),
	},
}

func back(d time.Duration) cli.Flag {
	return &cli.DurationFlag{Name: "since", Usage: "look back for `TIME`", Value: d}
}

// printer is a report for people, or with --json for programs.
type printer interface {
	Print(io.Writer) error
	WriteJSON(io.Writer) error
}

// command is one that takes from least to most arguments and reads a home.
func command(name, args, usage string, least, most int, run func(*cli.Call, *audit.Desk) (printer, error), flags ...cli.Flag) cli.Program {
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: append(flags,
		&cli.StringFlag{Name: "home", Usage: "read the logs in `DIR` (default $TRI_HOME or ~/.tri)"},
		&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the home's config.yaml"},
		&cli.BoolFlag{Name: "json", Usage: "write records"},
	), Run: func(c *cli.Call) error {
		if n := len(c.Args); n < least || n > most {
			return cli.Usagef("%s takes %d arguments, not %d", name, least, n)
		}
		home, err := report.Home(c.String("home"))
		if err != nil {
			return err
		}
		cfg, err := config.ForHome(home.Dir(), c.String("config"))
		if err != nil {
			return err
		}
		r, err := run(c, &audit.Desk{Home: home, Config: cfg, Compile: compile, Words: classify.InWords, In: c.In, Show: c.Err, Say: c.Say, By: c.String("as"), Now: time.Now()})
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return r.WriteJSON(c.Out)
		}
		return r.Print(c.Out)
	}}
}

func compile(cfg *config.Config) (audit.Rules, error) {
	k, err := classify.New(classify.Options{Config: cfg.Classifier, Team: cfg.Team, Compile: func(jq string) (classify.Matcher, error) { return query.Compile(jq) }})
	return func(ctx context.Context, in stream.Input, out io.Writer) error {
		_, err := stream.Run(ctx, in, stream.Output{Stdout: out}, k.Stage())
		return err
	}, err
}

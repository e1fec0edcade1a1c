// Tri-report explains what happened to any message and why, gives the operator an overview, and
// compares filter, validator and home with what was recorded.
package main

import (
	"runtime/debug"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/query"
	"tri/lib/judge/classify"
	"tri/lib/report"
	"tri/lib/report/fsck"
	"tri/lib/report/sample"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name: "tri-report", Args: "command [arg ...]",
	Usage: "report what happened to a message, what waits, costs and quality",
	Help: `Reads the home's logs; only audit writes, to labels.ndjson.

  tri-report why 142               a message, by its id, or as dev:142
  tri-report brief --since 12h     what waits, what was answered, what failed
  tri-report acceptance            criteria: value, interval, pass or fail
  tri-report html >report.html     a page with plots, in one file
  tri-report audit                 label messages: what the filter misses
  tri-report tune                  the same for each value of actionable_from`,
	Schemas: []string{"label"}, Commands: append(reports, filter...),
}

// reports are the commands on what has happened.
var reports = []cli.Program{
	command("why", "message_id",
		"print the history of a message, chat:id if several chats have the id; or a discussion of personas",
		func(c *cli.Call, d *sampler) (printer, error) {
			if all, err := report.Discuss(d.Home, d.Config, c.Args[0]); err != nil || len(all) > 0 {
				return all, err
			}
			return report.Why(d.Home, d.Config, c.Args[0], classify.InWords)
		}),
	command("thread", "key", "print the history of a thread, named by its key or by one of its messages",
		func(c *cli.Call, d *sampler) (printer, error) { return report.Thread(d.Home, d.Config, c.Args[0]) }),
	since("brief", "print what waits for a person, what was answered and what failed", 24*time.Hour,
		func(d *sampler, from time.Time) (printer, error) {
			return report.Morning(d.Home, d.Config, d.Now, from), nil
		}),
	since("cost", "print the cost of runs by agent, question type, person and day", 7*24*time.Hour,
		func(d *sampler, from time.Time) (printer, error) {
			return report.Spending(d.Home, d.Config, d.Now, from)
		}),
	since("html", "write a page with plots for a browser, in one file", 90*24*time.Hour,
		func(d *sampler, from time.Time) (printer, error) {
			return report.HTML(d.Home, d.Config, d.Now, from, d.Missed)
		}),
	command("week", "", "compare the last seven days with the seven before",
		func(_ *cli.Call, d *sampler) (printer, error) { return report.LastWeek(d.Home, d.Config, d.Now) }),
	command("acceptance", "", "check eleven acceptance criteria against the recorded data",
		func(_ *cli.Call, d *sampler) (printer, error) {
			return report.Accept(d.Home, d.Config, d.Now, d.Missed)
		}),
	command("trial", "",
		"show past questions beside drafts and people's answers, after tri-dispatch --shadow",
		func(c *cli.Call, d *sampler) (printer, error) {
			t, err := report.ReadTrial(d.Home, d.Now)
			if err != nil || !c.Bool("html") {
				return t, err
			}
			return t.Page(), nil
		}, cli.Bool("html", "write a page for a browser")),
	command("trust", "", "print whether automatic replies are earned, and what is missing",
		func(_ *cli.Call, d *sampler) (printer, error) { return report.Trust(d.Home, d.Config, d.Now) }),
	command("metrics", "", "write the state of the home as text for Prometheus",
		func(_ *cli.Call, d *sampler) (printer, error) { return report.Measure(d.Home, d.Config, d.Now) }),
	command("verify", "", "check chain, logs, files and threads against each other and their schemas",
		func(_ *cli.Call, d *sampler) (printer, error) { return fsck.Home(d.Home) }),
}

// filter are the commands on how right the filter is.
var filter = []cli.Program{
	command("diff", "config.yaml [events.ndjson ...]", "print which classifications other rules would change",
		func(c *cli.Call, d *sampler) (printer, error) {
			return d.Diff(c.Context, c.Args[0], c.Args[1:], c.Int("limit"))
		}, cli.Int("limit", "show the newest `N` changes, 0 all", 20)),
	command("audit", "", "label a random sample of messages and print what the filter misses",
		func(c *cli.Call, d *sampler) (printer, error) {
			return d.Audit(c.Context, sample.Order{Window: c.Duration("window"), Sample: c.Int("sample"),
				Seed: c.Int64("seed"), Ask: !c.Bool("no-ask"), Actionable: c.Bool("actionable")})
		}, window, cli.Int("sample", "draw `N` messages", 100),
		&cli.Int64Flag{Name: "seed", Usage: "use the seed `N` (default the last label's, else the clock)"},
		cli.Bool("actionable", "draw from the messages classified as actionable"),
		cli.As("label as"), cli.Bool("no-ask", "only print the result of the existing labels")),
	command("tune", "", "print what each value of actionable_from calls and misses, by the labels",
		func(c *cli.Call, d *sampler) (printer, error) {
			return d.Tune(c.Context, c.Duration("window"))
		}, window),
}

var window = &cli.DurationFlag{Name: "window", Usage: "use the last `TIME`, 0 all", Value: 168 * time.Hour}

type (
	printer = report.Printer
	sampler = sample.Sampler
)

// since returns a command that reports on the past.
func since(name, usage string, ago time.Duration, by func(*sampler, time.Time) (printer, error)) cli.Program {
	return command(name, "", usage, func(c *cli.Call, d *sampler) (printer, error) {
		return by(d, d.Now.Add(-c.Duration("since")))
	}, &cli.DurationFlag{Name: "since", Usage: "start `TIME` ago", Value: ago})
}

// command returns a command that reads a home.
func command(name, args, usage string, run func(*cli.Call, *sampler) (printer, error),
	flags ...cli.Flag) cli.Program {
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: append(flags,
		cli.Home("read the home"), cli.Config(), cli.Bool("json", "write records"),
	), Run: func(c *cli.Call) error {
		debug.SetGCPercent(300) // it allocates much, keeps little, and ends soon
		home, cfg, err := report.Home(c.String("home"), c.String("config"))
		if err != nil {
			return err
		}
		r, err := run(c, &sample.Sampler{Home: home, Config: cfg, Compile: compile, Words: classify.InWords,
			In: c.In, Show: c.Err, Say: c.Notef, By: c.String("as"), Now: time.Now()})
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return report.WriteJSON(c.Out, r)
		}
		return r.Print(c.Out)
	}}
}

func compile(cfg *config.Config) (sample.Rules, error) {
	return classify.Rules(cfg, func(jq string) (classify.Matcher, error) { return query.Compile(jq) })
}

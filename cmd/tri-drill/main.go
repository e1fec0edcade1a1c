// Tri-drill plants faults into good returns to test whether the validator catches them, and scores
// the result.
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/report/faults"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-drill",
	Usage: "plant faults in good returns and score the validator",
	Args:  "[file ...]",
	Help: `Reads returns that are known to be good, and writes each of them, followed by one
copy for each kind of fault that fits, with that fault planted: a path that does
not exist, a wrong number, a secret. tri-validate copies the mark of the fault to
its verdict; --score reads the verdicts.

  tri-drill --codebase . returns.ndjson | tri-validate --codebase . |
      tri-drill --score
  tri-drill --faults secret,injection returns.ndjson | jq -r .drill.what
  tri-drill --score --json verdicts.ndjson |
      jq '.faults[] | select(.missed > 0)'

The status of --score is 1 if a fault passed that the cited lines decide, or if none
was caught. The kinds are
` + strings.Join(faults.Faults, " "),
	Schemas: []string{"return", "verdict", "drill"},
	Flags: []cli.Flag{
		cli.String("codebase", "the returns cite the code in `DIR` (default the current directory)"),
		cli.String("faults", "plant the kinds in `LIST`, separated by commas (default all)"),
		&cli.Int64Flag{Name: "seed", Usage: "use the seed `N`; the same seed plants the same faults",
			Value: 1},
		cli.Bool("score", "read verdicts and count the faults that were caught"),
		cli.Bool("json", "with --score, write a record"),
		cli.String("home",
			"with --score, append to drills.ndjson of `DIR` (default $TRI_HOME or ~/.tri, if it exists)"),
		cli.String("rejects", "append refused records to `FILE`"),
	},
	Run: run,
}

func run(c *cli.Call) error {
	in := stream.Input{
		Files: c.Args, Stdin: c.In, After: -1, Rejects: c.String("rejects"), Say: c.Notef,
		Progress: term.NewProgress(c.Err, c.Out, "returns"),
	}
	if c.Bool("score") {
		return score(c, in)
	}
	d := faults.Drill{Seed: c.Int64("seed"), TeamSecret: os.Getenv("TRI_DRILL_SECRET"), Out: c.Out, Say: c.Notef}
	if list := c.String("faults"); list != "" {
		d.Faults = strings.Split(list, ",")
	}
	for _, f := range d.Faults {
		if !slices.Contains(faults.Faults, f) {
			return sysexit.Hint(cli.Usagef("--faults: there is no kind %q", f),
				"it is one of "+strings.Join(faults.Faults, " "))
		}
	}
	root, err := os.OpenRoot(cmp.Or(c.String("codebase"), "."))
	if err != nil {
		return sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	defer root.Close()
	d.Root = root
	return d.Each(c.Context, in)
}

func score(c *cli.Call, in stream.Input) error {
	s, err := faults.Read(c.Context, in)
	if err != nil {
		return err
	}
	s.Stamp(cli.Version(), time.Now())
	if err := s.Keep(c.String("home")); err != nil {
		return err
	}
	if c.Bool("json") {
		if err := ndjson.Write(c.Out, s); err != nil {
			return err
		}
	} else if err := s.Table(c.Out); err != nil {
		return err
	}
	if !s.Ok() {
		return cli.ErrSilent
	}
	return nil
}

// Tri-drill plants faults into good returns, to see whether the validator catches
// them, and scores what it caught.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"tri/lib/cli"
	"tri/lib/drill"
	"tri/lib/stream"
	"tri/lib/sysexit"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-drill",
	Usage: "plant faults into good returns and score who catches them",
	Args:  "[file ...]",
	Help: `Reads returns that are known to be good and writes each of them, followed by
three copies with a fault planted: a path that is not there (bad_path), lines that
are not there or are others (bad_line), a quote that is not so (bad_content). Each
is marked, tri-validate copies the mark into its verdict, and --score reads those.

  tri-drill --codebase . returns.ndjson | tri-validate --codebase . | tri-drill --score

--score prints a table on stderr and a JSON object on stdout, and ends with status
1 when a fault passed, or when no good return did.`,
	Schemas: []string{"return", "verdict"},
	Flags: []cli.Flag{
		&cli.StringFlag{Name: "codebase", Usage: "the returns cite `DIR` (default the current directory)"},
		&cli.Int64Flag{Name: "seed", Usage: "plant the faults of `N`; the same number, the same faults", Value: 1},
		&cli.BoolFlag{Name: "score", Usage: "read verdicts and count what was caught"},
		&cli.StringFlag{Name: "rejects", Usage: "append refused records to `FILE`"},
	},
	Run: run,
}

func run(c *cli.Call) error {
	in := stream.Input{Files: c.Args, Stdin: c.In, After: -1, Rejects: c.String("rejects"), Say: c.Say}
	if c.Bool("score") {
		return score(c, in)
	}
	root, err := os.OpenRoot(cmp.Or(c.String("codebase"), "."))
	if err != nil {
		return sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	defer root.Close()
	d := drill.Drill{Root: root, Seed: c.Int64("seed"), Out: c.Out, Say: c.Say}
	return d.Each(c.Context, in)
}

func score(c *cli.Call, in stream.Input) error {
	s, err := drill.Read(c.Context, in)
	if err != nil {
		return err
	}
	s.Table(c.Err)
	line, err := json.Marshal(s)
	if err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("write score: %w", err))
	}
	if _, err := c.Out.Write(append(line, '\n')); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write score: %w", err))
	}
	if !s.Ok() {
		return cli.Quiet
	}
	return nil
}

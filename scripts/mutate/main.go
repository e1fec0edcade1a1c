// Mutate changes the code of our packages in every small way that should matter,
// one at a time, and runs their tests on each change: a mutant that no test
// notices says where a bug could live unseen.
//
//	mutate                     all packages of the list below
//	mutate lib/base/durable            one
//	mutate -every 20 -seed 3   a twentieth of the mutants, for a machine in a hurry
//	mutate -for 10m            as many of each package as that time allows
//
// All mutants of a package are compiled into one test binary, each behind a number
// that the environment chooses, by an overlay that leaves the checkout alone: a
// package is built once, and a mutant costs one run of the tests that reach it. (The
// maintained mutators, such as gremlins, compile once for each.) The same code gives
// the same mutants under the same names. A mutant's tests run in a copy of their
// folder, with another home; what they name by a path from the root is not fenced.
//
// It prints a table, and the survivors in the form of the file survivors, which has
// the reasons why some may live. It ends with status 1 when too few are killed, or
// one survives without a reason.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"text/tabwriter"
	"time"
)

// subjects are the packages whose tests must be able to fail, each with others
// whose tests are also asked about what its own let live.
var subjects = []struct {
	dir  string
	with []string
}{
	{"lib/base/ndjson", nil},
	{"lib/base/stream", nil},
	{"lib/base/durable", nil},
	{"lib/record/thread", nil},
	{"lib/judge/classify", nil},
	{"lib/flow/validate", nil},
	{"lib/record/outbox", nil},
	{"lib/record/decision", nil},
}

type options struct {
	least   float64
	every   uint64
	seed    uint64
	jobs    int
	reasons string
	out     string
	again   string
	only    *regexp.Regexp
	list    bool
	most    time.Duration
}

func main() {
	var o options
	only := flag.String("only", "", "mutants whose name (as in the survivors' file) matches this expression")
	flag.Float64Var(&o.least, "least", 85, "per cent that must be killed in each package")
	flag.Uint64Var(&o.every, "every", 1, "take one mutant of this many")
	flag.Uint64Var(&o.seed, "seed", 0, "which ones")
	flag.IntVar(&o.jobs, "jobs", 1, "mutants that are run at the same time")
	flag.StringVar(&o.reasons, "reasons", "scripts/mutate/survivors", "file of survivors that have a reason")
	flag.StringVar(&o.out, "out", "", "write the survivors to this file, as NDJSON")
	flag.StringVar(&o.again, "again", "", "only the survivors that an earlier run wrote to this file")
	flag.DurationVar(&o.most, "for", 0,
		"the longest that a package's mutants are run, in an order that makes those a fair sample; 0: to the end")
	flag.BoolVar(&o.list, "list", false, "print the mutants and run nothing")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, o, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "mutate: %v\n", err)
		os.Exit(1)
	}
}

func mutate(ctx context.Context, o options, dirs []string) error {
	known, err := readReasons(o.reasons)
	if err != nil {
		return err
	}
	keep, err := choice(o)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var rows []*row
	for _, s := range chosen(dirs) {
		r, err := examine(ctx, o, s, filepath.Join(tmp, filepath.Base(s.dir)), keep)
		if err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
		rows = append(rows, r)
	}
	if o.list {
		return nil
	}
	return report(o, rows, known)
}

type subject = struct {
	dir  string
	with []string
}

// chosen are the subjects named, or all.
func chosen(dirs []string) (all []subject) {
	for _, s := range subjects {
		if len(dirs) == 0 {
			all = append(all, s)
		}
	}
	for _, dir := range dirs {
		one := subject{dir: filepath.ToSlash(filepath.Clean(dir))}
		for _, s := range subjects {
			if s.dir == one.dir {
				one = s
			}
		}
		all = append(all, one)
	}
	return all
}

// choice says which mutants are run.
func choice(o options) (func(*mutant) bool, error) {
	var before map[string]bool
	if o.again != "" {
		f, err := os.Open(o.again)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		before = map[string]bool{}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var m mutant
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				return nil, fmt.Errorf("read %s: %w", o.again, err)
			}
			before[m.Name] = true
		}
	}
	return func(m *mutant) bool {
		return (before == nil || before[m.Name]) && o.only.MatchString(m.Name) &&
			(m.hash()+o.seed)%max(o.every, 1) == 0
	}, nil
}

// row is what became of a package's mutants, or of those that were run.
type row struct {
	dir                        string
	all, mutants               int
	killed, timedOut, survived int
	notReached                 int
	took                       time.Duration
	survivors                  []*mutant
	every                      []*mutant // whether it was run or not
}

func (r *row) percent() float64 {
	if r.mutants == 0 {
		return 100
	}
	return 100 * float64(r.killed+r.timedOut) / float64(r.mutants)
}

// report prints the table, writes the survivors, and says what is wrong.
func report(o options, rows []*row, known *reasons) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "package\tmutants\trun\tkilled\ttimed out\tsurvived\tnot reached\t%\ttook\t")
	var problems []error
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%v\t\n", r.dir, r.all, r.mutants, r.killed,
			r.timedOut, r.survived, r.notReached, r.percent(), r.took.Round(time.Second))
		if r.percent() < o.least && r.mutants == r.all {
			problems = append(problems, fmt.Errorf("%s: %.1f %% killed, at least %.0f %% must be", r.dir,
				r.percent(), o.least))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var all []*mutant
	for _, r := range rows {
		all = append(all, r.survivors...)
		for _, name := range known.stale(r.dir, r.every) {
			problems = append(problems, fmt.Errorf("a reason for no mutant: %s", name))
		}
	}
	fmt.Print(known.count(all))
	for _, m := range all {
		if m.Reason == "" {
			problems = append(problems, fmt.Errorf("no reason: %s:%d (%s)\n%s", m.File, m.Line, m.Op, m.Name))
		}
	}
	if o.out != "" {
		problems = append(problems, writeSurvivors(o.out, all))
	}
	return errors.Join(problems...)
}

func writeSurvivors(file string, all []*mutant) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	for _, m := range all {
		if err := enc.Encode(m); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

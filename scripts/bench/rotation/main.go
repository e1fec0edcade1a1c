// Rotation puts programs that follow a log through the same procedures (rotation
// in two ways, a reader that is down, stopped or killed, broken and partial lines,
// an inode used again) and counts the records that each one lost, doubled or tore.
//
//	rotation [-bin DIR] [-tools DIR] [-only NAME,...] [-lines N] [-seed N]
//
// Programs that are not on PATH or in -tools are left out and named; see
// scripts/bench/rotation/run. It ends with status 1 when ours loses, doubles or
// tears one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of our programs")
	flag.StringVar(&o.tools, "tools", "", "folder with the others, as Debian's packages unpack")
	flag.StringVar(&o.only, "only", "", "programs, with commas; all")
	flag.StringVar(&o.procedure, "procedure", "", "procedures, with commas; all")
	flag.IntVar(&o.lines, "lines", 2000, "records of a procedure")
	flag.IntVar(&o.runs, "runs", 1, "how often: shown is the best run of the others, and the worst of ours")
	flag.Uint64Var(&o.seed, "seed", 1, "of the random choices")
	flag.BoolVar(&o.keep, "keep", false, "leave the folders behind")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "rotation:", err)
		os.Exit(1)
	}
}

const legend = `
%d records a procedure, seed %d. -N: so many were lost; +N: came out twice; ~N: came out
torn; !N: the program refused to go on, with this status, and was started again;
*: that did not help, and a person did what it said. ok: all came out, once, whole.

%-14s`

type options struct {
	bin, tools, only, procedure string
	lines, runs                 int
	seed                        uint64
	keep                        bool
}

func run(o options) error {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	if o.tools, err = filepath.Abs(o.tools); err != nil {
		return err
	}
	var here []*follower
	for _, f := range followers(bin, o.tools) {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), f.name) {
			continue
		}
		if !f.find(o.tools) {
			fmt.Printf("%-14sis not here\n", f.name)
			continue
		}
		fmt.Printf("%-14s%s\n", f.name, f.says())
		here = append(here, f)
	}
	fmt.Printf(legend, o.lines, o.seed, "")
	for _, f := range here {
		fmt.Printf("%-14s", f.name)
	}
	fmt.Println()
	var wrong []string
	for _, pr := range procedures {
		if o.procedure != "" && !slices.Contains(strings.Split(o.procedure, ","), pr.name) {
			continue
		}
		fmt.Printf("%-14s", pr.name)
		for _, f := range here {
			r := repeated(o, pr, f)
			if f.mend != nil && (r.err != nil || !r.clean()) {
				wrong = append(wrong, f.name+" "+pr.name)
			}
			fmt.Printf("%-14s", r.cell)
		}
		fmt.Println()
	}
	if wrong != nil {
		return errors.New("ours went wrong: " + strings.Join(wrong, ", "))
	}
	return nil
}

// result is how a program has fared.
type result struct {
	tally
	cell string
	err  error
}

func (r result) harm() int {
	if r.err != nil {
		return 1 << 30
	}
	return r.lost + r.twice + r.torn
}

// repeated tries as often as asked: a busy machine makes others lose more than they
// must, and ours may lose nothing in any.
func repeated(o options, pr procedure, f *follower) (r result) {
	for i := range max(o.runs, 1) {
		one := try(o, pr, f)
		if i == 0 || f.mend == nil && one.harm() < r.harm() || f.mend != nil && one.harm() > r.harm() {
			r = one
		}
		o.seed++
	}
	return r
}

// try runs one procedure with one program.
func try(o options, pr procedure, f *follower) (r result) {
	dir, err := os.MkdirTemp("", "rotation")
	if err != nil {
		return result{err: err, cell: "? " + err.Error()}
	}
	if o.keep {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", f.name, pr.name, dir)
	} else {
		defer os.RemoveAll(dir)
	}
	w, err := newWorld(dir, o.seed)
	if err != nil {
		return result{err: err, cell: "? " + err.Error()}
	}
	defer func() { w.f.Close() }()
	w.fixed = pr.name == "same inode"
	p := &process{follower: f, w: w}
	if err = p.start(); err == nil {
		// The first records come out before anything happens: it reads, then.
		err = all(p.writes(20), p.settle, func() error { return pr.run(p, o.lines) }, p.settle)
		err = errors.Join(err, p.end(sigterm))
	}
	r = result{tally: w.judge(p.texts()), err: err}
	if r.cell = r.words(p); err != nil {
		r.cell = "? " + err.Error()
	}
	return r
}

// words are a tally in few letters.
func (t tally) words(p *process) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{t.lost, "-"}, {t.twice, "+"}, {t.torn, "~"}} {
		if part.n > 0 {
			parts = append(parts, part.what+fmt.Sprint(part.n))
		}
	}
	if len(parts) == 0 {
		parts = []string{"ok"}
	}
	if len(p.stops) > 0 {
		parts = append(parts, "!"+p.stops[0])
	}
	if p.hand {
		parts = append(parts, "*")
	}
	return strings.Join(parts, " ")
}

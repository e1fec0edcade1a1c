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
	lines                       int
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
			cell, clean, err := try(o, pr, f)
			if err != nil {
				cell = "? " + err.Error()
			}
			if f.mend != nil && !clean {
				wrong = append(wrong, f.name+" "+pr.name)
			}
			fmt.Printf("%-14s", cell)
		}
		fmt.Println()
	}
	if wrong != nil {
		return errors.New("ours went wrong: " + strings.Join(wrong, ", "))
	}
	return nil
}

// try runs one procedure with one program.
func try(o options, pr procedure, f *follower) (cell string, clean bool, err error) {
	dir, err := os.MkdirTemp("", "rotation")
	if err != nil {
		return "", false, err
	}
	if o.keep {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", f.name, pr.name, dir)
	} else {
		defer os.RemoveAll(dir)
	}
	w, err := newWorld(dir, o.seed)
	if err != nil {
		return "", false, err
	}
	defer func() { w.f.Close() }()
	p := &process{follower: f, w: w}
	if err := p.start(); err != nil {
		return "", false, err
	}
	w.fixed = pr.name == "same inode"
	// The first records come out before anything happens: it reads, then.
	err = all(p.writes(20), p.settle, func() error { return pr.run(p, o.lines) })
	if err == nil {
		err = p.settle()
	}
	err = errors.Join(err, p.end(sigterm))
	t := w.judge(p.texts())
	return t.cell(p), t.clean() && err == nil, err
}

// cell is a tally in few letters.
func (t tally) cell(p *process) string {
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

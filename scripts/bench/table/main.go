// Table measures what our programs cost beside what a user would otherwise run, all
// in one run and in turns, and prints one table of ratios. With names of parts, only
// those.
//
//	table [-bin DIR] [-chat DIR] [-rules FILE] [-rounds N] [-long] [-format table|benchstat] [-plots DIR] [part ...]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// bench is one run of it.
type bench struct {
	bin    string // folder of our programs
	chat   string // folder of chat as events
	rules  string // the jq filter that a user would otherwise run
	rounds int
	long   bool
	work   string // a folder that goes away at the end

	groups []*group
	part   string // that runs now
}

// part is one thing that is measured.
type part struct {
	name, about string
	run         func(*bench) error
}

// parts are all, in the table's order.
var parts = []part{
	{"classify", "a file of events through the filter, beside jq, gojq, Miller, sha256sum and cat",
		(*bench).classify},
	{"follow", "from a line appended to its line out, beside tail -F | jq --unbuffered", (*bench).follow},
	{"draft", "from a line appended to its draft offered, by closed threads", (*bench).draft},
	{"dispatch", "the dispatcher's start, events and memory, by closed threads", (*bench).dispatch},
	{"append", "durable append, beside fsync per line and none", (*bench).durable},
	{"start", "start-up and size of each program", (*bench).start},
	{"memory", "peak memory, by events", (*bench).memory},
	{"tokens", "what an agent reads of an investigation", (*bench).tokens},
	{"reports", "tri-report on 90 days, beside cat of the logs that it reads", (*bench).reports},
	{"box", "tri-box, beside the program that it runs", (*bench).box},
}

func main() {
	var b bench
	flag.StringVar(&b.bin, "bin", "bin", "folder of our programs")
	flag.StringVar(&b.chat, "chat", "../shared/data/chat", "folder of chat as events")
	flag.StringVar(&b.rules, "rules", "../shared/bench/seed-rules.jq", "the jq filter to compare with")
	flag.IntVar(&b.rounds, "rounds", 5, "samples of what is quick")
	flag.BoolVar(&b.long, "long", false,
		"up to a million threads and ten million events; takes half an hour and 10 GB of disk")
	format := flag.String("format", "table", "table or benchstat")
	plots := flag.String("plots", "", "draw cost against size into this folder, as SVG")
	flag.Usage = usage
	flag.Parse()
	if err := b.run(*format, *plots, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: table [option ...] [part ...]\n\nparts:")
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", p.name, p.about)
	}
	fmt.Fprintln(os.Stderr, "\nOptions:")
	flag.PrintDefaults()
}

func (b *bench) run(format, plots string, names []string) (failed error) {
	write, ok := formats[format]
	if !ok {
		return fmt.Errorf("-format %q: table or benchstat", format)
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	if err := b.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		b.part = p.name
		began := time.Now()
		if err := p.run(b); err != nil { // the others are worth having
			b.group("failed", seconds).lacks("-", err.Error())
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		fmt.Fprintf(os.Stderr, "%s: %s (%.0f s)\n", p.name, p.about, time.Since(began).Seconds())
	}
	if plots != "" {
		if err := drawAll(plots, b.groups); err != nil {
			return err
		}
	}
	return errors.Join(failed, write(os.Stdout, b.groups))
}

// prepare finds what is needed, and gives our programs a home that is empty.
func (b *bench) prepare() (err error) {
	for _, path := range []*string{&b.bin, &b.chat, &b.rules} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
		if _, err := os.Stat(*path); err != nil {
			return err
		}
	}
	if b.work, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(b.work, "home"), 0o700); err != nil {
		return err
	}
	return os.Setenv("TRI_HOME", filepath.Join(b.work, "home"))
}

// group begins one of the part that runs.
func (b *bench) group(what string, u unit) *group {
	g := &group{part: b.part, what: what, unit: u}
	b.groups = append(b.groups, g)
	return g
}

// sized is group at a size.
func (b *bench) sized(what string, u unit, n int, axis string) *group {
	g := b.group(what, u)
	g.size, g.axis = n, axis
	return g
}

// ours is the path of one of our programs.
func (b *bench) ours(name string) string { return filepath.Join(b.bin, name) }

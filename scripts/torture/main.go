// Torture runs the real programs over a chat and kills, stops, fails or misleads
// them wherever it can, and then counts what was lost, doubled, swapped or left
// stuck. "torture" alone says in which ways; "torture all -hours N" goes through all
// of them, with other seeds each time.
//
// It ends with status 1 when anything is wrong, and with 69 when this machine has
// not what it needs: strace for syscalls and power, root and loop devices for
// power and full, Go for model, clock and soak.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	bin      string // folder of the programs
	rounds   int
	faces    bool
	messages int
	seed     uint64
	chat     string // local or mattermost
	only     string // syscalls: one program
	sandbox  string
	keep     bool
	wait     time.Duration
	rest     time.Duration
	mounts   string // power: file systems
	hours    float64
	span     time.Duration
	warped   string // clock, soak, disturbed: folder of the programs with another clock
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of the programs")
	flag.IntVar(&o.rounds, "rounds", 500, "kills")
	flag.IntVar(&o.messages, "messages", 200, "chat messages")
	flag.Uint64Var(&o.seed, "seed", 1, "of the random choices")
	flag.StringVar(&o.chat, "chat", "local",
		"local or mattermost (a fake server that drops and delays answers)")
	flag.StringVar(&o.only, "only", "", "one program, or one part of nats, instead of all")
	flag.StringVar(&o.sandbox, "sandbox", "off", "box: required puts walls around the agent")
	flag.BoolVar(&o.faces, "faces", false, "supervise: the page and the cards in a channel too")
	flag.BoolVar(&o.keep, "keep", false, "leave the folders behind")
	flag.DurationVar(&o.wait, "wait", 2*time.Minute, "longest that all may take to come to rest")
	flag.DurationVar(&o.rest, "rest", 10*time.Second, "supervise: how long the pipeline is watched at rest")
	flag.StringVar(&o.mounts, "mounts", systems, "power, full: file systems, FS[:MOUNT OPTION]... each")
	flag.DurationVar(&o.span, "span", 24*time.Hour,
		"soak: how long the life is, by its own clock; it takes -rounds seconds")
	flag.StringVar(&o.warped, "warped", "",
		"clock, soak, disturbed: `folder` for the programs with another clock, built where it has none (default: one that goes again)")
	flag.Float64Var(&o.hours, "hours", 0,
		"all, power: for how long at most; 0 is each part once, and all rounds")
	if len(os.Args) > 3 && os.Args[1] == "words-part" {
		if err := wordsPart(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "torture words:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) < 2 {
		usage()
		os.Exit(64)
	}
	flag.CommandLine.Parse(os.Args[2:]) // exits by itself when an option is wrong
	run := all
	if p := partOf(os.Args[1]); p != nil {
		run = p.run
	} else if os.Args[1] != "all" {
		fmt.Fprintf(os.Stderr, "torture: unknown command %q\n", os.Args[1])
		usage()
		os.Exit(64)
	}
	if err := o.absolute(); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(66)
	}
	if err := run(o); errors.Is(err, errSkip) {
		fmt.Fprintf(os.Stderr, "torture %s: %v\n", os.Args[1], err)
		os.Exit(skipped)
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "torture: %v\n", err)
		os.Exit(1)
	}
}

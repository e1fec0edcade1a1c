// Torture runs the real programs over a chat and kills, or fails, them wherever
// it can, and then counts what was lost, doubled, swapped or left stuck.
//
//	torture kill      kill -9 of every stage at random instants
//	torture supervise kill -9 of the stages of a supervised pipeline, under load
//	torture box       kill -9 of tri-box and the agents that it supervises
//	torture syscalls  kill, EIO and ENOSPC at every system call of the write paths
//	torture power     power cuts of the machine, on several file systems
//	torture full      a disk that is full, and later has room
//
// It ends with status 1 when anything is wrong, and with 69 when this machine has
// not what it needs: strace for syscalls and power, root and loop devices for
// power and full.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	span     time.Duration
	warped   string // clock, soak: folder of programs that are built with another clock
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of the programs")
	flag.IntVar(&o.rounds, "rounds", 500, "kills")
	flag.IntVar(&o.messages, "messages", 200, "chat messages")
	flag.Uint64Var(&o.seed, "seed", 1, "of the random choices")
	flag.StringVar(&o.chat, "chat", "local", "local or mattermost (a fake server that drops and delays answers)")
	flag.StringVar(&o.only, "only", "", "one program instead of all")
	flag.StringVar(&o.sandbox, "sandbox", "off", "box: required puts walls around the agent")
	flag.BoolVar(&o.faces, "faces", false, "supervise: the page and the cards in a channel too")
	flag.BoolVar(&o.keep, "keep", false, "leave the folders behind")
	flag.DurationVar(&o.wait, "wait", 2*time.Minute, "longest that all may take to come to rest")
	flag.DurationVar(&o.rest, "rest", 10*time.Second, "supervise: how long the pipeline is watched at rest")
	flag.StringVar(&o.mounts, "mounts", systems, "power, full: file systems, FS[:MOUNT OPTION]... each")
	flag.DurationVar(&o.span, "span", 24*time.Hour, "soak: how long the life is, by its own clock; it takes -rounds seconds")
	flag.StringVar(&o.warped, "warped", "", "clock, soak: folder of programs that are built as warp.go builds them (default: build them)")
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: torture kill|supervise|syscalls|box|power|full [option ...]")
		os.Exit(64)
	}
	flag.CommandLine.Parse(os.Args[2:]) // exits by itself when an option is wrong
	o.bin, _ = filepath.Abs(o.bin)      // a relative path is as good when there is no working folder
	run := map[string]func(options) error{"kill": kill, "supervise": supervise, "syscalls": syscalls, "box": boxed, "power": power, "full": full, "follow": follow, "clock": clockJumps, "stop": stop, "readers": readers, "soak": soak}[os.Args[1]]
	if run == nil {
		fmt.Fprintf(os.Stderr, "torture: unknown command %q\n", os.Args[1])
		os.Exit(64)
	}
	if err := run(o); errors.Is(err, errSkip) {
		fmt.Fprintf(os.Stderr, "torture %s: %v\n", os.Args[1], err)
		os.Exit(69)
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "torture: %v\n", err)
		os.Exit(1)
	}
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// part is one way to torture.
type part struct {
	name string
	says string
	run  func(options) error
	size func(o *options) // of one turn in all, some tens of seconds
}

var parts = []part{
	{"kill", "kill -9 of every stage at random instants", kill, func(o *options) {
		o.rounds, o.messages = 120, 60
	}},
	{"disturbed", "kill, while clock, disk, descriptors and lock files are disturbed", disturbed,
		func(o *options) { o.rounds, o.messages = 60, 40 }},
	{"supervise", "kill -9 of the stages of a supervised pipeline, under load", supervise, func(o *options) {
		o.rounds, o.messages, o.rest = 25, 40, time.Second
	}},
	{"box", "kill -9 of tri-box and the agents that it supervises", boxed, func(o *options) {
		o.rounds = 15
	}},
	{"words", "kill -9 of who tells a run things, who supervises it and its agent", saidToRuns,
		func(o *options) { o.rounds = 200 }},
	{"crowd", "kill -9 of a dispatcher and its 8 workers over many questions; one person's flood", crowd,
		func(o *options) { o.rounds, o.messages, o.wait = 40, 300, 5*time.Minute }},
	{"stop", "SIGSTOP of the stages for a while, and second instances of them", stop, func(o *options) {
		o.rounds, o.messages = 100, 80
	}},
	{"readers", "slow readers of what programs print, and such as go away", readers, func(o *options) {
		o.messages = 80
	}},
	{"model", "sequences of what happens to a log, against a model, in one process", model, func(o *options) {
		o.rounds = 5000
	}},
	{"follow", "the same with the real programs", follow, func(o *options) { o.rounds = 150 }},
	{"clock", "the clock is set, back and forth", clockJumps, func(o *options) {
		o.rounds, o.messages = 4, 40
	}},
	{"soak", "a day by a clock that goes fast, and what it leaves behind", soak, func(o *options) {
		o.rounds, o.messages = 120, 200
	}},
	{"syscalls", "kill, EIO and ENOSPC at every system call of the write paths", syscalls, func(*options) {}},
	{"power", "power cuts of the machine, on several file systems", power, func(o *options) {
		o.rounds = 60
	}},
	{"flips", "one changed byte or line of one file, then a full cycle with approvals and posts", flips,
		func(o *options) { o.rounds, o.messages = 150, 8 }},
	{"nats", "kill -9 of publisher, copy, workers, dispatcher and NATS servers, and servers that lose their disk", overNats, func(o *options) { o.rounds = 60 }},
	{"full", "a disk that is full, and later has room", full, func(o *options) { o.rounds = 1 }},
}

func partOf(name string) *part {
	for i := range parts {
		if parts[i].name == name {
			return &parts[i]
		}
	}
	return nil
}

// counts are what was looked at so far, and what was wrong with it.
type counts struct{ messages, posts, lost, doubled int }

var (
	counted  counts
	counting sync.Mutex
)

func count(c counts) {
	counting.Lock()
	defer counting.Unlock()
	counted.messages += c.messages
	counted.posts += c.posts
	counted.lost += c.lost
	counted.doubled += c.doubled
}

// turnsOf is how a part has fared.
type turnsOf struct {
	counts
	turns   int
	took    time.Duration
	skipped error
}

// all goes through every part again and again, each time with seeds of its own,
// until the hours are over or something is wrong.
func all(o options) error {
	return withWarped(o, func(with options) error {
		o.warped = with.bin
		return cycle(o, time.Now().Add(time.Duration(o.hours*float64(time.Hour))))
	})
}

func cycle(o options, end time.Time) (err error) {
	fared := make([]turnsOf, len(parts))
	for turn := 0; err == nil && (turn == 0 || time.Now().Before(end)); turn++ {
		for i, p := range parts {
			if fared[i].skipped != nil || turn > 0 && time.Now().After(end) ||
				o.only != "" && o.only != p.name {
				continue
			}
			mine := o
			mine.only = ""
			p.size(&mine)
			mine.seed = o.seed + uint64(turn)*100_000
			before, began := counted, time.Now()
			fmt.Printf("\ntorture %s -seed %d -rounds %d -messages %d\n", p.name, mine.seed, mine.rounds,
				mine.messages)
			err = p.run(mine)
			f := &fared[i]
			f.took += time.Since(began)
			f.add(before)
			if errors.Is(err, errSkip) {
				f.skipped, err = err, nil
				continue
			}
			f.turns++
			if err != nil {
				err = fmt.Errorf("%s -seed %d -rounds %d -messages %d: %w", p.name, mine.seed, mine.rounds,
					mine.messages, err)
				break
			}
		}
	}
	printFared(fared)
	return err
}

func (t *turnsOf) add(before counts) {
	t.messages += counted.messages - before.messages
	t.posts += counted.posts - before.posts
	t.lost += counted.lost - before.lost
	t.doubled += counted.doubled - before.doubled
}

func printFared(fared []turnsOf) {
	fmt.Printf("\n%-10s %6s %9s %9s %9s %6s %8s\n", "part", "turns", "seconds", "messages", "posts",
		"lost", "doubled")
	for i, f := range fared {
		if f.turns == 0 && f.skipped == nil && f.took == 0 {
			continue
		}
		if f.skipped != nil {
			fmt.Printf("%-10s %v\n", parts[i].name, f.skipped)
			continue
		}
		fmt.Printf("%-10s %6d %9.0f %9d %9d %6d %8d\n", parts[i].name, f.turns, f.took.Seconds(), f.messages,
			f.posts, f.lost, f.doubled)
	}
}

// model runs lib/base/stream's own test, with more sequences than it has by itself.
func model(o options) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout=24h", "-v", "-run=TestFollowModel",
		"./lib/base/stream", "-sequences", fmt.Sprint(o.rounds), "-seed", fmt.Sprint(o.seed))
	out, err := cmd.CombinedOutput()
	fmt.Printf("model: %s\n", lastLines(out))
	return err
}

var saying = regexp.MustCompile(`(?m)^(=== .*|--- PASS.*|PASS|ok .*)\n|^ +sequence_test.go:\d+: `)

// lastLines are those of a test's words that say something of their own.
func lastLines(out []byte) string {
	return string(saying.ReplaceAll(out, nil))
}

// absolute makes the folders of the programs hold wherever they are started.
func (o *options) absolute() (err error) {
	if o.bin, err = filepath.Abs(o.bin); err == nil && o.warped != "" {
		o.warped, err = filepath.Abs(o.warped)
	}
	return err
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: torture PART|all [option ...]")
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", p.name, p.says)
	}
	fmt.Fprintln(os.Stderr, "  all        every part, again and again, for -hours; -only PART for one")
}

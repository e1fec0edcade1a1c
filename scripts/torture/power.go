package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// perLife is how often the power is cut in one life of a home; the first of them
// falls into its first start.
const perLife = 12

// tally is what one file system came to.
type tally struct {
	lives, cuts, first, slow int
	exits                    int   // cuts right behind a status 0
	kills                    int   // of programs, between cuts
	told                     facts // held to it
	lost                     int   // of them
	faults                   []string
}

// power cuts the power of a machine on which the whole pipeline runs, again and
// again: everything on it is stopped, what stands on the disk at that instant is
// copied, and then killed; the machine starts with the copy. What was told to
// anybody before must be there, and when nothing moves any more, nothing may be
// lost, doubled, or unreadable. The chat and the people are elsewhere: they
// remember. Some of the lives have a slow disk.
func power(o options) error { return mounting("power", o, cutPower) }

func cutPower(o options) error {
	all := map[string]*tally{}
	var names []string
	for name := range strings.SplitSeq(o.mounts, ",") {
		s, err := parseSystem(name)
		if err != nil {
			return err
		}
		if err := s.missing(); err != nil {
			fmt.Printf("%s: %v\n", name, err)
			continue
		}
		names = append(names, name)
		if all[name], err = opening(o, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: no file system can be made", errSkip)
	}
	err := lives(o, names, all)
	if faults := table(names, all); faults > 0 {
		err = errors.Join(err, fmt.Errorf("%d faults", faults))
	}
	return err
}

// opening makes sure that a loss would be seen on a file system, and cuts the power
// behind every exit status.
func opening(o options, s system) (*tally, error) {
	if err := controls(o, s); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	lost, err := obey(o, s, nil)
	for _, f := range lost {
		fmt.Printf("%s: %s\n", s.name, f)
	}
	return &tally{cuts: len(exits()), exits: len(exits()), lost: len(lost), faults: lost}, err
}

// lives cuts the power of each file system in turn.
func lives(o options, names []string, all map[string]*tally) (err error) {
	end := time.Now().Add(time.Duration(o.hours * float64(time.Hour)))
	per := min(perLife, (o.rounds+len(names)-1)/len(names)) // all of them have their turn
	for n := 0; n < o.rounds && err == nil && (o.hours == 0 || time.Now().Before(end)); n += per {
		s, _ := parseSystem(names[n/per%len(names)])
		t := all[s.name]
		o.seed++
		if had := len(t.faults); had > 10 {
			return fmt.Errorf("%s: %d faults are enough", s.name, had)
		}
		had := len(t.faults)
		err = live(o, s, min(per, o.rounds-n), t)
		for _, f := range t.faults[had:] {
			fmt.Printf("%s, seed %d: %s\n", s.name, o.seed, f)
		}
	}
	return err
}

// table prints what was cut and what came of it.
func table(names []string, all map[string]*tally) (faults int) {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file system\tlives\tcuts\tat first start\tslow disk\tafter status 0\tkills too\tevents told\tmoves\tapprovals\tposts\treplies\tlost\tfaults\t")
	var sum tally
	row := func(name string, t *tally) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, t.lives, t.cuts,
			t.first, t.slow, t.exits, t.kills,
			t.told.events, t.told.moves, t.told.approvals, t.told.posts, t.told.replies, t.lost,
			len(t.faults))
	}
	for _, name := range names {
		t := all[name]
		row(name, t)
		sum.lives, sum.cuts, sum.first, sum.slow, sum.exits, sum.kills = sum.lives+t.lives, sum.cuts+t.cuts,
			sum.first+t.first, sum.slow+t.slow, sum.exits+t.exits, sum.kills+t.kills
		sum.told.add(t.told)
		sum.lost += t.lost
		sum.faults = append(sum.faults, t.faults...)
	}
	row("all", &sum)
	w.Flush()
	return len(sum.faults)
}

// lifeOf makes a world whose home will be on an image of its own; not even the
// folder is there yet.
func lifeOf(o options, s system) (*life, error) {
	o.messages = 5 * perLife
	w, err := newWorld(o)
	if err != nil {
		return nil, err
	}
	l := &life{world: w, held: map[string]bool{}, images: filepath.Join(w.dir, "images"),
		mnt: filepath.Join(w.dir, "disk")}
	// The images are in memory where that can be: it is they that are copied.
	if dir, err := os.MkdirTemp("/dev/shm", "torture"); err == nil {
		l.images = dir
	}
	w.config = filepath.Join(w.dir, "config.yaml")
	err = errors.Join(os.Rename(w.path("config.yaml"), w.config), os.RemoveAll(w.home))
	for _, dir := range []string{l.images, l.mnt, filepath.Join(w.dir, "told")} {
		err = errors.Join(err, os.MkdirAll(dir, 0o700))
	}
	if err != nil {
		return nil, err
	}
	w.home = filepath.Join(l.mnt, "home")
	if l.disk, err = newImage(s, l.images, l.mnt); err == nil {
		err = l.disk.mount()
	}
	return l, err
}

// live is one life of a home, of some cuts.
func live(o options, s system, cuts int, t *tally) error {
	l, err := lifeOf(o, s)
	if err != nil {
		return err
	}
	defer l.end()
	t.lives++
	had := len(t.faults)
	l.slowDown()
	for n := 0; n < cuts && len(t.faults) == had; n++ {
		told, err := l.untilCut()
		if harmed(err) {
			fmt.Printf("%s, seed %d: the file system has harmed itself, which ends this life: %v\n",
				s.name, o.seed, err)
			return nil
		}
		if err != nil {
			t.faults = append(t.faults, err.Error())
			break
		}
		t.cuts, t.kills, l.kills = t.cuts+1, t.kills+l.kills, 0
		if n == 0 {
			t.first++
		}
		if l.through != nil {
			t.slow++
		}
		t.told.add(told.facts)
		missing := l.missing(told)
		t.lost += len(missing)
		t.faults = append(t.faults, missing...)
		t.faults = append(t.faults, l.verify()...)
	}
	if len(t.faults) == had {
		t.faults = append(t.faults, l.settled()...)
	}
	l.keep = l.keep || len(t.faults) > had
	return nil
}

// harmed reports, by the words of EUCLEAN, whether a program ended because the kernel found the file system
// itself broken, as ext4 with fast_commit now and then is after its recovery ("target
// of rename is already freed"). The programs are right to end then.
func harmed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "structure needs cleaning")
}

// untilCut is what happens between two cuts.
func (l *life) untilCut() (*told, error) {
	if err := l.start(); err != nil {
		return nil, err
	}
	if err := l.speak(); err != nil {
		return nil, err
	}
	return l.cut()
}

// slowDown gives the life a disk, or one program, whose fsync takes long, as those
// of real disks do: then the order in which programs read what others are about to
// make durable shows.
func (l *life) slowDown() {
	if _, err := exec.LookPath("strace"); err != nil || l.rng.IntN(2) == 0 {
		return
	}
	delay := []time.Duration{2, 20, 100}[l.rng.IntN(3)] * time.Millisecond
	l.slow = []string{"", "tri-watch", "tri-classify", "tri-dispatch", "tri-reply",
		"tri-approve"}[l.rng.IntN(6)]
	l.through = injected(fmt.Sprintf("delay_enter=%d", delay.Microseconds()))
}

// injected has fsync do something else.
func injected(what string) []string {
	return []string{"strace", "-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:" + what}
}

// controls are the same in a world where fsync does nothing. A test that loses
// nothing there cannot see a loss.
func controls(o options, s system) error {
	if _, err := exec.LookPath("strace"); err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	lost, err := obey(o, s, injected("retval=0"))
	if err != nil {
		return err
	}
	fmt.Printf("control on %s: fsync does nothing: of %d that ended with status 0 the work of %d is lost\n",
		s.name, len(exits()), len(lost))
	if len(lost) == 0 {
		return errors.New("without fsync nothing was lost: a loss could not be seen here")
	}
	return control(o, s)
}

// control is a life of one cut.
func control(o options, s system) error {
	sum, lost := facts{}, 0
	for n := 0; lost == 0 && n < 10; n++ {
		o.seed = rand.Uint64()
		l, err := lifeOf(o, s)
		if err != nil {
			return err
		}
		l.through = injected("retval=0")
		told, err := l.untilCut()
		if err == nil {
			sum.add(told.facts)
			lost += len(l.missing(told))
		}
		l.end()
		if err != nil {
			return err
		}
	}
	fmt.Printf("control on %s: fsync does nothing: %d of %d lost\n", s.name, lost, sum.sum())
	if lost == 0 {
		return errors.New("without fsync nothing was lost: a loss could not be seen here")
	}
	return nil
}

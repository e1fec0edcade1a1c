package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// jumps are by how much the clock is set.
var jumps = []time.Duration{
	time.Second, -time.Second, 59 * time.Minute, -59 * time.Minute, time.Hour, -time.Hour, 25 * time.Hour,
	-25 * time.Hour,
	3 * 24 * time.Hour, -3 * 24 * time.Hour, 40 * 24 * time.Hour, -40 * 24 * time.Hour, 400 * 24 * time.Hour,
	-400 * 24 * time.Hour,
}

// begins are instants that calendars are bad at, and the zones that are.
var begins = []string{
	"2026-03-29T00:59:30Z", "2026-11-01T05:59:30Z", "2026-12-31T23:59:30Z", "2028-02-28T23:59:30Z",
	"2038-01-19T03:13:50Z", "2026-11-21T12:00:00Z",
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia",
	"Australia/Lord_Howe"}

// timed is a world with a clock of its own, and its running stages.
type timed struct {
	*world
	clock  *clock
	stages []*stage
	jumped int
}

// clockJumps lives through stories in which the clock is set.
func clockJumps(o options) error { return withWarped(o, tellStories) }

func tellStories(o options) error {
	stories := []struct {
		name string
		tell func(*timed) error
	}{{"jumps", (*timed).jumps}, {"grace", (*timed).grace}, {"budget", (*timed).budget},
		{"expiry", (*timed).expiry}}
	errs := make([]error, o.rounds)
	var told sync.WaitGroup
	for i := range o.rounds {
		s := stories[i%len(stories)]
		if o.only != "" && o.only != s.name {
			continue
		}
		told.Go(func() {
			if err := tellStory(o, i, s.tell); err != nil {
				errs[i] = fmt.Errorf("clock -only %s -seed %d, round %d: %w", s.name, o.seed, i, err)
			}
		})
		if i%len(stories) == len(stories)-1 {
			told.Wait()
		}
	}
	told.Wait()
	return errors.Join(errs...)
}

func tellStory(o options, n int, tell func(*timed) error) error {
	o.seed += uint64(n)
	start, err := time.Parse(time.RFC3339, begins[int(o.seed)%len(begins)])
	if err != nil {
		return err
	}
	t, err := newTimed(o, start, 1)
	if err != nil {
		return err
	}
	defer t.close()
	if err := tell(t); err != nil {
		t.keep = true
		return err
	}
	return nil
}

func newTimed(o options, start time.Time, rate int64) (*timed, error) {
	w, err := newWorld(o)
	if err != nil {
		return nil, err
	}
	c, err := newClock(w.dir, start, rate)
	if err != nil {
		return nil, err
	}
	t := &timed{world: w, clock: c}
	t.zone()
	return t, t.set("grace_s: 0", "grace_s: 0", "dispatch: {offer_expires_h: 1000000}")
}

func (t *timed) close() {
	for _, s := range t.stages {
		s.kill()
	}
	t.world.close()
	if err := t.clock.close(); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
}

// zone puts the programs that start from now on somewhere.
func (t *timed) zone() {
	t.extra = []string{"TORTURE_CLOCK=" + t.clock.file, "TZ=" + zones[t.rng.IntN(len(zones))]}
}

// set changes the configuration: was becomes is, and more is put behind it.
func (t *timed) set(was, is, more string) error {
	name := t.path("config.yaml")
	b, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(b, []byte(was)) {
		return errors.Join(err, fmt.Errorf("config.yaml has no %q", was))
	}
	text := strings.Replace(string(b), was, is, 1)
	if more != "" {
		text += more + "\n"
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// up starts the stages.
func (t *timed) up() (err error) {
	t.stages, err = t.world.up()
	return err
}

func (t *timed) jump(d time.Duration) {
	t.clock.jump(d)
	t.jumped++
}

// jumps is everyday life, while the clock is set again and again, and stages begin
// in other zones.
func (t *timed) jumps() error {
	if err := t.up(); err != nil {
		return err
	}
	stop := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { t.approve(stop) })
	err := func() error {
		for range t.messages {
			if err := t.talk(); err != nil {
				return err
			}
			if t.rng.IntN(4) == 0 {
				t.jump(jumps[t.rng.IntN(len(jumps))])
			}
			if t.rng.IntN(8) == 0 {
				s := t.stages[t.rng.IntN(len(t.stages))]
				last := s.kept.String()
				if !s.kill() {
					return fmt.Errorf("%s had ended by itself: %s", s.name, last)
				}
				t.zone()
				if err := s.start(t.world); err != nil {
					return err
				}
			}
			time.Sleep(time.Duration(t.rng.IntN(60)) * time.Millisecond)
		}
		return t.settle(t.stages)
	}()
	close(stop)
	approver.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("clock: set %d times\n", t.jumped)
	return t.end()
}

// end stops everything, and looks at all that it left.
func (t *timed) end() error {
	for _, s := range t.stages {
		last := s.kept.String()
		if !s.kill() {
			return fmt.Errorf("%s had ended by itself: %s", s.name, last)
		}
	}
	return errors.Join(t.judge(nil), t.sane())
}

// negative is a time that something took, or an age, below nothing.
var negative = regexp.MustCompile(`"[a-z_]*(?:_ms|_s|_h|_seconds|duration[a-z_]*|age)":\s*-[0-9]|took -|-[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h) (?:ago|old)`)

// sane: the logs hold against each other, and nothing took less than no time.
func (t *timed) sane() error {
	var errs []error
	if out, err := t.command("tri-report", "verify").CombinedOutput(); err != nil {
		errs = append(errs, fmt.Errorf("tri-report verify: %w: %.500s", err, out))
	}
	for _, args := range [][]string{{"tri-report", "week"}, {"tri-report", "brief"}, {"tri-report", "cost"},
		{"tri-health", "--json"}} {
		out, err := t.command(args...).CombinedOutput()
		if bad := negative.Find(out); bad != nil || bytes.Contains(out, []byte("panic")) {
			errs = append(errs, fmt.Errorf("%s says %q (%v)", strings.Join(args, " "), bad, err))
		}
	}
	err := filepath.WalkDir(t.home, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "json") {
			return err
		}
		b, err := os.ReadFile(name)
		if bad := negative.Find(b); bad != nil {
			errs = append(errs, fmt.Errorf("%s has %s", name, bad))
		}
		return err
	})
	return errors.Join(append(errs, err)...)
}

// eventually waits for something to become so.
func (t *timed) eventually(what string, is func() bool) error {
	for deadline := time.Now().Add(t.wait); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("never: %s", what)
		}
	}
	return nil
}

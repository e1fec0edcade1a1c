package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
)

// disturbed is kill, while the clock jumps, the home's disk is full for a while, stages have few
// descriptors, and lock files are deleted. No draft may expire, besides all that kill counts.
func disturbed(o options) error {
	return mounting("disturbed", o, func(o options) error { return withWarped(o, disturbWorld) })
}

func disturbWorld(o options) (err error) {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	disk := &image{at: w.home, is: true}
	if err := run("mount", "-t", "tmpfs", "-o", "size=512m,mode=0700", "tmpfs", w.home); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.unmount()) }()
	// How old a question is is said by the chat's clock, which here is the one that jumps.
	if err := errors.Join(w.configure(),
		w.addConfig("dispatch: {max_question_age_h: 1000000}\n")); err != nil {
		return err
	}
	c, err := newClock(w.dir, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 1)
	if err != nil {
		return err
	}
	defer c.close()
	w.extra = []string{"TORTURE_CLOCK=" + c.file}
	d := &disturber{world: w, clock: c, disk: disk, done: map[string]int{}, ended: map[string]int{}}
	if err := w.slaughter(d); err != nil {
		return errors.Join(fmt.Errorf("%v: %w", d.done, err), run("cp", "-a", w.home, w.home+".left"))
	}
	fmt.Printf("disturbed: %v; ended by themselves: %v\n", d.done, d.ended)
	return d.expired()
}

// disturber disturbs what stages rely on. A nil one does nothing.
type disturber struct {
	*world
	clock *clock
	away  time.Duration // how far the clock is from where it would be
	disk  *image
	full  bool
	done  map[string]int // disturbances, by kind
	ended map[string]int // stages that ended by themselves, by name and status
}

// disturb does one thing, and ends the one before. s is about to start.
func (d *disturber) disturb(s *stage) error {
	if d == nil {
		return nil
	}
	if err := d.restore(); err != nil {
		return err
	}
	s.fds = 0
	kind := []string{"clock", "disk", "descriptors", "locks", "nothing"}[d.rng.IntN(5)]
	d.done[kind]++
	switch kind {
	case "clock":
		d.away = jumps[d.rng.IntN(len(jumps))]
		d.clock.jump(d.away)
	case "disk":
		d.full = true
		return d.disk.leave(int64(d.rng.IntN(4)) * page)
	case "descriptors":
		s.fds = 10 + d.rng.IntN(30)
	case "locks":
		return d.unlock()
	}
	return nil
}

// restore ends what was done to clock and disk.
func (d *disturber) restore() (err error) {
	if d.away != 0 {
		d.clock.jump(-d.away)
	}
	if d.full {
		err = d.disk.makeRoom()
	}
	d.away, d.full = 0, false
	return err
}

// unlock deletes every lock file of the home, and those of the chat.
func (d *disturber) unlock() error {
	for _, dir := range []string{d.home, filepath.Join(d.dir, "chat")} {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() || filepath.Base(filepath.Dir(name)) != "locks" &&
				!strings.HasSuffix(name, ".lock") {
				return err
			}
			if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// excuses reports whether a stage may have ended by itself: it had no room, no descriptor or no lock,
// and says so by its status.
func (d *disturber) excuses(s *stage) bool {
	if d == nil {
		return false
	}
	d.ended[fmt.Sprint(s.name, " ", s.status)]++
	return slices.Contains([]int{sysexit.IO, sysexit.TempFail}, s.status)
}

// calm undoes everything, and starts all stages again.
func (d *disturber) calm(stages []*stage) error {
	if d == nil {
		return nil
	}
	err := d.restore()
	for _, s := range stages {
		if last := s.kept.String(); !s.kill() && !d.excuses(s) {
			err = errors.Join(err, fmt.Errorf("%s had ended by itself with %d: %s", s.name, s.status, last))
		}
		s.fds = 0
		err = errors.Join(err, s.start(d.world))
	}
	return err
}

// expired is an error if a draft has expired.
func (d *disturber) expired() error {
	b, err := os.ReadFile(d.path("decisions.ndjson"))
	if n := bytes.Count(b, []byte(decision.ExpiredNote)); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d drafts have expired", n))
	}
	return err
}

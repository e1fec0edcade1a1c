package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/record/thread"
)

// soak lives through a day of a team, o.span by the pipeline's own clock, which goes
// so fast that the day takes as long as o.rounds seconds: a quiet night, a morning
// burst, edits and deletions; an operator who works from eight to six, and approves,
// dismisses, has things looked at again, and leaves some until they expire; and
// stages that are killed or ended and started again. Both clocks and every timer go
// that fast; the work that the processor does seems as much longer, and deadlines of
// sockets and naps of milliseconds stay as they are. At the end everything must be
// settled, and nothing may have grown that must not.
func soak(o options) error { return withWarped(o, soakDay) }

// day is one that is being lived through.
type day struct {
	*timed
	begun, end time.Time // by its clock
	fate       map[string]string
	count      map[string]int
	samples    []sample
	restart    time.Time // when a stage is started again next
}

// sample is what the pipeline has at one time.
type sample struct {
	at      time.Duration
	said    int
	rss     map[string]int64 // KB, by stage
	fds     map[string]int
	threads map[string]int
	disk    int64 // bytes of the home
}

// pace is how many messages of the day are said in each hour.
var pace = [24]int{1, 0, 0, 1, 0, 1, 2, 4, 12, 16, 10, 8, 4, 9, 10, 8, 7, 5, 3, 2, 2, 1, 1, 1}

func soakDay(o options) error {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	t, err := newTimed(o, start, max(1, int64(o.span/time.Second)/int64(o.rounds)))
	if err != nil {
		return err
	}
	defer t.close()
	d := &day{timed: t, begun: start, end: start.Add(o.span), fate: map[string]string{},
		count: map[string]int{}, restart: start.Add(time.Hour)}
	t.extra = append(t.extra, "TZ=UTC")
	// What the processor does takes so much longer by this clock; it is not what is tried.
	patient := "investigator: {hard_cap_runtime_min: 600, stall_min: 600}\nvalidator: {hard_cap_runtime_min: 600}"
	if err := errors.Join(t.set("grace_s: 0", "grace_s: 60", patient),
		t.set("offer_expires_h: 1000000", "offer_expires_h: 5", ""), t.up()); err != nil {
		return err
	}
	if err := d.live(); err != nil {
		t.keep = true
		return err
	}
	return nil
}

func (d *day) live() error {
	began := time.Now()
	for now := d.clock.now(); now.Before(d.end); now = d.clock.now() {
		if err := errors.Join(d.chat24(now), d.operate(now), d.restarts(now), d.measure(now)); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	// Nobody decides any more, so that the last drafts expire.
	if err := d.eventually("no draft waits", func() bool { return d.restless() == "" }); err != nil {
		return fmt.Errorf("%w: %s", err, d.restless())
	}
	if err := d.settle(d.stages); err != nil {
		return err
	}
	if err := d.measure(d.clock.now().Add(time.Hour)); err != nil {
		return err
	}
	took := time.Since(began)
	if err := d.excuse(); err != nil {
		return err
	}
	d.print(took)
	return errors.Join(d.grown(), d.timed.end())
}

// chat24 says what is to be said by now.
func (d *day) chat24(now time.Time) error {
	all, due := 0, 0.0
	for _, n := range pace {
		all += n
	}
	for h := d.begun; h.Before(now); h = h.Add(time.Hour) {
		part := min(1, now.Sub(h).Hours())
		due += part * float64(pace[h.Hour()]) / float64(all) * float64(d.messages)
	}
	for float64(d.said) < due {
		if err := d.talk(); err != nil {
			return err
		}
	}
	return nil
}

// operate is the operator at work.
func (d *day) operate(now time.Time) error {
	if h := now.Hour(); h < 8 || h >= 18 || d.rng.IntN(8) > 0 {
		return nil
	}
	for _, key := range d.waiting() {
		fate, known := d.fate[key]
		if !known {
			switch n := d.rng.IntN(20); {
			case n < 14:
				fate = "approve"
			case n < 16:
				fate = "dismiss"
			case n < 18:
				fate = "redo"
			default:
				fate = "leave"
			}
		}
		args := []string{fate, key}
		switch fate {
		case "leave":
			d.fate[key] = fate
			continue
		case "approve":
			args = []string{fate, "--yes", key}
		case "dismiss":
			args = []string{fate, "--reason", "of no use", key}
		case "redo":
			args = []string{fate, "--note", "look again", key}
			d.fate[key] = "approve"
		}
		if out, err := d.command(append([]string{"tri-approve"}, args...)...).CombinedOutput(); err == nil {
			d.count[fate]++
		} else if exit := strings.TrimSpace(string(out)); strings.Contains(exit, "panic") {
			return errors.New(exit) // else it is another one by now, and the next look finds it
		}
	}
	return nil
}

// restarts ends a stage now and then, one way or the other.
func (d *day) restarts(now time.Time) error {
	if now.Before(d.restart) {
		return nil
	}
	d.restart = now.Add(time.Duration(30+d.rng.IntN(120)) * time.Minute)
	s := d.stages[d.rng.IntN(len(d.stages))]
	if d.rng.IntN(2) == 0 {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		for deadline := time.Now().Add(d.wait); !s.over(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("%s does not end when it is asked to", s.name)
			}
		}
		s.kill()
	} else if last := s.kept.String(); !s.kill() {
		return fmt.Errorf("%s had ended by itself: %s", s.name, last)
	}
	d.count["restarts"]++
	return s.start(d.world)
}

// measure takes a sample every hour.
func (d *day) measure(now time.Time) error {
	if n := len(d.samples); n > 0 && now.Sub(d.begun) < d.samples[n-1].at+time.Hour {
		return nil
	}
	s := sample{at: now.Sub(d.begun), said: d.said, rss: map[string]int64{}, fds: map[string]int{},
		threads: map[string]int{}}
	for _, st := range d.stages {
		proc := fmt.Sprintf("/proc/%d/", st.cmd.Process.Pid)
		status, err := os.ReadFile(proc + "status")
		if err != nil {
			return fmt.Errorf("%s had ended by itself: %s", st.name, st.kept.String())
		}
		fds, _ := os.ReadDir(proc + "fd")
		s.fds[st.name] = len(fds)
		s.rss[st.name] = statusOf(status, "VmRSS:")
		s.threads[st.name] = int(statusOf(status, "Threads:"))
	}
	err := filepath.WalkDir(d.home, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreGone(err)
		}
		info, err := e.Info()
		if err == nil {
			s.disk += info.Size()
		}
		return ignoreGone(err)
	})
	d.samples = append(d.samples, s)
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // between the look at the folder and that at the file
	}
	return err
}

func statusOf(status []byte, name string) (n int64) {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	fmt.Sscan(string(rest), &n)
	return n
}

// excuse finds why questions have no answer: only a person's word and time excuse.
func (d *day) excuse() error {
	posts, err := d.chat.posts()
	if err != nil {
		return err
	}
	answered := map[string]bool{}
	for _, p := range posts {
		answered[p.thread] = true
	}
	for _, q := range d.questions {
		if answered[q.id] || q.deleted {
			continue
		}
		b, err := os.ReadFile(d.path(thread.ClosedPath("local.dev." + q.id)))
		var t thread.Thread
		if err := errors.Join(err, json.Unmarshal(b, &t)); err != nil {
			return fmt.Errorf("question %s has no answer and no closed thread: %w", q.id, err)
		}
		switch reason, _, _ := strings.Cut(t.CloseReason, ":"); reason {
		case "dismissed", "nobody decided in time":
			d.count[reason]++
			q.deleted = true // nobody waits for an answer
		default:
			return fmt.Errorf("question %s has no answer, and its thread was closed: %s", q.id, t.CloseReason)
		}
	}
	return nil
}

func (d *day) print(took time.Duration) {
	fmt.Printf("soak: %v by its own clock in %v: %d messages, %d questions; %v\n",
		d.clock.now().Sub(d.begun).Round(time.Minute), took.Round(time.Second), d.said,
		len(d.questions), d.count)
	fmt.Printf("%5s %9s %9s", "hour", "messages", "disk KB")
	for _, st := range d.stages {
		fmt.Printf("  %-20s", st.name+" MB/fds/threads")
	}
	fmt.Println()
	for i, s := range d.samples {
		if i%3 != 0 && i != len(d.samples)-1 {
			continue
		}
		fmt.Printf("%5.0f %9d %9d", s.at.Hours(), s.said, s.disk/1e3)
		for _, st := range d.stages {
			fmt.Printf("  %-20s", fmt.Sprintf("%.0f/%d/%d", float64(s.rss[st.name])/1024, s.fds[st.name],
				s.threads[st.name]))
		}
		fmt.Println()
	}
}

// What a stage may have at any time, and the home for a message.
const (
	mostMemory  = 160 << 10 // KB resident
	mostFiles   = 64
	mostThreads = 64
	mostDisk    = 64 << 10 // bytes a message
)

// grown: nothing is larger than it may ever be, and no files are kept open more and
// more.
func (d *day) grown() error {
	var errs []error
	for _, s := range d.samples {
		for _, st := range d.stages {
			if s.rss[st.name] > mostMemory || s.fds[st.name] > mostFiles || s.threads[st.name] > mostThreads {
				errs = append(errs, fmt.Errorf("hour %.0f: %s has %d KB, %d files, %d threads", s.at.Hours(),
					st.name, s.rss[st.name], s.fds[st.name], s.threads[st.name]))
			}
		}
	}
	if last := d.samples[len(d.samples)-1]; last.disk > int64(last.said+10)*mostDisk {
		errs = append(errs, fmt.Errorf("%d bytes on disk for %d messages", last.disk, last.said))
	}
	return errors.Join(errs...)
}

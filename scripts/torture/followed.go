package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// start begins a life, and knows by what stands there whether it can go on.
func (f *followed) start() error {
	if f.p != nil && !f.p.over() {
		return nil
	}
	got, err := f.delivered()
	owed := f.owed()
	f.harmed = len(got) > len(owed) || !slices.Equal(got, owed[:len(got)])
	f.lives++
	if err == nil {
		f.p, err = begin(f.command())
	}
	return err
}

func (f *followed) command() *exec.Cmd {
	w := world{options: f.options, dir: f.dir, home: f.dir, chat: &local{}}
	return w.command(f.args...)
}

func (f *followed) kill() error {
	if f.p != nil {
		f.p.kill9()
		f.p, f.stopped = nil, false
	}
	return nil
}

func (f *followed) term() error {
	if f.p == nil || f.stopped {
		return nil
	}
	f.p.signal(syscall.SIGTERM)
	if !f.p.endsWithin(f.wait) {
		return errors.New("it does not end when it is asked to")
	}
	if s := f.p.status(); !f.p.diedOf(syscall.SIGTERM) && s != 0 && (s != sysexit.Data || !f.junk) &&
		!(f.harmed && f.excused(s)) {
		return fmt.Errorf("ended with %d: %s", s, f.p.word())
	}
	f.p = nil
	return nil
}

func (f *followed) stop(stop bool) error {
	if f.p == nil || f.p.over() {
		return nil
	}
	if f.stopped = stop; stop {
		f.p.signal(syscall.SIGSTOP)
	} else {
		f.p.signal(syscall.SIGCONT)
	}
	return nil
}

// second starts the same program on the same output.
func (f *followed) second() error {
	if f.p == nil || f.p.over() || len(f.owed()) == 0 {
		return nil
	}
	if got, err := f.delivered(); err != nil || len(got) == 0 {
		return err // it may have its lock a moment later than the second
	}
	out, err := f.command().CombinedOutput()
	exit := new(exec.ExitError)
	if !f.harmed && (!errors.As(err, &exit) || exit.ExitCode() != sysexit.TempFail) {
		return fmt.Errorf("a second one on the same output: %v: %s", err, out)
	}
	return nil
}

// anew is what the program's words advise where its log was harmed.
func (f *followed) anew() error {
	return errors.Join(f.kill(), os.RemoveAll(f.out))
}

// delivered are the messages in the output, each with what it said.
func (f *followed) delivered() (got []string, err error) {
	b, err := os.ReadFile(f.out)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	last := ""
	for line := range bytes.Lines(b) {
		var e event.Event
		if line[len(line)-1] != '\n' {
			break // on its way
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return got, fmt.Errorf("output: %w: %.200q", err, line)
		}
		before, stood := f.before[e.MessageID]
		switch {
		case !stood || e.Content != f.said[e.MessageID]:
			return got, fmt.Errorf("delivered what never stood there: %.200q", line)
		case before != last:
			return got, fmt.Errorf("delivered %s behind %q, and it stood behind %q", e.MessageID,
				last, before)
		}
		last = e.MessageID
		got = append(got, last)
	}
	return got, err
}

func (f *followed) excused(status int) bool {
	return status == sysexit.Data || status == sysexit.NoInput
}

// rest waits until the program has done what it owes.
func (f *followed) rest() error {
	f.steps++
	for deadline := time.Now().Add(f.wait); ; time.Sleep(3 * time.Millisecond) {
		got, err := f.delivered()
		if err != nil || f.p == nil || f.stopped {
			return err
		}
		if f.p.over() {
			if !f.harmed || !f.excused(f.p.status()) {
				return fmt.Errorf("ended with %d: %s", f.p.status(), f.p.word())
			}
			f.p = nil
			f.refusals++
			return nil
		}
		if owed := f.owed(); slices.Equal(got, owed) {
			return nil
		} else if time.Now().After(deadline) {
			return fmt.Errorf("stuck: %d lines of %d: %s", len(got), len(owed), f.p.word())
		}
	}
}

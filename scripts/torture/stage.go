package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"tri/lib/base/sysexit"
)

// stage is a program that is killed and started again.
type stage struct {
	name   string
	args   []string
	out    string   // a file to which its records are appended; "": nowhere
	to     *os.File // where they go instead; nil: there
	mu     sync.Mutex
	cmd    *exec.Cmd
	kept   words // the last words on stderr
	fds    int   // how many files it may have open; 0: as many as others
	status int   // of its last end; -1: by a signal
}

func (w *world) stages() []*stage {
	ev, cl := w.path("events.ndjson"), w.path("events-classified.ndjson")
	return []*stage{
		{name: "watch", args: append([]string{"tri-watch", "--config", w.configFile()}, w.chat.watch()...)},
		{name: "thread", args: []string{"tri-thread", "--follow", "--out",
			w.path("events-threaded.ndjson"), ev}},
		{name: "turn", args: []string{"tri-turn", "--follow", "--out", w.classified(), w.threaded()}},
		{name: "classify", args: []string{"tri-classify", "--config", w.configFile(), "--follow", "--out", cl,
			w.classified()}},
		{name: "dispatch", args: []string{"tri-dispatch", "--config", w.configFile(), cl}},
		{name: "reply", args: []string{"tri-reply", "--config", w.configFile()}},
	}
}

// classified is what tri-classify reads.
func (w *world) classified() string { return w.path("events-turns.ndjson") }

// threaded is what tri-turn reads. Where the chat gives every question an asker of
// its own, tri-thread is in the path; one asker's questions it would join.
func (w *world) threaded() string {
	if w.options.chat == "local" {
		return w.path("events-threaded.ndjson")
	}
	return w.path("events.ndjson")
}

func (s *stage) start(w *world) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd = w.command(s.args...)
	if s.fds > 0 {
		limited := exec.Command("prlimit",
			append([]string{fmt.Sprint("--nofile=", s.fds), "--", s.cmd.Path}, s.args[1:]...)...)
		limited.Dir, limited.Env, s.cmd = s.cmd.Dir, s.cmd.Env, limited
	}
	s.kept.Reset()
	s.cmd.Stderr = &s.kept
	if s.to != nil {
		s.cmd.Stdout = s.to
		return s.cmd.Start()
	}
	if s.out == "" {
		return s.cmd.Start()
	}
	f, err := os.OpenFile(s.out, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	s.cmd.Stdout = f
	return s.cmd.Start()
}

// up starts all stages, after something was done to each.
func (w *world) up(before ...func(*stage) error) ([]*stage, error) {
	// dispatch follows a file that classify makes.
	if err := os.WriteFile(w.path("events-classified.ndjson"), nil, 0o600); err != nil {
		return nil, err
	}
	stages := w.stages()
	for _, s := range stages {
		for _, fn := range before {
			if err := fn(s); err != nil {
				return stages, err
			}
		}
		if err := s.start(w); err != nil {
			return stages, err
		}
	}
	return stages, nil
}

// kill ends the stage at once and reports whether it was still alive.
func (s *stage) kill() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return false
	}
	killed := s.cmd.Process.Kill() == nil
	err := s.cmd.Wait()
	s.status, s.cmd = s.cmd.ProcessState.ExitCode(), nil
	exit := new(exec.ExitError)
	return killed && errors.As(err, &exit) && exit.ExitCode() == -1
}

// stop ends the stage as its operator would: what it has begun it may finish.
func (s *stage) stop() error {
	last := s.kept.String()
	if s.over() {
		return fmt.Errorf("%s had ended by itself: %s", s.name, last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
	s.cmd = nil
	if err != nil {
		return fmt.Errorf("%s: %w: %s", s.name, err, s.kept.String())
	}
	return nil
}

func (s *stage) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Signal(sig)
}

// second starts the same stage once more: it must say that one is enough.
func (s *stage) second(w *world) error {
	status, said, err := w.brief(s.args...)
	if err == nil && (status != sysexit.TempFail || !strings.Contains(said, "another process")) {
		err = fmt.Errorf("a second %s: status %d: %s", s.name, status, said)
	}
	return err
}

// brief runs a program that should end by itself at once, and says how it ended.
func (w *world) brief(args ...string) (status int, said string, err error) {
	made := w.command(args...)
	ctx, cancel := context.WithTimeout(context.Background(), w.wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, made.Path, made.Args[1:]...)
	cmd.Dir, cmd.Env = made.Dir, made.Env
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return -1, string(out), fmt.Errorf("a second %s ran on: %s", args[0], out)
	}
	exit := new(exec.ExitError)
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out), nil
	}
	return 0, string(out), err
}

// over reports whether the stage has ended by itself: nobody has waited for it yet.
func (s *stage) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(b, []byte(") "))
	return len(rest) > 0 && rest[0] == 'Z'
}

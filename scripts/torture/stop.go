package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"tri/lib/sysexit"
)

// stop stops the stages of a running pipeline for a while, one or several at once,
// under load, and starts each a second time, beside one that runs or is stopped: the
// second must refuse. Then it counts as kill does.
func stop(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	stages, err := w.up()
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range stages {
			s.kill()
		}
	}()
	done := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(done) })
	err = errors.Join(w.ask(), w.settle(stages)) // each has what only one may have
	stops, seconds := 0, 0
	if err == nil {
		stops, seconds, err = w.stopAndGo(stages)
	}
	if err == nil {
		err = w.settle(stages)
	}
	close(done)
	approver.Wait()
	for _, s := range stages {
		if last := s.kept.String(); !s.kill() && err == nil {
			err = fmt.Errorf("%s had ended by itself: %s", s.name, last)
		}
	}
	if err != nil {
		w.keep = true
		return err
	}
	fmt.Printf("stop: %d stages stopped for a while, %d second instances refused\n", stops, seconds)
	return w.judge(map[string]int{})
}

func (w *world) stopAndGo(stages []*stage) (stops, seconds int, err error) {
	for round := range w.rounds {
		still := map[*stage]bool{}
		for range 1 + w.rng.IntN(3) {
			s := stages[w.rng.IntN(len(stages))]
			if err := s.signal(syscall.SIGSTOP); err != nil {
				return stops, seconds, err
			}
			still[s] = true
		}
		stops += len(still)
		for w.said*w.rounds < (round+1)*w.messages {
			if err := w.talk(); err != nil {
				return stops, seconds, err
			}
		}
		if w.rng.IntN(5) == 0 {
			s := stages[w.rng.IntN(len(stages))]
			if err := s.second(w); err != nil {
				return stops, seconds, err
			}
			seconds++
		}
		time.Sleep(time.Duration(w.rng.IntN(150)) * time.Millisecond)
		for s := range still {
			if err := s.signal(syscall.SIGCONT); err != nil {
				return stops, seconds, err
			}
		}
		time.Sleep(time.Duration(w.rng.IntN(30)) * time.Millisecond)
	}
	return stops, seconds, nil
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

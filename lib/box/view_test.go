package box

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/run"
)

// TestViews: what an agent says reaches a terminal with nothing hidden in it.
func TestViews(t *testing.T) {
	b := newBench(t)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		task.See(agent.Event{Kind: agent.Tool, Tool: "Read\x1b[2J", Text: "a\u202eb"})
		return says("\x1b]0;title\x07 It is 5.")(ctx, task)
	}
	x := b.open()
	err := x.Work(func() (*Run, error) { return x.Start(context.Background(), Request{Type: Scout, Task: "x\x1b[31m"}) })
	if err := errors.Join(err, x.Show("latest"), x.Tail(context.Background(), "latest", false), x.List(0)); err != nil {
		t.Fatal(err)
	}
	if got := b.out.String(); strings.ContainsAny(got, "\x1b\x07\u202e") || !strings.Contains(got, "Read<U+001B>[2J a<U+202E>b") {
		t.Errorf("%q", got)
	}
}

// TestStopped: a supervisor that somebody has stopped is said to have stalled, and
// its state is left to it.
func TestStopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here")
	}
	b := newBench(t)
	name, _ := b.crash(Scout)
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleep.Process.Kill(); sleep.Wait() }()
	x := b.open()
	err := supervise.Update(x.dir(name), func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Wrapper, s.LastHeartbeat = run.Active, nil, nil, run.ProcessOf(sleep.Process.Pid), new("2026-01-02T03:04:05Z")
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(want string) bool {
		b.out.Reset()
		x := b.open()
		if err := errors.Join(x.Show(name), x.List(0)); err != nil {
			t.Fatal(err)
		}
		x.JSON = true
		if err := x.List(0); err != nil {
			t.Fatal(err)
		}
		return strings.Count(b.out.String(), want) >= 3
	}
	if !shown(run.Active) || strings.Contains(b.out.String(), run.Stalled) {
		t.Errorf("it works: %s", b.out.String())
	}
	if err := sleep.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !shown(run.Stalled); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it was stopped: %s", b.out.String())
		}
	}
	if s, err := b.open().State(name); err != nil || s.Status != run.Active {
		t.Errorf("kept: %+v, %v", s, err)
	}
}

// TestTailUnwatched: who looks at a run that nobody watches over is told, and does not
// wait for what cannot come.
func TestTailUnwatched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here")
	}
	b := newBench(t)
	name, _ := b.crash(Scout)
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleep.Process.Kill(); sleep.Wait() }()
	pid := sleep.Process.Pid
	err := supervise.Update(b.open().dir(name), func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Wrapper = run.Active, nil, nil, run.ProcessOf(pid)
	})
	if err != nil {
		t.Fatal(err)
	}
	x := b.open()
	said := func(once bool) string {
		t.Helper()
		b.err.Reset()
		if err := x.Tail(context.Background(), name, once); err != nil {
			t.Fatal(err)
		}
		return b.err.String()
	}
	if got := said(true); got != "" {
		t.Errorf("it is watched over: %q", got)
	}
	if err := sleep.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !run.ProcessOf(pid).Stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not stop")
		}
	}
	if got, want := said(true), fmt.Sprintf("run %s: nobody watches over it: process %d, which supervises it, is stopped; kill -CONT %d has it go on, kill -9 %d ends it\n", name, pid, pid, pid); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := sleep.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	sleep.Wait()
	got := said(false)
	if strings.Count(got, "CRASHED") != 1 || !strings.Contains(got, fmt.Sprintf("process %d, which supervised it, ended without a word", pid)) || !strings.Contains(got, "tri-box resume "+idOf(name)+" goes on with it") {
		t.Errorf("%q", got)
	}
	if s, err := x.State(name); err != nil || s.Status != run.Crashed {
		t.Errorf("%+v, %v", s, err)
	}
}

package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/record/run"
)

// TestViews: what an agent says reaches a terminal with nothing hidden in it.
func TestViews(t *testing.T) {
	b := newBench(t)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		task.See(agent.Event{Kind: agent.Tool, Tool: "Read\x1b[2J", Text: "a\u202eb"})
		return says("\x1b]0;title\x07 It is 5.")(ctx, task)
	}
	x := b.open()
	err := x.Work(func() (*Run, error) {
		return x.Start(context.Background(), Request{Type: Scout, Task: "x\x1b[31m"})
	})
	if err := errors.Join(err, x.Show("latest"), x.Tail(context.Background(), "latest", false),
		x.List(0)); err != nil {
		t.Fatal(err)
	}
	if got := b.out.String(); strings.ContainsAny(got, "\x1b\x07\u202e") ||
		!strings.Contains(got, "Read<U+001B>[2J a<U+202E>b") {
		t.Errorf("%q", got)
	}
}

// watched is a run that is under way, and the process that is said to supervise it.
func watched(t *testing.T) (b *bench, name string, watcher *exec.Cmd) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here")
	}
	b = newBench(t)
	name, _ = b.crash(Scout)
	watcher = exec.Command("sleep", "60")
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { watcher.Process.Kill(); watcher.Wait() })
	err := run.Update(b.open().dir(name), func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Owner, s.LastHeartbeat = run.Active, nil, nil,
			run.ProcessOf(watcher.Process.Pid), new("2026-01-02T03:04:05Z")
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, name, watcher
}

// stop suspends a process.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for ; !run.ProcessOf(cmd.Process.Pid).Stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not stop")
		}
	}
}

// TestStopped: a suspended supervisor is reported as stalled, and its state file is not changed.
func TestStopped(t *testing.T) {
	b, name, watcher := watched(t)
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
	if stop(t, watcher); !shown(run.Stalled) {
		t.Errorf("it was stopped: %s", b.out.String())
	}
	if s, err := b.open().State(name); err != nil || s.Status != run.Active {
		t.Errorf("kept: %+v, %v", s, err)
	}
}

// TestTailUnwatched: tail of a run that is not supervised says so, and does not wait forever.
func TestTailUnwatched(t *testing.T) {
	b, name, watcher := watched(t)
	pid := watcher.Process.Pid
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
	stop(t, watcher)
	if got, want := said(true),
		fmt.Sprintf("run %s: not supervised: process %d, which supervises it, is stopped; kill -CONT %d continues it, kill -9 %d ends it\n", name, pid, pid, pid); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := watcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	watcher.Wait()
	got := said(false)
	if strings.Count(got, "CRASHED") != 1 ||
		!strings.Contains(got, fmt.Sprintf("process %d, which supervised it, ended unexpectedly", pid)) ||
		!strings.Contains(got, "tri-box resume "+idOf(name)+" continues it") {
		t.Errorf("%q", got)
	}
	if s, err := x.State(name); err != nil || s.Status != run.Crashed {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestListUnreadable: a run that cannot be read is not in the list, and a message says so.
func TestListUnreadable(t *testing.T) {
	b := newBench(t)
	whole, damaged := b.start(Scout, "one"), b.start(Scout, "two")
	if err := os.WriteFile(filepath.Join(damaged.Dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := b.open()
	b.out.Reset()
	b.err.Reset()
	if err := x.List(20); err != nil || !strings.Contains(b.out.String(), idOf(whole.Meta.RunName)) ||
		!strings.Contains(b.err.String(), damaged.Meta.RunName) {
		t.Errorf("%v, %q, %q", err, b.out.String(), b.err.String())
	}
}

// TestLongTask: of a task on standard input no more is read than a task may have, and the message does not
// say that this is its size.
func TestLongTask(t *testing.T) {
	b := newBench(t)
	x := b.open()
	x.In = strings.NewReader(strings.Repeat("x", 3*MaxTask))
	_, err := x.Start(t.Context(), Request{Type: Scout, Task: "-"})
	if err == nil || !strings.Contains(err.Error(), "the task has more than 65536 bytes") {
		t.Error(err)
	}
}

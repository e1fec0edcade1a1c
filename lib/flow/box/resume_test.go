package box

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/sandbox/sandboxtest"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// fails is an agent that dies of its memory.
func fails(context.Context, agent.Task) (agent.Result, error) {
	return agent.Result{Text: "so far: retry.go"}, agent.Fail(agent.OOM, errors.New("killed for its memory"))
}

// crash has a run crash, and returns the session that it had.
func (b *bench) crash(kind string) (name, session string) {
	b.Helper()
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		task.See(agent.Event{Kind: agent.Thought, Text: "it must be in retry.go"})
		if task.Write {
			if err := os.WriteFile(filepath.Join(task.Codebase, "half.go"), nil, 0o644); err != nil {
				b.Error(err)
			}
		}
		return fails(ctx, task)
	}
	r, err := b.open().Start(context.Background(), Request{Type: kind, Task: "make it six"})
	if status(err) != sysexit.No || r.State.Status != run.Crashed || r.State.Failure.Kind != agent.OOM ||
		r.State.Failure.LastSafeArtifact == "" {
		b.Fatalf("%v, %+v", err, r)
	}
	return r.Meta.RunName, *r.State.SessionID
}

// TestTwoSweep: a program that ends the run of a dead supervisor is not ended by another that does the same,
// whatever its name; the other waits for it.
func TestTwoSweep(t *testing.T) {
	b := newBench(t)
	name, _ := b.crash(Scout)
	x := b.open()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	err := run.Update(x.dir(name), func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Owner = run.Active, nil, nil, run.ProcessOf(gone.Process.Pid)
	})
	if err != nil {
		t.Fatal(err)
	}
	sweep, err1 := x.home.TryLock("sweep.lock")
	lock, err2 := x.home.TryLock("runs/" + name + "/lock")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60") // a program of another name, with both locks
	other.ExtraFiles = []*os.File{sweep.File(), lock.File()}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	sweep.File().Close()
	lock.File().Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := x.Sweep(ctx); err == nil {
		t.Error("it did not wait")
	}
	select {
	case err := <-ended:
		t.Errorf("the other was ended: %v", err)
	default:
		other.Process.Kill()
		<-ended
	}
	if err := x.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err := x.State(name); err != nil || s.Status != run.Crashed {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestResumeInTheSameSession(t *testing.T) {
	b := newBench(t)
	name, session := b.crash(Fix)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if !task.Resume || task.SessionID != session ||
			!strings.Contains(task.Prompt, "it ran out of memory") {
			t.Errorf("resumed with %+v", task)
		}
		if _, err := os.Stat(filepath.Join(task.Codebase, "half.go")); err != nil {
			t.Errorf("what it had done is gone: %v", err)
		}
		if len(task.Commands) != 5 {
			t.Errorf("commands %v", task.Commands)
		}
		return change(ctx, task)
	}
	r, err := b.open().Resume(context.Background(), "last-fail", "and mind the test")
	if err != nil || r.Meta.RunName != name || r.State.Status != run.Review || r.State.Failure != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if got := b.read(".agents/latest/changes.patch"); !strings.Contains(got, "half.go") ||
		!strings.Contains(got, "new.go") {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "patches/attempt_1.patch")); err != nil {
		t.Errorf("the first attempt's patch: %v", err)
	}
	if _, err := b.open().Resume(context.Background(), name, ""); status(err) != sysexit.No {
		t.Errorf("a run in REVIEW was resumed with nothing to do: %v", err)
	}
}

func TestResumeWithoutSessions(t *testing.T) {
	for _, knows := range []bool{true, false} {
		b := newBench(t)
		_, session := b.crash(Scout)
		b.agent.able.Resumes = knows
		b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
			if task.Resume {
				return agent.Result{}, agent.ErrNoResume
			}
			for _, want := range []string{"make it six", "Thought", "it must be in retry.go",
				"so far: retry.go", "cannot be\ncontinued"} {
				if want != "Thought" && !strings.Contains(task.Prompt, want) {
					t.Errorf("%q is not in\n%s", want, task.Prompt)
				}
			}
			if task.SessionID == session {
				t.Error("the old session's name is used again")
			}
			return says("It is 6.")(ctx, task)
		}
		r, err := b.open().Resume(context.Background(), "latest", "")
		if err != nil || r.State.Status != run.Complete ||
			!strings.Contains(b.err.String(), "starts again with what was learned") {
			t.Errorf("%v, %+v, %s", err, r, &b.err)
		}
	}
}

func TestResumeRefusesOtherRights(t *testing.T) {
	for name, alter := range map[string]func(b *bench, run string){
		"sandbox":   func(b *bench, _ string) { b.cfg.Sandbox = "required" },
		"commands":  func(b *bench, _ string) { b.cfg.Box.FixCommands = []string{"go test"} },
		"agent":     func(b *bench, _ string) { b.cfg.Box.Agent.Command = []string{"other"} },
		"network":   func(b *bench, _ string) { b.cfg.Box.Agent.Network = []string{"example.org:443"} },
		"base_url":  func(b *bench, _ string) { b.cfg.Box.Agent.BaseURL = "https://example.org" },
		"read":      func(b *bench, _ string) { b.cfg.Box.Agent.Read = []string{"/etc"} },
		"env":       func(b *bench, _ string) { b.cfg.Box.Agent.Env = []string{"PAGER"} },
		"memory":    func(b *bench, _ string) { b.cfg.Box.Agent.MemoryMB = 1 << 20 },
		"processes": func(b *bench, _ string) { b.cfg.Box.Agent.Processes = 1 << 20 },
		"disk":      func(b *bench, _ string) { b.cfg.Box.Agent.DiskMB = 1 << 20 },
		"minutes":   func(b *bench, _ string) { b.cfg.Box.Limits.Fix.Minutes = new(1000.0) },
		"cost":      func(b *bench, _ string) { b.cfg.Box.Limits.Fix.CostUSD = new(1000.0) },
		"fix_test":  func(b *bench, _ string) { b.cfg.Box.FixTest = []string{"true"} },
		"abilities": func(b *bench, _ string) {
			b.agent.able.Commands = false
		},
		"meta.yaml": func(b *bench, run string) {
			file := filepath.Join(Folder, "runs", run, "meta.yaml")
			text := b.read(file)
			if err := os.Remove(filepath.Join(b.dir, file)); err != nil {
				b.Fatal(err)
			}
			b.write(file, strings.Replace(text, "type: fix", "type: scout", 1))
		},
		"state.json": func(b *bench, name string) {
			if err := run.Update(filepath.Join(b.dir, Folder, "runs", name), func(s *run.State) {
				s.ConfigHash = "0"
			}); err != nil {
				b.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			run_, _ := b.crash(Fix)
			b.agent.play = func(context.Context, agent.Task) (agent.Result, error) {
				t.Error("the agent was run")
				return agent.Result{}, nil
			}
			alter(b, run_)
			if _, err := b.open().Resume(context.Background(), run_, ""); status(err) != sysexit.NoPerm ||
				!strings.Contains(err.Error(), "config_hash") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestResumeOfAHeldRun: the lock decides, not the status.
func TestResumeOfAHeldRun(t *testing.T) {
	b := newBench(t)
	name, _ := b.crash(Scout)
	x := b.open()
	lock, err := x.home.TryLock("runs/" + name + "/lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if _, err := x.Resume(context.Background(), name, ""); status(err) != sysexit.TempFail {
		t.Errorf("%v", err)
	}
	if err := x.Merge(context.Background(), name, Merge{Yes: true}); status(err) != sysexit.TempFail {
		t.Errorf("%v", err)
	}
}

// TestUnmarked: restoring an old state or deleting a mark does not hide a run whose supervisor is gone.
func TestUnmarked(t *testing.T) {
	b := newBench(t)
	r, err := b.open().Start(context.Background(), Request{Type: Scout, Task: "look"})
	if err != nil {
		t.Fatal(err)
	}
	x := b.open()
	err = run.Update(x.dir(r.Meta.RunName), func(s *run.State) {
		s.Status, s.Owner = run.Active, run.Process{PID: 1 << 22, Start: 1}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := b.open().State(r.Meta.RunName); err != nil || s.Status != run.Crashed || s.Failure == nil ||
		s.Failure.Kind != agent.Killed {
		t.Errorf("%+v, %v", s, err)
	}
	if left, err := x.home.List(marks); err != nil || len(left) != 0 {
		t.Errorf("marks %q, %v", left, err)
	}
}

func TestSweepAndGC(t *testing.T) {
	b := newBench(t)
	name, _ := b.crash(Fix)
	// As if its supervisor had been killed at work.
	x := b.open()
	dir := x.dir(name)
	err := run.Update(dir, func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Owner = run.Active, nil, nil, run.Process{PID: 1 << 22, Start: 1}
	})
	if err := errors.Join(err, x.mark(name, running),
		os.WriteFile(filepath.Join(b.dir, Folder, ".INDEX.md.4194304"), nil, 0o600),
		os.MkdirAll(filepath.Join(b.dir, Folder, "runs/.new-abcdef"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s, err := b.open().State(name)
	if err != nil || s.Status != run.Crashed || s.Failure.Kind != agent.Killed ||
		s.Failure.LastSafeArtifact == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.open().GC(context.Background(), time.Hour); err != nil {
		t.Fatal(err)
	}
	only(t, b.dir, Folder+"/trees/*")
	for _, left := range []string{".INDEX.md.4194304", "runs/.new-abcdef"} {
		if _, err := os.Lstat(filepath.Join(b.dir, Folder, left)); err == nil {
			t.Errorf("%s is still there", left)
		}
	}
	if err := b.open().GC(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if s, err := b.open().State(name); err != nil || s.Status != run.Abandoned ||
		b.git("worktree", "list") == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if trees, err := os.ReadDir(filepath.Join(b.dir, Folder, "trees")); err != nil || len(trees) > 0 {
		t.Errorf("left %v, %v", trees, err)
	}
}

func TestFind(t *testing.T) {
	b := newBench(t)
	x := b.open()
	for _, word := range []string{"latest", "last-fail", "", "26"} {
		if name, err := x.Find(word); status(err) != sysexit.NoInput {
			t.Errorf("%q in an empty box: %q, %v", word, name, err)
		}
	}
	first, second := b.start(Scout, "one").Meta.RunName, b.start(Scout, "two").Meta.RunName
	for word, want := range map[string]string{"latest": second, idOf(first): first, idOf(first)[:5]: first,
		first: first, strings.TrimSuffix(second, idOf(second)): second} {
		if got, err := x.Find(word); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", word, got, err, want)
		}
	}
	if _, err := x.Find(first[:5]); status(err) != sysexit.Usage {
		t.Errorf("the beginning of two: %v", err)
	}
	// A link may say anything.
	latest := filepath.Join(b.dir, Folder, "latest")
	for _, to := range []string{"../../..", "runs/..", "/etc", "runs/26-01-01_0000__x__ffffff"} {
		if err := errors.Join(os.Remove(latest), os.Symlink(to, latest)); err != nil {
			t.Fatal(err)
		}
		if got, err := x.Find("latest"); err == nil {
			t.Errorf("latest -> %s is %q", to, got)
		}
	}
}

// TestListIsByTime: runs of one minute are listed by when they began, not by their
// tasks.
func TestListIsByTime(t *testing.T) {
	b := newBench(t)
	var want []string
	for _, task := range []string{"zebra", "yak", "ant", "bee"} {
		want = append([]string{b.start(Scout, task).Meta.Task}, want...)
	}
	x := b.open()
	for n := range 5 {
		runs, err := x.recent(n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range runs {
			got = append(got, r.Meta.Task)
		}
		if most := want[:cmp.Or(n, len(want))]; !slices.Equal(got, most) {
			t.Errorf("the newest %d: %q, want %q", n, got, most)
		}
	}
}

// TestSilence: an agent that gives nothing back has done nothing.
func TestSilence(t *testing.T) {
	for _, kind := range []string{Scout, Plan, Fix, Benchmark} {
		b := newBench(t)
		b.agent.play = says(" \n")
		r, err := b.open().Start(context.Background(), Request{Type: kind, Task: "x"})
		if status(err) != sysexit.No || r.State.Status != run.Crashed || r.State.Failure.Kind != agent.Abort {
			t.Errorf("%s: %+v, %v", kind, r.State, err)
		}
	}
	b := newBench(t)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		_, err := change(ctx, task)
		return agent.Result{}, err
	}
	if r := b.start(Fix, "x"); r.State.Status != run.Review {
		t.Errorf("a change without words: %s", r.State.Status)
	}
}

// TestHalfAWorktree: an agent that is resumed never takes files that were not yet
// written for files that are gone.
func TestHalfAWorktree(t *testing.T) {
	b := newBench(t)
	name, _ := b.crash(Fix)
	tree := only(t, b.dir, Folder+"/trees/*")
	err := run.Update(filepath.Join(b.dir, Folder, "runs", name), func(s *run.State) { s.WorktreePath = nil })
	if err := errors.Join(err, os.Remove(filepath.Join(tree, "sub/other.go"))); err != nil {
		t.Fatal(err)
	}
	b.agent.play = change
	if _, err := b.open().Resume(context.Background(), name, ""); err != nil {
		t.Fatal(err)
	}
	if patch := b.read(".agents/latest/changes.patch"); strings.Contains(patch, "other.go") ||
		!strings.Contains(patch, "new.go") {
		t.Errorf("%s", patch)
	}
}

func TestTestsDecide(t *testing.T) {
	b := newBench(t)
	b.cfg.Box.FixTest = []string{"bash", "-c", "echo the limit is not 6; grep -q 6 retry.go"}
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if err := os.WriteFile(filepath.Join(task.Codebase, "retry.go"),
			[]byte("package pay\n\nconst MaxRetries = 7\n"), 0o644); err != nil {
			t.Error(err)
		}
		return says("It is 6 now.")(ctx, task)
	}
	ctx := context.Background()
	r, err := b.open().Start(ctx, Request{Type: Fix, Task: "make it six"})
	if status(err) != sysexit.No || r.State.Status != run.Crashed ||
		r.State.Failure.Kind != agent.TestsFailed || r.State.Failure.LastSafeArtifact != "changes.patch" {
		t.Fatalf("%v, %+v", err, r.State)
	}
	if err := b.open().Merge(ctx, "latest", Merge{Yes: true}); status(err) != sysexit.No ||
		b.git("status", "--porcelain") != "" {
		t.Errorf("what fails its tests was merged: %v", err)
	}
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if !strings.Contains(task.Prompt, "did not pass the tests") ||
			!strings.Contains(task.Prompt, "the limit is not 6") {
			t.Errorf("it was told\n%s", task.Prompt)
		}
		return change(ctx, task)
	}
	if r, err := b.open().Resume(ctx, "latest", ""); err != nil || r.State.Status != run.Review {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestTestsAreLimited: the tests run the agent's code, with the limits of the agent.
func TestTestsAreLimited(t *testing.T) {
	sandboxtest.Path(t)
	b := newBench(t)
	b.cfg.Sandbox, b.cfg.Box.Agent.MemoryMB, b.agent.play = "", 64, change
	for bytes, fits := range map[string]bool{"1000000": true, "200000000": false} {
		b.cfg.Box.FixTest = []string{"sh", "-c", "head -c $0 /dev/zero | tail -c $0 >/dev/null", bytes}
		r, err := b.open().Start(t.Context(), Request{Type: Fix, Task: "make it six"})
		if (err == nil) != fits || !fits && r.State.Failure.Kind != agent.TestsFailed {
			t.Errorf("%s bytes: %v", bytes, err)
		}
	}
}

// TestHalfRemoved: what git still knows of a worktree whose removal was cut short
// goes with the rest.
func TestHalfRemoved(t *testing.T) {
	b := newBench(t)
	name, _ := b.crash(Fix)
	admin := only(t, b.dir, ".git/worktrees/*")
	if err := errors.Join(os.Remove(filepath.Join(admin, "gitdir")),
		os.RemoveAll(filepath.Join(b.dir, Folder, "trees", name)),
		os.Mkdir(filepath.Join(b.dir, ".git/worktrees/mine"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := b.open().GC(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if left := only(t, b.dir, ".git/worktrees/*"); filepath.Base(left) != "mine" {
		t.Errorf("left %s", left)
	}
}

// What a run is said to have cost is "at least" that where a try of it did not tell.
func TestCostAtLeast(t *testing.T) {
	b := newBench(t)
	b.crash(Scout)
	b.agent.play = says("It is 5.")
	if _, err := b.open().Resume(context.Background(), "last-fail", ""); err != nil {
		t.Fatal(err)
	}
	for name, show := range map[string]func(*Box) error{
		"list": func(x *Box) error { return x.List(0) },
		"show": func(x *Box) error { return x.Show("latest") },
		"tail": func(x *Box) error { return x.Tail(context.Background(), "latest", false) },
	} {
		b.out.Reset()
		b.err.Reset()
		if err := show(b.open()); err != nil ||
			!strings.Contains(b.out.String()+b.err.String(), "at least $0.25") {
			t.Errorf("%s: %v, %s%s", name, err, b.out.String(), b.err.String())
		}
	}
}

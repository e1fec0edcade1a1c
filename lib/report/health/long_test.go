package health

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"tri/lib/record/thread"
)

func TestLongRuns(t *testing.T) {
	p := newPlace(t, piped)
	id := "e-0123"
	ask := func(by string, age time.Duration) {
		p.write("escalations/"+id+"/request.json",
			fmt.Sprintf(`{"by":%q,"at":%q,"thread":{"key":"k"}}`, by, noon.Add(-age).Format(time.RFC3339)))
	}
	ask("ana", time.Minute)
	for _, c := range p.look() {
		if c.Name == "long runs" {
			t.Errorf("nothing is under way: %+v", c)
		}
	}
	ask("ana", time.Hour)
	want(t, p.look(), "long runs", Warn, "ended unexpectedly")
	ask("tri-dispatch", time.Hour)
	want(t, p.look(), "long runs", Fail, "ended unexpectedly")
	p.hold("escalations/" + id + "/lock")
	want(t, p.look(), "long runs", Warn, "has run for 1 h")
	ask("tri-dispatch", time.Minute)
	want(t, p.look(), "long runs", OK, "1 under way")
	p.write("escalations/"+id+"/state.json", `{"status":"STALLED"}`)
	want(t, p.look(), "long runs", Fail, "alive and does nothing")
	if runtime.GOOS == "linux" {
		p.write("escalations/"+id+"/state.json",
			fmt.Sprintf(`{"status":"ACTIVE","wrapper":{"pid":%d}}`, asleep(t)))
		want(t, p.look(), "long runs", Fail, "is stopped, and the run is not supervised")
	}
	th := thread.Thread{Key: "k", Status: thread.Investigating, InvestigatorTaskID: &id,
		StatusHistory: []thread.Change{{At: noon.Format(time.RFC3339)}}}
	if err := th.Save(p.home); err != nil {
		t.Fatal(err)
	}
	p.write("escalations/"+id+"/exit.json",
		`{"by":"tri-dispatch","key":"k","status":"done","ended_at":"2026-03-02T11:00:00Z"}`)
	want(t, p.look(), "long runs", Fail, "was not taken up")
}

// asleep starts a process and stops it.
func asleep(t *testing.T) int {
	t.Helper()
	c := exec.Command("sleep", "900")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !stopped(c.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not stop")
		}
	}
	return c.Process.Pid
}

func TestBoxes(t *testing.T) {
	code := t.TempDir()
	p := newPlace(t, "codebases: [{name: a, path: "+code+"}]\n")
	pid := os.Getpid() // the tri-box of these runs
	put := func(name, status string) {
		dir := code + "/.agents/runs/" + name
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/state.json",
			fmt.Appendf(nil, `{"status":%q,"wrapper":{"pid":%d}}`, status, pid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("r1", "ACTIVE")
	put("r2", "REVIEW")
	put("\x1b[2J", "STALLED")
	want(t, p.look(), "box a", OK, "1 runs under way, 1 patches")
	put("r3", "STALLED")
	want(t, p.look(), "box a", Warn, "doing nothing: r3")
	if err := os.Symlink("/dev/zero", code+"/.agents/runs/r4"); err != nil {
		t.Fatal(err)
	}
	want(t, p.look(), "box a", Warn, "doing nothing: r3")
	if err := errors.Join(os.Mkdir(code+"/.agents/runs/pipe", 0o700),
		syscall.Mkfifo(code+"/.agents/runs/pipe/state.json", 0o600)); err != nil {
		t.Fatal(err)
	}
	want(t, p.look(), "box a", Warn, "doing nothing: r3")
	if runtime.GOOS == "linux" {
		pid = 1 << 30 // no process has it
		put("r5", "ACTIVE")
		want(t, p.look(), "box a", Warn, "not supervised: r5")
	}
}

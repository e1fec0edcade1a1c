package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// A log above maxLog is emptied while its stage has it open, and what it held is beside it: of a stage that
// wrote much more at once, the end.
func TestShorten(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.MkdirAll(logDir); err != nil {
		t.Fatal(err)
	}
	log, err := openLog(h, "watch")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	name, long := logDir+"/watch.log", strings.Repeat("x", maxLog+1)
	if _, err := log.WriteString(long); err != nil {
		t.Fatal(err)
	}
	if err := shorten(h, log, name); err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	now, err := h.Root().ReadFile(name)
	before, err2 := h.Root().ReadFile(name + ".1")
	if string(now) != "more\n" || string(before) != long || err != nil || err2 != nil {
		t.Errorf("%d and %d bytes, %v, %v", len(now), len(before), err, err2)
	}
	if err := log.Truncate(5 * maxLog); err != nil {
		t.Fatal(err)
	}
	_, err = log.WriteString("end\n")
	if err := errors.Join(err, shorten(h, log, name)); err != nil {
		t.Fatal(err)
	}
	before, err = h.Root().ReadFile(name + ".1")
	if len(before) != 2*maxLog || !strings.HasSuffix(string(before), "\x00end\n") || err != nil {
		t.Errorf("%d bytes, %v", len(before), err)
	}
}

// patient is how long a test waits for what must come; only a failure takes it.
const patient = 30 * time.Second

// crew is a supervisor under test.
type crew struct {
	*testing.T
	home *durable.Home
	end  context.CancelFunc
	done chan error

	mu   sync.Mutex
	said []string
}

func newCrew(t *testing.T, stages ...config.Stage) *crew {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	c := &crew{T: t, home: h, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	go func() { c.done <- Run(ctx, c.options(stages)) }()
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *crew) options(stages []config.Stage) Options {
	return Options{Home: c.home, Stages: stages, Find: exec.LookPath, Say: func(f string, a ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.said = append(c.said, fmt.Sprintf(f, a...))
	}}
}

func (c *crew) stop() {
	c.end()
	select {
	case err := <-c.done:
		c.done <- nil
		if err != nil {
			c.Error(err)
		}
	case <-time.After(patient):
		c.Fatal("the supervisor does not end")
	}
}

// until waits for a stage to be as wanted.
func (c *crew) until(i int, what string, ok func(Stage) bool) Stage {
	c.Helper()
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		st, _, err := Load(c.home)
		if err != nil {
			c.Fatal(err)
		}
		if len(st.Stages) > i && ok(st.Stages[i]) {
			return st.Stages[i]
		}
	}
	c.Fatalf("stage %d is never %s", i, what)
	return Stage{}
}

func isUp(s Stage) bool { return s.State == Up }

func sh(name, script string) config.Stage {
	return config.Stage{Name: name, Command: []string{"sh", "-c", script}}
}

func gone(pid int) bool { return syscall.Kill(pid, 0) != nil }

func TestKilledStageComesBack(t *testing.T) {
	c := newCrew(t, sh("one", "sleep 900"), sh("two", "sleep 900"))
	one, two := c.until(0, "up", isUp), c.until(1, "up", isUp)
	for n := range 3 {
		began := time.Now()
		if err := syscall.Kill(one.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		next := c.until(0, "back", func(s Stage) bool { return s.PID != 0 && s.PID != one.PID })
		if next.Restarts != n+1 || next.Ended != "ended by killed" {
			t.Errorf("%+v", next)
		}
		if took := time.Since(began); took > patient/3 {
			t.Errorf("back after %v", took)
		}
		one = next
	}
	if now := c.until(1, "up", isUp); now.PID != two.PID {
		t.Error("the other stage was touched")
	}
}

// What ends by itself at once is tried more and more seldom.
func TestCrashLoopBacksOff(t *testing.T) {
	c := newCrew(t, sh("bad", "echo oops >&2; exit 3"))
	c.until(0, "tried again", func(s Stage) bool { return s.Restarts >= 3 })
	c.stop()
	var waits []string
	for _, s := range c.said {
		if _, wait, ok := strings.Cut(s, "ended with status 3; again in "); ok {
			waits = append(waits, wait)
		}
	}
	if len(waits) < 3 || !slices.Equal(waits[:3], []string{"200ms", "400ms", "800ms"}) {
		t.Errorf("waits %q", waits)
	}
	log, err := c.home.ReadFile("logs/bad.log")
	if err != nil || strings.Count(string(log), "oops\n") < 3 {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestEndsThemAll(t *testing.T) {
	c := newCrew(t, sh("one", "sleep 900"), sh("two", "sleep 900"))
	a, b := c.until(0, "up", isUp), c.until(1, "up", isUp)
	c.stop()
	st, alive, err := Load(c.home)
	if err != nil || alive || !gone(a.PID) || !gone(b.PID) {
		t.Errorf("alive %v, gone %v %v, %v", alive, gone(a.PID), gone(b.PID), err)
	}
	for _, s := range st.Stages {
		if s.State != Down {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
	var page bytes.Buffer
	if err := st.Print(&page, alive, time.Now()); err != nil ||
		!strings.HasPrefix(page.String(), "no supervisor runs") {
		t.Errorf("%q, %v", page.String(), err)
	}
}

// A stage is ended with its children, also if it ignores the signal or was killed.
func TestStubbornStage(t *testing.T) {
	for _, tt := range []struct {
		trap, ended string
		sig         syscall.Signal
	}{{"trap '' TERM;", "ended by killed", 0}, {"", "ended by terminated", 0}, {"", "ended by killed", syscall.SIGKILL}} {
		stubborn(t, tt.trap, tt.ended, tt.sig)
	}
}

func stubborn(t *testing.T, trap, want string, sig syscall.Signal) {
	t.Helper()
	dir, wait := t.TempDir(), patient
	log, err := os.Create(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p, err := start([]string{"/bin/sh", "-c",
		trap + " sleep 900 & echo $! >child; while :; do sleep 1; done"}, dir, log)
	if err != nil {
		t.Fatal(err)
	}
	var child int
	for deadline := time.Now().Add(patient); child == 0 &&
		time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		text, _ := os.ReadFile(dir + "/child")
		_, _ = fmt.Sscan(string(text), &child)
	}
	if sig != 0 {
		_ = syscall.Kill(p.pid, sig) // stop waits for the end
	}
	if trap != "" {
		wait = 10 * time.Millisecond
	}
	p.stop(wait)
	if ended, quick := p.outcome(); ended != want || quick {
		t.Errorf("%q, %v", ended, quick)
	}
	for deadline := time.Now().Add(patient); !gone(child); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("its child lives on")
		}
	}
}

func TestSecondIsRefused(t *testing.T) {
	c := newCrew(t, sh("one", "sleep 900"))
	c.until(0, "up", isUp)
	err := Run(context.Background(), c.options(nil))
	if status, _ := sysexit.Of(err); status != sysexit.TempFail || len(sysexit.Hints(err)) == 0 {
		t.Errorf("%v", err)
	}
	if _, err := Detach(context.Background(), c.home, nil); err == nil {
		t.Error("a second one was detached")
	}
}

// TestInterrupted: who interrupts the start of a pipeline learns that it still runs.
func TestInterrupted(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Detach(ctx, h, []string{"-test.run=^$"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(strings.Join(sysexit.Hints(err), ""), "tri down") {
		t.Errorf("%v, hints %q", err, sysexit.Hints(err))
	}
}

func TestRestart(t *testing.T) {
	c := newCrew(t, sh("one", "sleep 900"))
	was := c.until(0, "up", isUp)
	if err := Restart(c.home, "one"); err != nil {
		t.Fatal(err)
	}
	c.until(0, "another process", func(s Stage) bool { return s.State == Up && s.PID != was.PID })
	err := Restart(c.home, "two")
	if status, _ := sysexit.Of(err); status != sysexit.Usage ||
		!strings.Contains(strings.Join(sysexit.Hints(err), ""), "one") {
		t.Errorf("%v", err)
	}
	c.stop()
	if status, _ := sysexit.Of(Restart(c.home, "one")); status != sysexit.No {
		t.Error("a stage of nobody was restarted")
	}
	if status, _ := sysexit.Of(Stop(context.Background(), c.home)); status != sysexit.No {
		t.Error("nobody was stopped")
	}
}

// A suspended stage is reported as such, and ends all the same.
func TestStopped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here that a process is stopped")
	}
	c := newCrew(t, sh("one", "sleep 900"))
	was := c.until(0, "up", isUp)
	if err := syscall.Kill(was.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patient); !was.process().Stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not stop")
		}
	}
	st, alive, err := Load(c.home)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := st.Print(&page, alive, time.Now()); err != nil ||
		!strings.HasPrefix(page.String(), "one        stopped ") {
		t.Errorf("%q, %v", page.String(), err)
	}
	if err := Restart(c.home, "one"); err != nil {
		t.Fatal(err)
	}
	c.until(0, "another process", func(s Stage) bool { return s.State == Up && s.PID != was.PID })
}

// What a power cut has left of the status of a pipeline that is gone is nothing.
func TestTornStatus(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Replace(stateName, []byte(`{"pid":`)); err != nil {
		t.Fatal(err)
	}
	if st, alive, err := Load(h); err != nil || alive || len(st.Stages) != 0 {
		t.Errorf("%+v, %v, %v", st, alive, err)
	}
}

// A stage that holds its lock is up, and not before.
func TestReadyByLock(t *testing.T) {
	stage := sh("one", ": >begun; while [ ! -e go ]; do sleep 0.01; done; exec flock -x locks/one sleep 900")
	stage.Lock = "locks/one"
	c := newCrew(t, stage)
	c.until(0, "starting", func(s Stage) bool { return s.State == Starting })
	for deadline := time.Now().Add(patient); !c.home.Exists("begun"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not begin")
		}
	}
	if st, _, err := Load(c.home); err != nil || st.Stages[0].State != Starting {
		t.Errorf("%+v, %v", st, err)
	}
	if err := os.WriteFile(c.home.Path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("flock"); err == nil {
		c.until(0, "up", isUp)
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	err = Run(context.Background(),
		Options{Home: h, Stages: []config.Stage{{Name: "x", Command: []string{"/nonexistent"}}},
			Find: exec.LookPath, Say: t.Logf})
	if err == nil || !strings.Contains(err.Error(), "stage x") {
		t.Errorf("%v", err)
	}
}

// TestNoStatus: a pipeline whose status cannot be written, as on a full disk, does not start; tri up waits
// for that file.
func TestNoStatus(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.MkdirAll(stateName); err != nil { // no file can take its place
		t.Fatal(err)
	}
	c := &crew{T: t, home: h}
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	err = Run(ctx, c.options([]config.Stage{sh("one", "echo >ran; sleep 900")}))
	if err == nil || ctx.Err() != nil || h.Exists("ran") {
		t.Errorf("%v, the stage ran: %v", err, h.Exists("ran"))
	}
}

// TestDetachEnds: tri up does not wait for ever for a supervisor that starts nothing.
func TestDetachEnds(t *testing.T) {
	defer func(was time.Duration) { detachWait = was }(detachWait)
	detachWait = 50 * time.Millisecond
	dir := t.TempDir()
	t.Setenv("TRI_TEST_IDLE", dir)
	h, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = Detach(t.Context(), h, []string{"-test.run=^TestIdle$"})
	if err == nil || !strings.Contains(err.Error(), "not every stage runs after 50ms") ||
		!strings.Contains(strings.Join(sysexit.Hints(err), ""), "tri-health") {
		t.Errorf("%v, hints %q", err, sysexit.Hints(err))
	}
}

// TestIdle is the process of TestDetachEnds. It ends when the home of the test is gone.
func TestIdle(t *testing.T) {
	dir := os.Getenv("TRI_TEST_IDLE")
	for _, err := os.Stat(dir); dir != "" && err == nil; _, err = os.Stat(dir) {
		time.Sleep(10 * time.Millisecond)
	}
}

package proc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/sandbox/sandboxtest"
	"tri/lib/base/sysexit"
)

// walled runs a bash script within walls, with a home of its own.
func walled(t *testing.T, ctx context.Context, s Spec, script string) (Exit, error) {
	t.Helper()
	sandboxtest.Path(t)
	s.Home = t.TempDir()
	s.Argv, s.Sandbox = []string{"bash", "-c", script}, "required"
	s.Env = append(s.Env, "PATH="+os.Getenv("PATH"), "HOME="+s.Home)
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Grace == 0 {
		s.Grace = 20 * time.Second
	}
	return Run(ctx, s)
}

func TestWalledPromptIsReadOnly(t *testing.T) {
	dir := t.TempDir()
	var said string
	exit, err := walled(t, context.Background(), Spec{
		RunDir: dir, Prompt: "what is the answer?",
		Line: func(line []byte) bool { said += string(line); return false },
	}, `cat; (echo forged >/dev/stdin) 2>/dev/null && echo forged; (echo forged >>/proc/self/fd/0) 2>/dev/null && echo forged; true`)
	if err != nil || exit.Status != 0 || said != "what is the answer?" {
		t.Errorf("%+v, %q, %v", exit, said, err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "prompt-*.md"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); string(text) != "what is the answer?" {
		t.Errorf("kept %q, %v", text, err)
	}
}

// The agent receives the signal, and has the grace time: bubblewrap would not pass the signal on.
func TestWalledHearsTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var lines []string
	exit, err := walled(t, ctx, Spec{Line: func(line []byte) bool {
		if lines = append(lines, string(line)); string(line) == "ready" {
			cancel()
		}
		return false
	}}, `trap 'echo heard; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	if !errors.Is(err, context.Canceled) || exit.Status != 7 || strings.Join(lines, " ") != "ready heard" {
		t.Errorf("%+v, %q, %v", exit, lines, err)
	}
}

func TestWalledMemory(t *testing.T) {
	exit, err := walled(t, context.Background(), Spec{Memory: 64 << 20},
		`x=$(head -c 300000000 /dev/zero | tr '\0' x); echo ${#x}`)
	if err != nil || exit.Status == 0 {
		t.Errorf("300 MB of 64: %+v, %v", exit, err)
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil &&
		os.Getuid() == 0 && !exit.OOM {
		t.Errorf("the kernel ended it, and nobody says so: %+v", exit)
	}
	if exit, err = walled(t, context.Background(), Spec{}, `exit 3`); err != nil || exit.OOM ||
		exit.Status != 3 {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestWalledStartErrors(t *testing.T) {
	sandboxtest.Path(t)
	path := os.Getenv("PATH")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Spec{
		"no program":     {Argv: []string{"/no/such/program"}, Dir: t.TempDir()},
		"no interpreter": {Argv: []string{script}, Dir: t.TempDir()},
		"no folder":      {Argv: []string{"true"}, Dir: "/no/such/folder"},
		"root folder":    {Argv: []string{"true"}, Dir: "/"},
		"no address":     {Argv: []string{"true"}, Dir: t.TempDir(), Reach: []string{"example.com"}},
	} {
		s.Env = []string{"PATH=" + path}
		if exit, err := Run(context.Background(), s); err == nil {
			t.Errorf("%s: %+v", name, exit)
		} else if _, ok := sysexit.Of(err); !ok {
			t.Errorf("%s: no status: %v", name, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Run(context.Background(), Spec{Argv: []string{"/bin/true"}, Dir: t.TempDir()})
	status, _ := sysexit.Of(err)
	if hints := sysexit.Hints(err); status != sysexit.Config || len(hints) == 0 ||
		!strings.Contains(hints[0], "sandbox: off") {
		t.Errorf("without bubblewrap: status %d, hints %q: %v", status, hints, err)
	}
}

// TestWalledDiesWithUs kills this package's program while its agent runs in a sandbox: no process
// may be left, and the run's lock must be free.
func TestWalledDiesWithUs(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	for range 5 {
		parent := exec.Command(os.Args[0])
		parent.Env = append(os.Environ(), "PROC_TEST_WALLED="+name,
			"PATH="+sandboxtest.Path(t)+":"+os.Getenv("PATH"))
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait() // killed
		lock, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); syscall.Flock(int(lock.Fd()),
			syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a process of the run holds its lock")
			}
		}
		lock.Close()
	}
}

// walledParent is the process that TestWalledDiesWithUs kills.
func walledParent(name string) {
	lock, err := os.Create(name)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(name), "codebase")
	if err != nil {
		panic(err)
	}
	_, err = Run(context.Background(), Spec{
		Argv: []string{"bash", "-c", "setsid sleep 900 & echo ready; sleep 901"}, Dir: dir, Hold: lock,
		Env:  []string{"PATH=" + os.Getenv("PATH")},
		Line: func(line []byte) bool { os.Stdout.Write(append(line, '\n')); return false },
	})
	panic(err) // the test kills us long before
}

// Who fills the disk is ended, by way of its home within walls and of its folder without.
func TestDisk(t *testing.T) {
	const write = `for i in $(seq 400); do head -c 1000000 /dev/urandom >"$0/$i" || exit 3; sleep 0.01; done`
	sandboxtest.Path(t)
	home, folder := t.TempDir(), t.TempDir()
	for into, sandbox := range map[string]string{home: "required", folder: "off"} {
		exit, err := Run(context.Background(), Spec{
			Argv: []string{"bash", "-c", write, into}, Env: []string{"PATH=" + os.Getenv("PATH")},
			Sandbox: sandbox, Home: home, Dir: folder, Write: true, Disk: 20 << 20,
		})
		if err != nil || !exit.Filled || exit.Status != 128+int(syscall.SIGKILL) {
			t.Errorf("sandbox %s: %+v, %v", sandbox, exit, err)
		}
	}
}

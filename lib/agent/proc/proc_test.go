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
)

// TestMain lets the test binary be the process that dies in TestDiesWithUs and
// TestWalledDiesWithUs.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_PARENT") != "" {
		_, err := Run(context.Background(), Spec{
			Sandbox: "off", Argv: []string{"bash", "-c", "echo $$; exec sleep 900"},
			Env:  []string{"PATH=" + os.Getenv("PATH")},
			Line: func(line []byte) bool { os.Stdout.Write(append(line, '\n')); return false },
		})
		panic(err) // the test kills us long before
	}
	if name := os.Getenv("PROC_TEST_WALLED"); name != "" {
		walledParent(name)
	}
	os.Exit(m.Run())
}

func TestDiesWithUs(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "PROC_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strings.TrimSpace(line), "stat")
	if _, err := os.Stat(stat); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(stat)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) ||
			strings.Contains(string(text), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program outlived us: %s", text)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	var lines []int
	exit, err := Run(context.Background(), Spec{
		Sandbox: "off", Argv: []string{"bash", "-c",
			"head -c 5000000 /dev/zero | tr '\\0' x; echo; echo short; yes err | head -c 3000000 >&2; echo last >&2"},
		Env:    []string{"PATH=" + os.Getenv("PATH")},
		RunDir: dir, Line: func(line []byte) bool { lines = append(lines, len(line)); return false },
	})
	if err != nil || exit.Status != 0 || exit.Skipped != 1 || len(lines) != 1 || lines[0] != 5 {
		t.Errorf("%+v, lines %v, %v", exit, lines, err)
	}
	if !strings.HasSuffix(exit.Stderr, "last\n") || len(exit.Stderr) > 4096 {
		t.Errorf("the end of stderr is %d bytes", len(exit.Stderr))
	}
	if info, err := os.Stat(filepath.Join(dir, "stderr.txt")); err != nil || info.Size() != MaxStderr {
		t.Errorf("stderr.txt: %v, %v", info, err)
	}
}

func TestFloodIsStopped(t *testing.T) {
	start := time.Now()
	exit, err := Run(context.Background(), Spec{
		Sandbox: "off", Argv: []string{"yes"}, Env: []string{"PATH=" + os.Getenv("PATH")}, MaxStdout: 1 << 20,
		Grace: 100 * time.Millisecond,
	})
	if err != nil || !exit.Flooded || !exit.Stopped || time.Since(start) > time.Minute {
		t.Errorf("after %v: %+v, %v", time.Since(start), exit, err)
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("A_KEY", "1")
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("HOME", "/home/someone")
	env := strings.Join(Env([]string{"A_KEY", "NOT_SET", "CLAUDECODE"}, "/run", "A_KEY=2", "B=3"),
		"\n") + "\n"
	for _, want := range []string{"A_KEY=1\n", "B=3\n", "HOME=/run\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("%q is not in\n%s", want, env)
		}
	}
	for _, never := range []string{"CLAUDECODE", "A_KEY=2", "NOT_SET", "someone"} {
		if strings.Contains(env, never) {
			t.Errorf("%q is in\n%s", never, env)
		}
	}
	if named := Env([]string{"HOME"}, "/run"); !strings.Contains(strings.Join(named, "\n"),
		"HOME=/home/someone") {
		t.Errorf("HOME was named and is not passed: %q", named)
	}
}

// Package streamtest checks a stage's resume and follow behaviour for the tests of other
// packages.
package streamtest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// rounds is how often Killed kills the program.
const rounds = 36

// Killed kills a program of cmd at random times, while it follows a log that grows
// in torn pieces and while it reads a finished one, from a file and from a pipe. It returns the
// program's final output, and the output of one undisturbed run: they should be equal.
func Killed(t *testing.T, name string, log []byte) (got, want []byte) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(os.Getenv("TRI_BIN"), name) // where make has just built it
	if !filepath.IsAbs(bin) {
		bin = filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", bin, "tri/cmd/"+name).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	in, out := filepath.Join(dir, "events.ndjson"), filepath.Join(dir, "out.ndjson")
	t.Setenv("TRI_HOME", dir)
	rnd := rand.New(rand.NewPCG(3, 4))
	written := 0
	for round := range rounds {
		until := min(len(log), written+len(log)/rounds+rnd.IntN(200))
		if round == rounds-1 {
			until = len(log)
		}
		half := until - (until-written)/2
		add(t, in, log[written:half])
		cmd, stderr := start(t, round, bin, out, in, log[:until])
		add(t, in, log[half:until])
		written = until
		time.Sleep(time.Duration(rnd.IntN(25_000)) * time.Microsecond) // any time will do
		_ = cmd.Process.Kill()                                         // it may have ended
		_ = cmd.Wait()
		// Half a line at the end of a finished input counts as malformed.
		if status := cmd.ProcessState.ExitCode(); status != -1 && status != 0 && log[until-1] == '\n' {
			t.Fatalf("round %d: status %d: %s", round, status, stderr.Bytes())
		}
	}
	if output, err := exec.Command(bin, "--out", out, in).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	got, err := os.ReadFile(out)
	if err == nil {
		want, err = exec.Command(bin, in).Output()
	}
	if err != nil {
		t.Fatal(err)
	}
	return got, want
}

// start starts the program to follow in, to read it, or to read all of it from a pipe.
func start(t *testing.T, round int, bin, out, in string, all []byte) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, stderr := exec.Command(bin, "--out", out), new(bytes.Buffer)
	cmd.Stderr = stderr
	var pipe io.WriteCloser
	switch round % 3 {
	case 0:
		cmd.Args = append(cmd.Args, "--follow", in)
	case 1:
		cmd.Args = append(cmd.Args, in)
	case 2:
		var err error
		if pipe, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pipe != nil {
		go func() {
			_, _ = pipe.Write(all) // the reader will be killed
			_ = pipe.Close()
		}()
	}
	return cmd, stderr
}

func add(t *testing.T, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

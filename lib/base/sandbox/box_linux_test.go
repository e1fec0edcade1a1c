package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/sandbox"
	"tri/lib/base/sandbox/sandboxtest"
)

// TestOrders starts programs with short and long orders, so that the end of an order falls at any
// position of the reader's buffer.
func TestOrders(t *testing.T) {
	sandboxtest.Path(t)
	dir := t.TempDir()
	for _, size := range []int{0, 1, 100, 380, 400, 420, 511, 512, 513, 4000, 4096, 30000, 100000} {
		var out, said bytes.Buffer
		value := strings.Repeat("x", size)
		status, report, err := sandbox.Run(context.Background(), sandbox.Spec{
			Argv: []string{"sh", "-c", `printf %s "$VALUE"; kill -9 $$`},
			Env:  []string{"PATH=" + os.Getenv("PATH"), "VALUE=" + value}, Dir: dir,
		}, strings.NewReader(""), &out, &said)
		if err != nil || status != 137 || out.String() != value || !report.Bubblewrap {
			t.Fatalf("%d bytes: status %d, %d bytes came back, %+v, %v %s", size, status, out.Len(), report,
				err, said.String())
		}
	}
}

// TestManyAtOnce has sandboxes come and go at the same time.
func TestManyAtOnce(t *testing.T) {
	sandboxtest.Path(t)
	dir := t.TempDir()
	failed := make(chan error)
	const n = 16
	for i := range n {
		go func() {
			var out, said bytes.Buffer
			status, _, err := sandbox.Run(context.Background(), sandbox.Spec{
				Argv: []string{"sh", "-c", "echo $0", fmt.Sprint(i)},
				Env:  []string{"PATH=" + os.Getenv("PATH")}, Dir: dir,
			}, strings.NewReader(""), &out, &said)
			if err == nil && (status != 0 || out.String() != fmt.Sprintln(i)) {
				err = fmt.Errorf("%d: status %d, %q, %q", i, status, out.String(), said.String())
			}
			failed <- err
		}()
	}
	for range n {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestReplacedConfig: the token in a configuration of Git stays hidden when another program changes the
// configuration, which Git does by replacing the file, and the repository can still be read.
func TestReplacedConfig(t *testing.T) {
	sandboxtest.Path(t)
	dir := t.TempDir()
	config := filepath.Join(dir, ".git", "config")
	for _, name := range []string{"refs", "objects"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range map[string]string{".git/HEAD": "ref: refs/heads/main\n",
		".git/config": "[remote \"origin\"]\n\turl = https://u:hunter2@x.test/y\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range []bool{false, true} {
		in, to := io.Pipe()
		ready, said := io.Pipe()
		go func() {
			out := bufio.NewReader(ready)
			line, err := out.ReadString('\n')
			if line == "ready\n" {
				text, _ := os.ReadFile(config)
				err = errors.Join(os.WriteFile(config+".lock", append(text, "[x]\n"...), 0o600),
					os.Rename(config+".lock", config))
			}
			to.CloseWithError(err)
			_, _ = io.Copy(io.Discard, out)
		}()
		var out bytes.Buffer
		status, _, err := sandbox.Run(t.Context(), sandbox.Spec{
			Argv: []string{"sh", "-c", "echo ready; cat; cat .git/HEAD .git/config; ls -R .git"},
			Env:  []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, Write: write,
		}, in, io.MultiWriter(said, &out), &out)
		said.Close()
		if err != nil || status != 0 || !strings.Contains(out.String(), "x.test/y") ||
			!strings.Contains(out.String(), "refs/heads/main") || strings.Contains(out.String(), "hunter2") {
			t.Errorf("write %v: status %d, %v:\n%s", write, status, err, out.String())
		}
	}
}

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
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

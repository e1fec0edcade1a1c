package proc

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// The program answers each line, and a write to a dead program fails.
func TestTalk(t *testing.T) {
	var in io.WriteCloser
	var heard []string
	exit, err := Run(context.Background(), Spec{
		Sandbox: "off", Argv: []string{"bash", "-c", `while read -r l; do echo "heard $l"; done; echo bye`},
		Env: []string{"PATH=" + os.Getenv("PATH")},
		Talk: func(w io.WriteCloser) {
			in = w
			if _, err := io.WriteString(in, "1\n"); err != nil {
				t.Error(err)
			}
		},
		Line: func(line []byte) bool {
			heard = append(heard, string(line))
			switch len(heard) {
			case 1:
				if _, err := io.WriteString(in, "2\n"); err != nil {
					t.Error(err)
				}
			case 2:
				if err := in.Close(); err != nil {
					t.Error(err)
				}
			}
			return false
		},
	})
	if got := strings.Join(heard, ", "); err != nil || exit.Status != 0 || got != "heard 1, heard 2, bye" {
		t.Errorf("%q, %+v, %v", got, exit, err)
	}
	if _, err := io.WriteString(in, "3\n"); err == nil {
		t.Error("a write to a program that is dead did not fail")
	}
}

// A program that never reads must not hold up its own end.
func TestTalkToTheDeaf(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	wrote := make(chan error, 1)
	_, err := Run(ctx, Spec{
		Sandbox: "off", Argv: []string{"sleep", "900"}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Grace: 100 * time.Millisecond,
		Talk: func(w io.WriteCloser) {
			go func() {
				cancel()
				for {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						wrote <- err
						return
					}
				}
			}()
		},
	})
	if err == nil || <-wrote == nil {
		t.Error(err)
	}
}

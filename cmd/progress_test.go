package cmd_test

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/creack/pty"
)

// TestProgress: long work is counted on a terminal, and nowhere else.
func TestProgress(t *testing.T) {
	week, dir := "../examples/week", t.TempDir()
	events, threaded := filepath.Join(dir, "events"), filepath.Join(dir, "threaded")
	for _, tt := range []struct{ shell, want string }{
		{"tri-watch export " + week + " >" + events, "442 events"},
		{"tri-thread --out " + threaded + " " + events, "442 records"},
		{"tri-classify --out " + filepath.Join(dir, "classified") + " " + threaded, "442 records"},
		{"tri try --limit 3 --codebase ../lib/base/text --dir " + filepath.Join(dir, "try") + " " + week +
			" >" + filepath.Join(dir, "said"), "442 messages"},
	} {
		tty, end, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", "-c", tt.shell)
		c.Stderr = end
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", tt.shell, err)
		}
		end.Close()
		said, _ := io.ReadAll(tty) // EIO at the end
		tty.Close()
		if !regexp.MustCompile(tt.want + `(, \d+/s)?, in [\d.]+m?s\r\n`).Match(said) {
			t.Errorf("%s: %q, want %s", tt.shell, said, tt.want)
		}
	}
	var errs bytes.Buffer
	c := exec.Command("tri-classify", "--out", filepath.Join(dir, "again"), threaded)
	c.Stderr = &errs
	if err := c.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("in a pipe: %v, %q", err, errs.String())
	}
}

// TestLines: what a person reads on a terminal is lines, and records with --json.
func TestLines(t *testing.T) {
	for _, tt := range []struct{ shell, want string }{
		{"tri-watch export ../examples/week", "backend mira: morning all"},
		{"tri-watch --json export ../examples/week", `"platform":"slack"`},
	} {
		tty, end, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", "-c", tt.shell+" 2>/dev/null")
		c.Stdout = end
		said := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(tty) // EIO at the end
			said <- b
		}()
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", tt.shell, err)
		}
		end.Close()
		got := <-said
		tty.Close()
		if !bytes.Contains(got, []byte(tt.want)) {
			t.Errorf("%s: %.300q, want %q", tt.shell, got, tt.want)
		}
	}
}

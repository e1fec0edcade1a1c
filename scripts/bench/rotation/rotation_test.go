package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	w, err := newWorld(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := all(func() error { return w.write(4) }, w.spoil); err != nil {
		t.Fatal(err)
	}
	x := w.written
	for _, c := range []struct {
		texts []string
		want  tally
	}{
		{x, tally{}},
		{x[:3], tally{lost: 1}},
		{append(x[1:3:3], x...), tally{twice: 2}},
		{[]string{x[0], x[1], x[2], x[3][:9]}, tally{lost: 1, torn: 1}},
		{append(x[:4:4], "] this is not a record ["), tally{passed: 1}},
	} {
		if got := w.judge(c.texts); got != c.want {
			t.Errorf("%.30q: %+v, want %+v", c.texts, got, c.want)
		}
	}
}

// TestItCanFail: a tri-classify that writes nothing is told of.
func TestItCanFail(t *testing.T) {
	quiet = 100 * time.Millisecond
	bin := t.TempDir()
	stub := "#!/bin/sh\ncase $1 in --version) echo stub 1;; *) exec sleep 60;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "tri-classify"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	err := run(options{bin: bin, only: "tri-classify", procedure: "restart", lines: 40, seed: 1})
	if err == nil || !strings.Contains(err.Error(), "ours went wrong: tri-classify restart") {
		t.Error(err)
	}
}

package durable

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tri/lib/base/sysexit"
)

// TestSettle: a file that is not on a disk needs no sync, a failed sync is reported, and a missing
// file counts as durable.
func TestSettle(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := Sync(r); err != nil {
		t.Errorf("a pipe: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	status(t, "a closed file", Sync(r), sysexit.IO)
	h := home(t)
	put(t, h, "d/k", "x")
	for name, want := range map[string]int{"d/k": 0, "d": 0, "none": 0, "none/k": 0, "../x": sysexit.IO,
		"d/k/x": sysexit.IO} {
		if err := h.Sync(name); want != 0 {
			status(t, name, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenMakes tests that the home and its parents are created, also by concurrent processes.
func TestOpenMakes(t *testing.T) {
	top := t.TempDir()
	for i := range 20 {
		dir := filepath.Join(top, strings.Repeat("d/", i), "home")
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-begin
				h, err := Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Fatalf("%s: %v", dir, err)
		}
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(file, "x"), filepath.Join(file, "x", "y"),
		filepath.Join(top, strings.Repeat("x", 300)), filepath.Join(top, strings.Repeat("x", 300), "y")} {
		h, err := Open(dir)
		status(t, dir, err, sysexit.IO)
		if h != nil {
			t.Errorf("%s: opened", dir)
		}
	}
}

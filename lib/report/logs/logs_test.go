package logs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/sysexit"
)

type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.b.Write(p) }
func (s *screen) String() string              { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

func put(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestShow(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "watch.log"), "one\ntwo \x1b[2J\u202ethree\nfour")
	put(t, filepath.Join(dir, "reply.log"), "")
	put(t, filepath.Join(dir, "reply.log.1"), "old\n")
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Lines: 10}, "watch: one\nwatch: two <U+001B>[2J<U+202E>three\n"},
		{Options{Lines: 1, Stages: []string{"watch"}}, "two <U+001B>[2J<U+202E>three\n"},
		{Options{Stages: []string{"watch"}}, ""},
	} {
		tt.o.Dir = dir
		var got bytes.Buffer
		if err := Show(t.Context(), &got, tt.o); err != nil || got.String() != tt.want {
			t.Errorf("%+v: %q, %v, want %q", tt.o, &got, err, tt.want)
		}
	}
	for _, o := range []Options{{Dir: filepath.Join(dir, "no")}, {Dir: dir, Stages: []string{"wath"}},
		{Dir: dir, Stages: []string{"../watch"}}} {
		err := Show(t.Context(), new(bytes.Buffer), o)
		if s, _ := sysexit.Of(err); s != sysexit.NoInput {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestFollow: new lines are shown once, also after a rotation, and also of a stage that starts
// later.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "watch.log")
	put(t, name, "one\ntw")
	out := new(screen)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Show(ctx, out, Options{Dir: dir, Lines: 5, Follow: true}) }()
	wait := func(want string) {
		t.Helper()
		for begun := time.Now(); out.String() != want; time.Sleep(time.Millisecond) {
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("shown %q, want %q", out, want)
			}
		}
	}
	wait("watch: one\n")
	put(t, name, "o\n")
	wait("watch: one\nwatch: two\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, name, "three\n")
	wait("watch: one\nwatch: two\nwatch: three\n")
	put(t, filepath.Join(dir, "reply.log"), "four\n")
	wait("watch: one\nwatch: two\nwatch: three\nreply: four\n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRotation: a rotation at any moment neither ends the follower, nor costs or repeats a line: between the
// two names no file is there, a rotated file gets lines after it was read, and a log is cut.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "watch.log")
	rotate := func() {
		if err := os.Rename(name, name+".1"); err != nil {
			t.Fatal(err)
		}
	}
	put(t, name, "one\n")
	out := new(bytes.Buffer)
	s := &show{Options: Options{Dir: dir, Lines: 5}, w: out}
	defer s.close()
	if err := s.last(s.add("watch")); err != nil {
		t.Fatal(err)
	}
	step := func(want string) {
		t.Helper()
		out.Reset()
		if err := s.step(); err != nil || out.String() != want {
			t.Fatalf("%q, %v, want %q", out, err, want)
		}
	}
	if out.String() != "one\n" {
		t.Fatalf("%q", out)
	}
	step("")
	put(t, name, "two\n")
	rotate()
	step("two\n") // the file is there under its other name only
	if names, err := (&Options{Dir: dir, Stages: []string{"watch"}}).names(); err != nil {
		t.Error(names, err)
	}
	step("")
	put(t, name+".1", "three\nfo")
	step("three\n")
	put(t, name+".1", "ur")
	put(t, name, "five\nsi")
	step("four\nfive\n")
	put(t, name, "x\n")
	rotate()
	put(t, name, "seven\n")
	step("six\nseven\n")
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	step("")
	put(t, name, "eight\n")
	step("eight\n")
	put(t, name, strings.Repeat("x", maxBack+1))
	step(strings.Repeat("x", maxShown-1) + "…\n")
	put(t, name, "\nnine\n")
	out.Reset()
	if err := s.step(); err != nil || !strings.HasSuffix(out.String(), "\nnine\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestMissing: a log that is being rotated at the start, and a stage that starts later, are shown once they
// are there.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	out := new(bytes.Buffer)
	s := &show{Options: Options{Dir: dir}, w: out, named: true}
	defer s.close()
	if err := errors.Join(s.last(s.add("watch")), s.step()); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "watch.log"), "one\n")
	put(t, filepath.Join(dir, "reply.log"), "two\n")
	if err := s.step(); err != nil || out.String() != "watch: one\nreply: two\n" {
		t.Errorf("%q, %v", out, err)
	}
}

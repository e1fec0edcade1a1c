package durable

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func home(t *testing.T) *Home {
	t.Helper()
	h, err := Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func line(s string) func(int64) ([]byte, error) {
	return func(int64) ([]byte, error) { return []byte(s + "\n"), nil }
}

func TestAppendCutsTornTail(t *testing.T) {
	for _, tt := range []struct{ name, before, want string }{
		{"empty", "", "new\n"},
		{"whole", "a\n", "a\nnew\n"},
		{"torn", "a\nhal", "a\nnew\n"},
		{"only torn", "hal", "new\n"},
		{"long torn", "a\n" + strings.Repeat("x", 200<<10), "a\nnew\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := home(t)
			if err := os.WriteFile(h.Path("log"), []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := h.OpenLog("log")
			if err != nil {
				t.Fatal(err)
			}
			off, err := l.Append(line("new"))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := h.ReadFile("log")
			if string(got) != tt.want {
				t.Errorf("got %.40q want %.40q", got, tt.want)
			}
			if want := int64(len(tt.want) - len("new\n")); off != want {
				t.Errorf("offset %d want %d", off, want)
			}
		})
	}
}

func TestAppendRefusesHalfLine(t *testing.T) {
	l, err := home(t).OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(func(int64) ([]byte, error) { return []byte("half"), nil }); err == nil {
		t.Error("a half line was taken")
	}
}

func TestConcurrentAppendsStayWhole(t *testing.T) {
	h := home(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := h.OpenLog("log")
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			for range 50 {
				if _, err := l.Append(line(strings.Repeat("y", 5000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, _ := h.ReadFile("log")
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if len(lines) != 400 {
		t.Fatalf("%d lines, want 400", len(lines))
	}
	for i, l := range lines {
		if len(l) != 5000 {
			t.Fatalf("line %d has %d bytes", i, len(l))
		}
	}
}

func TestLastLine(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		end      int64
	}{{"", "", 0}, {"a\n", "a", 2}, {"a\nbc\n", "bc", 5}, {"a\nbc\nhalf", "bc", 5}, {"\n", "", 1}} {
		got, end, err := LastLine(strings.NewReader(tt.in), int64(len(tt.in)))
		if err != nil || string(got) != tt.want || end != tt.end {
			t.Errorf("%q: got %q, %d, %v; want %q, %d", tt.in, got, end, err, tt.want, tt.end)
		}
	}
}

func TestReplaceAndMove(t *testing.T) {
	h := home(t)
	for _, s := range []string{"one", "two"} {
		if err := h.Replace("open/k.json", []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Move("open/k.json", "closed/ab/k.json"); err != nil {
		t.Fatal(err)
	}
	got, err := h.ReadFile("closed/ab/k.json")
	if err != nil || string(got) != "two" {
		t.Errorf("got %q, %v", got, err)
	}
	if names, err := h.List("open"); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if info, _ := os.Stat(h.Path("closed/ab/k.json")); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNamesStayBelow(t *testing.T) {
	h := home(t)
	outside := filepath.Join(filepath.Dir(h.Dir()), "outside")
	for _, name := range []string{"../outside", "a/../../outside", outside} {
		if err := h.Replace(name, []byte("x")); err == nil {
			t.Errorf("Replace(%q) worked", name)
		}
		if _, err := h.OpenLog(name); err == nil {
			t.Errorf("OpenLog(%q) worked", name)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was made outside")
	}
}

func TestLockIsExclusive(t *testing.T) {
	h := home(t)
	first, err := h.TryLock("locks/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TryLock("locks/x"); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.TryLock("locks/x"); err != nil {
		t.Errorf("after unlock: %v", err)
	}
}

// TestFailedAppendKeepsWholeLines: what a reader may have seen stays.
func TestFailedAppendKeepsWholeLines(t *testing.T) {
	h := home(t)
	l, err := h.OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	one := strings.Repeat("x", most-7)
	if _, err := l.Append(line(one)); err != nil {
		t.Fatal(err)
	}
	old := new(syscall.Rlimit)
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(func(int64) ([]byte, error) { return []byte("two\nthree\n"), nil })
	if undo := syscall.Setrlimit(syscall.RLIMIT_FSIZE, old); undo != nil {
		t.Fatal(undo)
	}
	if err == nil {
		t.Error("a write that did not fit was taken")
	}
	if got, _ := h.ReadFile("log"); string(got) != one+"\ntwo\n" {
		t.Errorf("left %d bytes, the end %q", len(got), got[max(0, len(got)-20):])
	}
}

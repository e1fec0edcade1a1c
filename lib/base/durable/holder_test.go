package durable

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"tri/lib/base/sysexit"
)

func TestFlockOn(t *testing.T) {
	for _, tt := range []struct {
		line string
		pid  int
		ok   bool
	}{
		{"1: FLOCK  ADVISORY  WRITE 708 08:02:1048580 0 EOF", 708, true},
		{"1: FLOCK  ADVISORY  WRITE 708 08:02:104858 0 EOF", 0, false},
		{"1: POSIX  ADVISORY  WRITE 708 08:02:1048580 0 EOF", 0, false},
		{"1: -> FLOCK  ADVISORY  WRITE 708 08:02:1048580 0 EOF", 0, false},
		{"", 0, false}, {"1: FLOCK  ADVISORY  WRITE 708", 0, false},
		{"1: FLOCK  ADVISORY  WRITE 708 08:02:1048580", 708, true},
	} {
		if pid, ok := flockOn(tt.line, 1048580); ok != tt.ok || pid != tt.pid {
			t.Errorf("%q: %d, %v", tt.line, pid, ok)
		}
	}
}

// Querying the holder of a lock does not take the lock.
func TestHolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel has no table of locks")
	}
	h := home(t)
	if pid, held, err := h.Holder("locks/x"); pid != 0 || held || err != nil {
		t.Errorf("before there is one: %d %v %v", pid, held, err)
	}
	l, err := h.TryLock("locks/x")
	if err != nil {
		t.Fatal(err)
	}
	if pid, held, err := h.Holder("locks/x"); pid != os.Getpid() || !held || err != nil {
		t.Errorf("while it is held: %d %v %v, this is %d", pid, held, err, os.Getpid())
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if pid, held, err := h.Holder("locks/x"); pid != 0 || held || err != nil {
		t.Errorf("afterwards: %d %v %v", pid, held, err)
	}
	if err := os.WriteFile(h.Path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.Holder("file/x")
	status(t, "a lock below a file", err, sysexit.IO)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close leaked files
	before, err := os.ReadDir("/proc/self/fd")
	for range 50 {
		if _, _, err := h.Holder("locks/x"); err != nil {
			t.Fatal(err)
		}
	}
	after, err2 := os.ReadDir("/proc/self/fd")
	if len(after) > len(before)+20 || err != nil || err2 != nil {
		t.Errorf("%d files open before, %d after, %v, %v", len(before), len(after), err, err2)
	}
}

// Swapped content is complete for every reader, and no temporary file is left.
func TestSwap(t *testing.T) {
	h := home(t)
	for _, text := range []string{"one", "another"} {
		if err := h.Swap("view.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := h.ReadFile("view.json"); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if all, err := os.ReadDir(h.Dir()); len(all) != 1 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if err := h.Swap("../view.json", nil); err == nil {
		t.Error("it led out of the home")
	}
	if err := h.Swap("none/view.json", nil); err == nil {
		t.Error("a folder was made that need not last")
	}
	// where it is written first
	if err := os.Mkdir(h.Path(fmt.Sprintf(".new.json.%d", os.Getpid())), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.Swap("new.json", nil); err == nil || h.Exists("new.json") {
		t.Errorf("what could not be written is there: %v", err)
	}
	if all, err := os.ReadDir(h.Dir()); len(all) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

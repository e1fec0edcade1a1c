package durable

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tri/lib/base/sysexit"
)

// status fails the test unless err carries an exit status.
func status(t *testing.T, what string, err error, want int) {
	t.Helper()
	if got, _ := sysexit.Of(err); err == nil || got != want {
		t.Errorf("%s: %v (status %d), want status %d", what, err, got, want)
	}
}

func put(t *testing.T, h *Home, name, text string) {
	t.Helper()
	if err := h.Replace(name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultDir(t *testing.T) {
	for _, tt := range []struct{ tri, home, want string }{
		{"/team", "/home/ana", "/team"},
		{"", "/home/ana", "/home/ana/.tri"},
		{"", "", "/nonexistent/.tri"},
	} {
		t.Setenv("TRI_HOME", tt.tri)
		t.Setenv("HOME", tt.home)
		if got := DefaultDir(); got != tt.want {
			t.Errorf("TRI_HOME=%s HOME=%s: %s, want %s", tt.tri, tt.home, got, tt.want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TRI_HOME", filepath.Join(dir, "team"))
	h, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if h.Dir() != filepath.Join(dir, "team") {
		t.Errorf("the default home is %s", h.Dir())
	}
	if info, err := os.Stat(h.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v: others may look in", info.Mode(), err)
	}
	put(t, h, "k", "x")
	_, err = Open(h.Path("k"))
	status(t, "a file as home", err, sysexit.IO)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ReadFile("k"); err == nil {
		t.Error("read through a home that was closed")
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	_, err = Open("home")
	status(t, "below a folder that is gone", err, sysexit.IO)
}

func TestReadAndList(t *testing.T) {
	h := home(t)
	for _, name := range []string{"d/c", "d/a", "d/.hidden", "d/b"} {
		put(t, h, name, name)
	}
	if names, err := h.List("d"); err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("listed %q, %v", names, err)
	}
	if names, err := h.List("none"); err != nil || names != nil {
		t.Errorf("of no folder: %q, %v", names, err)
	}
	_, err := h.List("d/a")
	status(t, "a file listed", err, sysexit.IO)
	_, err = h.List("../d")
	status(t, "a folder outside", err, sysexit.IO)
	if _, err := h.ReadFile("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if !h.Exists("d/a") || h.Exists("d/none") {
		t.Errorf("d/a %v, d/none %v", h.Exists("d/a"), h.Exists("d/none"))
	}
}

// TestNothingStaysOpen: a program runs for months.
func TestNothingStaysOpen(t *testing.T) {
	h := home(t)
	put(t, h, "d/a", "one\n")
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close them, some day
	before := count()
	for range 50 {
		_, err := h.List("d")
		l, err2 := OpenLogFile(h.Path("d/a"))
		if err2 != nil {
			t.Fatal(err2)
		}
		err3 := h.Lines("d/a", 0, func([]byte) error { return nil })
		lock, err4 := h.TryLock("lock")
		if err4 != nil {
			t.Fatal(err4)
		}
		if _, err := h.TryLock("lock"); err == nil {
			t.Fatal("locked twice")
		}
		if err := errors.Join(err, l.Close(), err3, lock.Unlock()); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after > before+5 {
		t.Errorf("%d files open before, %d after", before, after)
	}
}

func TestMkdirAll(t *testing.T) {
	h := home(t)
	for _, dir := range []string{"", ".", "a/b/c", "a/b/c"} {
		if err := h.MkdirAll(dir); err != nil {
			t.Errorf("%q: %v", dir, err)
		}
	}
	for _, dir := range []string{"..", "../x", "/x", "a/../../x"} {
		status(t, dir, h.MkdirAll(dir), sysexit.NoPerm)
	}
	put(t, h, "file", "x")
	status(t, "below a file", h.MkdirAll("file/x/y"), sysexit.IO)
	status(t, "in a file's place", h.MkdirAll("file"), sysexit.IO)
	status(t, "replaced below a file", h.Replace("file/k", nil), sysexit.IO)
	long := strings.Repeat("x", 300)
	status(t, "a name that is too long", h.MkdirAll(long), sysexit.IO)
	status(t, "replaced below it", h.Replace(long+"/k", nil), sysexit.IO)
	status(t, "moved below it", h.Move("file", long+"/k"), sysexit.IO)
	_, err := h.TryLock(long + "/k")
	status(t, "locked below it", err, sysexit.IO)
	_, err = h.OpenLog(long + "/k")
	status(t, "a log below it", err, sysexit.IO)
	status(t, "no such folder synced", h.SyncDir("none"), sysexit.IO)
}

// TestMadeAtOnce: the second of two concurrent creators finds the folder, which is not an error.
func TestMadeAtOnce(t *testing.T) {
	h := home(t)
	for i := range 20 {
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-begin
				if err := h.MkdirAll(strings.Repeat("d/", i) + "d"); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
	}
}

// most bounds a file while fileSize holds. It is not less because go test writes a log
// of its own meanwhile.
const most = 1 << 20

// tooLong does not fit into such a file.
var tooLong = strings.Repeat("x", most+1)

// fileSize bounds what may be written to a file, to most bytes, until the test ends.
func fileSize(t *testing.T) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFailedReplace leaves the old content, and nothing else behind.
func TestFailedReplace(t *testing.T) {
	h := home(t)
	put(t, h, "d/k", "old")
	put(t, h, "d/folder/x", "y")
	status(t, "onto a folder", h.Replace("d/folder", []byte("new")), sysexit.IO)
	t.Run("full", func(t *testing.T) {
		fileSize(t)
		status(t, "a disk that is full", h.Replace("d/k", []byte(tooLong)), sysexit.IO)
	})
	if got, err := h.ReadFile("d/k"); string(got) != "old" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	all, err := os.ReadDir(h.Path("d"))
	if err != nil || len(all) != 2 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

func TestFailedMoveAndRemove(t *testing.T) {
	h := home(t)
	put(t, h, "d/k", "x")
	status(t, "what is not there moved", h.Move("none", "e/k"), sysexit.IO)
	status(t, "a folder with something in it removed", h.Remove("d"), sysexit.IO)
	if err := h.Remove("none"); err != nil {
		t.Errorf("what is not there removed: %v", err)
	}
	if err := h.Remove("d/k"); err != nil || h.Exists("d/k") {
		t.Errorf("removed: %v, there: %v", err, h.Exists("d/k"))
	}
	h.Close()
	status(t, "in a home that is closed", h.Replace("k", nil), sysexit.IO)
	_, err := h.OpenLog("k")
	status(t, "a log in it", err, sysexit.IO)
	_, err = h.TryLock("k")
	status(t, "a lock in it", err, sysexit.IO)
}

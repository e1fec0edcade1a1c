package disk

import (
	"errors"
	"io"
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

	"tri/lib/ndjson"
	"tri/lib/sysexit"
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
		{"", "", ".tri"},
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
	status(t, "no such folder synced", h.syncDir("none"), sysexit.IO)
}

// TestMadeAtOnce: whoever comes second finds the folder, which is no error.
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

// fileSize bounds what may be written to a file until the test ends.
func fileSize(t *testing.T, most uint64) {
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
		fileSize(t, 2)
		status(t, "a disk that is full", h.Replace("d/k", []byte("longer")), sysexit.IO)
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

func TestLines(t *testing.T) {
	h := home(t)
	long := strings.Repeat("x", ndjson.MaxLine+9)
	put(t, h, "log", "one\ntwo\n\nfour\ntorn")
	put(t, h, "long", "one\n"+long+"\ntwo\n"+long)
	put(t, h, "huge", long+long+strings.Repeat("y", 100)+"\nlast\n")
	for _, tt := range []struct {
		log         string
		from, until int64
		want        string
	}{
		{"log", 0, -1, "one,two,,four"},
		{"log", 4, -1, "two,,four"},
		{"log", 0, 0, ""},
		{"log", 0, 1, "one"},
		{"log", 0, 4, "one"},
		{"log", 0, 5, "one,two"},
		{"log", 4, 8, "two"},
		{"none", 0, -1, ""},
		{"long", 0, -1, "one,two"},
		{"long", 0, int64(4 + len(long) + 1), "one"},
		{"huge", 0, -1, "last"},
	} {
		var got []string
		err := h.LinesUntil(tt.log, tt.from, tt.until, func(line []byte) error {
			got = append(got, string(line))
			return nil
		})
		if strings.Join(got, ",") != tt.want || err != nil {
			t.Errorf("%s from %d until %d: %.80q, %v; want %s", tt.log, tt.from, tt.until, got, err, tt.want)
		}
	}
	seen := 0
	stop := errors.New("enough")
	if err := h.Lines("log", 0, func([]byte) error { seen++; return stop }); err != stop || seen != 1 {
		t.Errorf("stopped after %d lines with %v", seen, err)
	}
	none := func([]byte) error { return nil }
	if err := h.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	status(t, "a folder", h.Lines("d", 0, none), sysexit.IO)
	status(t, "an offset before the file", h.Lines("log", -1, none), sysexit.IO)
	status(t, "a file outside", h.Lines("../x", 0, none), sysexit.IO)
}

func TestOpenLogFile(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenLogFile(filepath.Join(dir, "none", "log"))
	status(t, "no folder", err, sysexit.IO)
	_, err = OpenLogFile(dir + "/.")
	status(t, "a folder", err, sysexit.IO)
	l, err := OpenLogFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if l.File() == nil || filepath.Base(l.File().Name()) != "log" {
		t.Errorf("its file is %v", l.File())
	}
	if off, err := l.Append(line("one")); off != 0 || err != nil {
		t.Errorf("at %d, %v", off, err)
	}
}

// TestAppendFails: what the maker of the lines says, and what the file does, comes
// back with the offset at which they would stand.
func TestAppendFails(t *testing.T) {
	l, err := home(t).OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(line("one")); err != nil {
		t.Fatal(err)
	}
	sorry := errors.New("sorry")
	for _, tt := range []struct {
		name, lines string
		err         error
	}{{"nothing", "", nil}, {"refused", "two\n", sorry}, {"refused without lines", "", sorry}} {
		off, err := l.Append(func(int64) ([]byte, error) { return []byte(tt.lines), tt.err })
		if off != 4 || !errors.Is(err, tt.err) {
			t.Errorf("%s: at %d, %v", tt.name, off, err)
		}
	}
	if off, err := l.Append(func(int64) ([]byte, error) { return []byte("\n"), nil }); off != 4 || err != nil {
		t.Errorf("a blank line: at %d, %v", off, err)
	}
	if size, err := l.cutTornTail(); size != 5 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
	t.Run("full", func(t *testing.T) {
		fileSize(t, 6)
		off, err := l.Append(line("two"))
		status(t, "a disk that is full", err, sysexit.IO)
		if off != 5 {
			t.Errorf("at %d, want 5", off)
		}
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(line("late"))
	status(t, "appended to a closed log", err, sysexit.IO)
	_, err = l.Write(line("late"))
	status(t, "written to a closed log", err, sysexit.IO)
	_, err = l.write(func(int64) ([]byte, error) {
		t.Error("asked for lines that cannot be put anywhere")
		return nil, nil
	})
	status(t, "its end looked for", err, sysexit.IO)
	status(t, "synced", l.Sync(), sysexit.IO)
	if l.Close() == nil {
		t.Error("closed twice")
	}
}

// TestUnreadIsNotTorn: a log whose end cannot be read is not cut.
func TestUnreadIsNotTorn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{name: "log", f: f}
	_, err = l.Append(line("three"))
	status(t, "appended to what cannot be read", err, sysexit.IO)
	if got, err := os.ReadFile(file); string(got) != "one\ntwo\n" || err != nil {
		t.Errorf("left %q, %v", got, err)
	}
}

// TestTornAtEveryPlace: the last newline is found wherever the pieces that are read
// meet.
func TestTornAtEveryPlace(t *testing.T) {
	const chunk = 64 << 10
	for _, before := range []int{0, 1, chunk - 1, chunk} {
		for _, torn := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk} {
			text := strings.Repeat("a", before) + "\n" + strings.Repeat("b", torn)
			if got, err := wholeLines(strings.NewReader(text), int64(len(text))); got != int64(before+1) || err != nil {
				t.Errorf("%d bytes, a newline and %d: %d, %v", before, torn, got, err)
			}
		}
	}
}

// failing is a file that can be read so many times.
type failing struct {
	io.ReaderAt
	left int
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestLastLineUnread: a last line that cannot be read is not taken for none.
func TestLastLineUnread(t *testing.T) {
	for text, reads := range map[string]int{"one\ntwo\n": 4, "one\ntwo\nhal": 5} {
		for n := range reads + 1 {
			got, end, err := LastLine(&failing{strings.NewReader(text), n}, int64(len(text)))
			switch {
			case n == reads && (string(got) != "two" || end != 8 || err != nil):
				t.Errorf("%q: %q, %d, %v", text, got, end, err)
			case n < reads && (got != nil || end != 0 || !errors.Is(err, syscall.EIO)):
				t.Errorf("%q, of which read %d fails: %q, %d, %v", text, n+1, got, end, err)
			}
		}
	}
}

func TestLockFile(t *testing.T) {
	h := home(t)
	l, err := h.TryLock("locks/x")
	if err != nil {
		t.Fatal(err)
	}
	if l.File() == nil || filepath.Base(l.File().Name()) != "x" {
		t.Errorf("its file is %v", l.File())
	}
	_, err = h.TryLock("locks/x")
	status(t, "held", err, sysexit.TempFail)
	put(t, h, "d/k", "")
	_, err = h.TryLock("d")
	status(t, "a folder", err, sysexit.IO)
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(l.File()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("still open: %v", err)
	}
}

package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

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

// TestAppendFails: errors of the lines callback and of the file are returned, with the offset at
// which the lines would have been written.
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
	if off, err := l.Append(func(int64) ([]byte, error) {
		return []byte("\n"), nil
	}); off != 4 || err != nil {
		t.Errorf("a blank line: at %d, %v", off, err)
	}
	if size, err := l.cutTornTail(); size != 5 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
	t.Run("full", func(t *testing.T) {
		fileSize(t)
		off, err := l.Append(line(tooLong))
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

// TestBrokenStaysBroken: nothing is appended after a failed fsync, nor after a write of which some lines are
// in the log: who tries again would double them.
func TestBrokenStaysBroken(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // takes writes, and fails to sync
	if err != nil {
		t.Fatal(err)
	}
	unsynced := &Log{name: "unsynced", f: null}
	_, err = unsynced.Append(line("one"))
	status(t, "not synced", err, sysexit.IO)
	partly, err := home(t).OpenLog("partly")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("full", func(t *testing.T) {
		fileSize(t)
		_, err := partly.Append(line("one\n" + tooLong))
		status(t, "partly written", err, sysexit.IO)
	})
	for _, l := range []*Log{unsynced, partly} {
		_, again := l.Append(func(int64) ([]byte, error) {
			t.Errorf("%s: asked for lines", l.name)
			return nil, nil
		})
		status(t, l.name+": appended to", again, sysexit.IO)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
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
			if got, err := wholeLines(strings.NewReader(text), int64(len(text))); got != int64(before+1) ||
				err != nil {
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

// TestDeletedLockFile: a running program keeps its lock even if the file is deleted, and releases
// it when it ends.
func TestDeletedLockFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has open file description locks here")
	}
	h := home(t)
	for _, log := range lockedLogs {
		if err := h.Replace(log, []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
	first, err := h.TryLock("locks/reply")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Remove("locks/reply"); err != nil {
		t.Fatal(err)
	}
	if l, err := h.TryLock("locks/reply"); !errors.Is(err, ErrLocked) {
		t.Errorf("a second was let in: %v, %v", l, err)
	}
	other, err := h.TryLock("locks/watch")
	if err != nil {
		t.Fatalf("the lock of another program: %v", err)
	}
	if err := errors.Join(other.Unlock(), first.Unlock()); err != nil {
		t.Fatal(err)
	}
	again, err := h.TryLock("locks/reply")
	if err != nil {
		t.Fatalf("after it has ended: %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Error(err)
	}
	log, err := h.OpenLog(lockedLogs[0]) // the log itself is as free as it was
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(func(int64) ([]byte, error) { return []byte("{}\n"), nil }); err != nil {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

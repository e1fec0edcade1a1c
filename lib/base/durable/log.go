package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// Log is an append-only file of lines. Several programs may have it open; each append is whole and
// ordered, under the file's lock (flock(2), released by the kernel when its holder dies).
type Log struct {
	name string
	f    *os.File
	root *os.Root // the folder that name is relative to
	own  bool     // root belongs to the log alone

	// broken is the error after which it is unknown what of the log is durable, or which lines of the
	// last write are in it. Nothing more is appended: a caller that tries again would double lines.
	broken atomic.Pointer[error]
}

// OpenLog opens a log below the home and creates it if it is missing. It makes existing content
// durable, since the last writer may have been killed before its sync and readers act on the
// content. A log whose end is not what was written is refused with ErrChanged. The log must be
// closed before the home.
func (h *Home) OpenLog(name string) (*Log, error) {
	if err := h.MkdirAll(path.Dir(name)); err != nil {
		return nil, err
	}
	if h.Exists(name) {
		if err := h.checkEnd(name); err != nil {
			return nil, err
		}
	} else if h.Exists(sumName(name)) { // of a log that was removed
		if err := h.root.Remove(sumName(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, ioError("open", name, err)
		}
	}
	f, err := h.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, ioError("open", name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = ioError("open", name, err)
	case info.Size() == 0: // its creator may have been killed before this sync
		err = h.SyncDir(path.Dir(name))
	default:
		err = Sync(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Log{name: name, f: f, root: h.root}, nil
}

// Append durably appends records to a log below the home, a line of JSON each. Without records it does
// nothing.
func Append[T any](h *Home, name string, records ...T) error {
	if len(records) == 0 {
		return nil
	}
	var lines bytes.Buffer
	if err := ndjson.Write(&lines, records...); err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	log, err := h.OpenLog(name)
	if err != nil {
		return err
	}
	_, err = log.Append(func(int64) ([]byte, error) { return lines.Bytes(), nil })
	_ = log.Close() // what was appended is durable
	return err
}

// OpenLogFile opens a log at any path. Its folder must exist.
func OpenLogFile(file string) (*Log, error) {
	dir := filepath.Dir(file)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, ioError("open", file, err)
	}
	h := &Home{dir: dir, root: root}
	l, err := h.OpenLog(filepath.Base(file))
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	l.own = true
	return l, nil
}

// Append calls lines with the offset at which they will be written, writes the whole lines that it
// returns, and makes them durable. It returns the offset.
func (l *Log) Append(lines func(end int64) ([]byte, error)) (int64, error) {
	end, err := l.Write(lines)
	if err != nil {
		return end, err
	}
	return end, l.Sync()
}

// AppendThen is Append followed by a call of then, still under the log's lock. The log gets no
// sums: then records its end.
func (l *Log) AppendThen(lines func(end int64) ([]byte, error), then func() error) error {
	if err := flock(l.f, syscall.LOCK_EX); err != nil {
		return ioError("lock", l.name, err)
	}
	_, err := l.write(lines)
	if err == nil {
		_, err = l.sync()
	}
	if err == nil {
		err = then()
	}
	return errors.Join(err, flock(l.f, syscall.LOCK_UN))
}

// Write is Append without the fsync: the caller must Sync before it acknowledges anything.
func (l *Log) Write(lines func(end int64) ([]byte, error)) (int64, error) {
	if err := flock(l.f, syscall.LOCK_EX); err != nil {
		return 0, ioError("lock", l.name, err)
	}
	end, err := l.write(lines)
	return end, errors.Join(err, flock(l.f, syscall.LOCK_UN))
}

func (l *Log) write(lines func(end int64) ([]byte, error)) (int64, error) {
	if err := l.broken.Load(); err != nil {
		return 0, *err
	}
	end, err := l.cutTornTail()
	if err != nil {
		return 0, ioError("append to", l.name, err)
	}
	b, err := lines(end)
	if err != nil || len(b) == 0 {
		return end, err
	}
	if b[len(b)-1] != '\n' {
		return end, fmt.Errorf("append to %q: not a whole line", l.name)
	}
	if _, err := l.f.Write(b); err != nil {
		// Leave no half line behind: the disk may be full now and have room later. Whole lines
		// stay: they may have been read already.
		whole, cut := l.cutTornTail()
		err = ioError("append to", l.name, errors.Join(err, cut))
		if whole != end || cut != nil {
			l.broken.Store(&err)
		}
		return end, err
	}
	return end, nil
}

// Sync makes everything written durable, and then adds its sum. Its error is final.
func (l *Log) Sync() error {
	size, err := l.sync()
	if err != nil {
		return err
	}
	if flock(l.f, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil // whoever writes now adds the sum of these bytes too
	}
	l.sum(size)
	if err := flock(l.f, syscall.LOCK_UN); err != nil {
		return ioError("unlock", l.name, err)
	}
	return nil
}

// sync returns the size of what is durable.
func (l *Log) sync() (int64, error) {
	info, err := l.f.Stat()
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		err = ioError("sync", l.name, err)
		l.broken.Store(&err)
		return 0, err
	}
	return info.Size(), nil
}

// Close closes the file; it does not sync.
func (l *Log) Close() error {
	if l.own {
		return errors.Join(l.f.Close(), l.root.Close())
	}
	return l.f.Close()
}

// File returns the open file, for reading at an offset.
func (l *Log) File() *os.File { return l.f }

// cutTornTail truncates everything after the last newline and returns the size.
func (l *Log) cutTornTail() (int64, error) {
	info, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	end, err := wholeLines(l.f, info.Size())
	if err != nil || end == info.Size() {
		return end, err
	}
	return end, l.f.Truncate(end)
}

// wholeLines returns the offset after the last newline of the first size bytes.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	const chunk = 64 << 10
	var last [1]byte
	if size == 0 {
		return 0, nil
	}
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return 0, err
	}
	if last[0] == '\n' {
		return size, nil
	}
	buf := make([]byte, chunk)
	for end := size; end > 0; {
		n := min(end, chunk)
		if _, err := f.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// LastLine returns the last whole line of the file without its newline, nil if there is none, and
// the offset after it.
func LastLine(f io.ReaderAt, size int64) ([]byte, int64, error) {
	end, err := wholeLines(f, size)
	if err != nil || end == 0 {
		return nil, 0, err
	}
	start, err := wholeLines(f, end-1)
	if err != nil {
		return nil, 0, err
	}
	line := make([]byte, end-1-start)
	if _, err := f.ReadAt(line, start); err != nil {
		return nil, 0, err
	}
	return line, end, nil
}

// ErrLocked reports that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock is a file that one process at a time can lock. It is separate from the file that it
// protects, since replacing that file would leave the lock on the old one.
type Lock struct {
	name string
	f    *os.File
	also []*os.File // locked as well, in case the lock file is deleted
}

// lockedLogs are the logs of a home on which program locks are also taken.
var lockedLogs = []string{"decisions.ndjson", "events.ndjson"}

// TryLock takes the lock called name, a file of the home, or fails with ErrLocked, which carries
// the status "try again later". A lock below locks/ remains in force even if its file is deleted.
func (h *Home) TryLock(name string) (*Lock, error) {
	if err := h.MkdirAll(path.Dir(name)); err != nil {
		return nil, err
	}
	f, err := h.lockFile(name)
	if err != nil {
		return nil, err
	}
	l := &Lock{name: name, f: f}
	if path.Dir(name) != "locks" {
		return l, nil
	}
	for _, log := range lockedLogs {
		if err := l.On(h, log); err != nil {
			return nil, errors.Join(err, l.Unlock())
		}
	}
	return l, nil
}

// On takes the lock on an existing log of the home too, so that it remains in force if its file is
// deleted. It fails as TryLock does.
func (l *Lock) On(h *Home, log string) error {
	also, err := h.second(log, l.name)
	if err != nil {
		return sysexit.Errorf(sysexit.TempFail, "%q: %w, whose lock file was deleted", l.name, err)
	}
	if also != nil {
		l.also = append(l.also, also)
	}
	return nil
}

// lockFile opens and locks a file that still has its name afterwards.
func (h *Home) lockFile(name string) (*os.File, error) {
	for {
		f, err := h.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, ioError("lock", name, err)
		}
		if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			closed := f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, sysexit.Errorf(sysexit.TempFail, "%q: %w", name, ErrLocked)
			}
			return nil, ioError("lock", name, errors.Join(err, closed))
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, ioError("lock", name, errors.Join(err, f.Close()))
		}
		if named, err := h.root.Stat(name); err == nil && os.SameFile(mine, named) {
			return f, nil
		}
		if err := f.Close(); err != nil { // it was deleted between open and lock
			return nil, ioError("lock", name, err)
		}
	}
}

// File returns the locked file. A child process that inherits it holds the lock too.
func (l *Lock) File() *os.File { return l.f }

// Unlock releases the lock.
func (l *Lock) Unlock() error {
	err := l.f.Close()
	for _, f := range l.also {
		err = errors.Join(err, f.Close())
	}
	return err
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

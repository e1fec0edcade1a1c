package tail

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	nx "github.com/nxadm/tail"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

const (
	maxLine   = 1 << 20 // bytes; longer lines are skipped and reported
	window    = 1 << 10 // bytes before a position, by which a file is recognized
	batchSize = 500     // lines that are made durable together
)

// position is how far a log has been read. The file is recognized, under any name, by the bytes
// before Offset.
type position struct {
	Offset int64  `json:"offset"`
	Before string `json:"before"` // hash of the window before Offset
	Inode  uint64 `json:"inode"`
	// First is the hash of the file's first line; Again counts the preceding consecutive files with the
	// same first line. Both distinguish a file's lines from those of other files.
	First string `json:"first"`
	Again int    `json:"again,omitempty"`
	Day   string `json:"day,omitempty"` // of the last line, for times without a date
}

func hash(b []byte) string {
	return text.SHA256(b)[:16]
}

// id returns a line's message id, which does not depend on when, or under which name, the file is
// read.
func (p *position) id(offset int64, line []byte) string {
	return text.SHA256(fmt.Sprintf("%s %d %d %s", p.First, p.Again, offset, line))[:20]
}

// rotated matches the suffix that rotation appends to a log's name.
var rotated = lazyregexp.New(`^[.-](?:\d[\d.T-]*|old|bak)$`)

// series returns the files of a log in the order in which they were written; the last is the
// current one. A name with * ? [ that no file has is a series of its own, ordered by name.
func series(name string) []string {
	entries, _ := os.ReadDir(filepath.Dir(name)) // it may be missing, or a pattern too
	var aside []put
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(name))
		full := filepath.Join(filepath.Dir(name), e.Name())
		if ok && rotated.MatchString(rest) {
			if at := modified(full); !at.IsZero() {
				aside = append(aside, put{full, rest, at})
			}
		}
	}
	slices.SortFunc(aside, put.compare)
	var files []string
	for _, f := range aside {
		files = append(files, f.name)
	}
	if !modified(name).IsZero() {
		files = append(files, name)
	}
	if len(files) == 0 && strings.ContainsAny(name, "*?[") {
		files, _ = filepath.Glob(name) // New has checked the pattern
		files = slices.DeleteFunc(files, func(f string) bool { return modified(f).IsZero() })
	}
	return files
}

// put is a rotated file: its name, the suffix, and the time of its last change.
type put struct {
	name, ending string
	at           time.Time
}

// compare orders by time; for the same time, .10 was rotated before .9, and dates are in their
// order.
func (a put) compare(b put) int {
	switch {
	case !a.at.Equal(b.at):
		return a.at.Compare(b.at)
	case len(a.ending) != len(b.ending):
		return len(b.ending) - len(a.ending)
	case len(a.ending) < len("-20060102"):
		return strings.Compare(b.ending, a.ending)
	}
	return strings.Compare(a.ending, b.ending)
}

// modified returns when a regular file was last written; zero if there is none.
func modified(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}
	}
	return info.ModTime()
}

func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO in its place would block
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close(), fmt.Errorf("%q is not a plain file", name))
	}
	return f, nil
}

func inode(f *os.File) uint64 {
	if info, err := f.Stat(); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return st.Ino
		}
	}
	return 0
}

// isSame reports whether p is a position in f.
func (p *position) isSame(f *os.File) bool {
	if p.Offset == 0 {
		first, ok := firstOf(f)
		return ok && first == p.First
	}
	before, err := windowOf(f, p.Offset)
	return err == nil && before == p.Before
}

// windowOf returns the hash of the window before offset.
func windowOf(f io.ReaderAt, offset int64) (string, error) {
	b := make([]byte, min(offset, window))
	if _, err := f.ReadAt(b, offset-int64(len(b))); err != nil {
		return "", err
	}
	return hash(b), nil
}

// firstOf returns the hash of f's first line, at most a window of it; ok is false if there is no
// complete line yet.
func firstOf(f io.ReaderAt) (string, bool) {
	b := make([]byte, window)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false
	}
	line, _, whole := bytes.Cut(b[:n], []byte("\n"))
	return hash(line), whole || n == window
}

// lastEnd returns the offset after the last complete line of f.
func lastEnd(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	b := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		from := max(0, end-int64(len(b)))
		n, err := f.ReadAt(b[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// lines passes the complete lines of f from offset on to fn, in batches, with the offset after
// them. For a line that is too long it calls long instead. It returns how far it has searched for
// the end of the last line.
func lines(f io.ReaderAt, offset, looked int64, long func(offset int64),
	fn func(part []line, end int64) error) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62), 64<<10)
	if looked > offset+maxLine { // the line at offset is already too long
		r.Reset(io.NewSectionReader(f, looked, 1<<62))
	} else {
		looked = offset
	}
	var part []line
	var text []byte
	begin, at := offset, looked
	for {
		b, err := r.ReadSlice('\n')
		at += int64(len(b))
		if at-begin <= maxLine {
			text = append(text, b...)
		} else {
			text = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			if len(part) > 0 {
				if err := fn(part, begin); err != nil {
					return at, err
				}
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return at, err
		case at-begin > maxLine:
			long(begin)
			part = append(part, line{offset: -1})
		default:
			part = append(part, line{begin, bytes.TrimRight(text, "\r\n")})
		}
		text, begin = nil, at
		if len(part) == batchSize {
			if err := fn(part, begin); err != nil {
				return at, err
			}
			part = nil
		}
	}
}

// line is one line of a log, at offset; -1: it was too long.
type line struct {
	offset int64
	text   []byte
}

// follow follows the open file called name from offset on. The caller reads Lines until the channel is
// closed, and calls Stop. A line is delivered when its newline has been written; Offset in its SeekInfo is
// the offset after it. A line is held in memory whole, whatever its length. With poll, or if the kernel
// sends no notifications, the file is checked four times a second.
func follow(name string, offset int64, poll bool) (*nx.Tail, error) {
	return nx.TailFile(name, nx.Config{
		Location: &nx.SeekInfo{Offset: offset, Whence: io.SeekStart}, Follow: true, CompleteLines: true,
		Poll: poll || !notices(name), Logger: nx.DiscardingLogger,
	})
}

// notices reports whether the kernel can notify about changes of a file: the library ends the process when
// there is no inotify instance left. It requests two instances, so that one remains for the library even if
// another program takes one in between.
func notices(name string) bool {
	for range 2 {
		w, err := fsnotify.NewWatcher()
		if err != nil {
			return false
		}
		defer w.Close()
		if err := w.Add(name); err != nil {
			return false
		}
	}
	return true
}

package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// pollEvery is the poll interval behind the watcher: how long a change can go unnoticed if the
// kernel sends no notification (a network file system, no inotify instance left).
const pollEvery = 250 * time.Millisecond

// Follow calls fn with each whole line of a growing file, without its newline, and its offset,
// starting at offset from. It waits for more until ctx ends, which is not an error. The file may
// not exist yet. A file that was cut or replaced is an error, since its offsets are then
// meaningless. The line is valid during the call; blank lines are skipped.
func Follow(ctx context.Context, path string, from int64, fn func(line []byte, off int64) error) error {
	t, err := openTail(ctx, path, from > 0)
	if err != nil {
		return quietEnd(ctx, err)
	}
	defer t.Close()
	t.begin(from)
	r := ndjson.NewReader(t, path, 0, from)
	var b ndjson.Batch
	for {
		if err := r.Next(&b); err != nil {
			return quietEnd(ctx, err)
		}
		for i := range b.Lines {
			l := &b.Lines[i]
			if l.Long {
				return sysexit.Errorf(sysexit.Data, "%s: line at offset %d: longer than %d bytes", path,
					l.Offset, ndjson.MaxLine)
			}
			if ctx.Err() != nil {
				return nil
			}
			if err := fn(l.Bytes, l.Offset); err != nil {
				return err
			}
		}
	}
}

func quietEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// tail reads a growing file, and waits at its end. It reads by offset; the watcher only wakes it.
// It returns whole lines only: text after the last newline may be the torn end left by a killed
// writer, which the next writer cuts off and overwrites. And it returns only durable lines:
// results derived from a line must not outlive it.
type tail struct {
	ctx   context.Context
	path  string
	f     *os.File
	off   int64  // after the lines returned or ready
	known []byte // the bytes before off, read again with the next read
	buf   []byte // for reading
	ready []byte // whole lines, part of buf
	safe  synced
	bell  *waker
}

// tailSize is the size of one read, in bytes; it grows for a longer line.
const tailSize = 64 << 10

// knownSize is how many bytes of what was read are compared with the file's current content:
// enough to cover a line's id or text.
const knownSize = 512

// openTail opens path, and waits for it to exist unless must is set.
func openTail(ctx context.Context, path string, must bool) (*tail, error) {
	t := &tail{ctx: ctx, path: path}
	for {
		f, err := os.Open(path)
		if err == nil {
			t.f, t.safe.f = f, f
			t.bell = listen(path)
			return t, nil
		}
		if must || !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if err := awaitFile(ctx, path); err != nil {
			return nil, err
		}
	}
}

// begin sets the offset to read from: it must be after a newline, which fill checks.
func (t *tail) begin(off int64) {
	t.off = off
	t.known = make([]byte, min(off, knownSize))
	if _, err := t.f.ReadAt(t.known, off-int64(len(t.known))); err == nil && off > 0 {
		t.known[len(t.known)-1] = '\n'
	}
}

// Read implements io.Reader; it returns ctx's error when ctx ends.
func (t *tail) Read(p []byte) (int, error) {
	for len(t.ready) == 0 {
		more, err := t.fill()
		if err != nil {
			return 0, err
		}
		if more {
			t.bell.news()
			continue
		}
		if err := t.unchanged(); err != nil {
			return 0, err
		}
		if err := t.bell.wait(t.ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// fill reads at off and makes the whole lines ready. It reports whether to try again at once.
func (t *tail) fill() (more bool, err error) {
	if t.buf == nil {
		t.buf = make([]byte, tailSize)
	}
	had := len(t.known)
	n, err := t.f.ReadAt(t.buf, t.off-int64(had))
	if err != nil && err != io.EOF {
		return false, err
	}
	if n < had {
		return false, nil // it was cut: unchanged reports it, unless it has grown again by then
	}
	if !bytes.Equal(t.buf[:had], t.known) {
		return false, t.broken("cut and written anew")
	}
	end := bytes.LastIndexByte(t.buf[had:n], '\n') + 1
	if end == 0 && n == len(t.buf) {
		if n <= ndjson.MaxLine {
			t.buf = make([]byte, 2*n)
			return true, nil
		}
		end = n - had // no valid line is this long: it is refused whatever follows
	}
	if err := t.safe.upTo(t.off + int64(end)); err != nil {
		return false, err
	}
	t.ready = t.buf[had : had+end]
	t.off += int64(end)
	t.known = append(t.known[:0], t.buf[max(0, had+end-knownSize):had+end]...)
	return end > 0, nil
}

// unchanged checks that path is still the open file, and that the file is not shorter than what
// was read.
func (t *tail) unchanged() error {
	open, err := t.f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(t.path)
	what := ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		what = "removed"
	case err != nil:
		return err
	case !os.SameFile(open, now):
		what = "replaced"
	case now.Size() < t.off:
		what = "cut"
	default:
		return nil
	}
	return t.broken(what)
}

func (t *tail) broken(what string) error {
	return sysexit.Hint(sysexit.Errorf(sysexit.Data, "follow %q: the file was %s after %d bytes were read",
		t.path, what, t.off), "logs are only appended to: restore it, or start again")
}

// Close closes the tail.
func (t *tail) Close() error {
	t.bell.silence()
	return t.f.Close()
}

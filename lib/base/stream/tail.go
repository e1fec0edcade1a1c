package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// pollEvery is the net below the watcher: how long a change can go unseen where
// the kernel tells nothing (a network file system, no inotify left).
const pollEvery = 250 * time.Millisecond

// Follow calls fn with each whole line of a growing file, without its newline,
// and its offset, from the line at offset from on, and waits for more until ctx
// ends, which is no error. The file may not exist yet. That it was cut or
// replaced is an error, since offsets mean nothing then. The line is valid
// during the call; blank lines are passed over.
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
				return sysexit.With(sysexit.Data, fmt.Errorf("%s: line at offset %d: longer than %d bytes", path, l.Offset, ndjson.MaxLine))
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

// tail reads a file that grows: at its end it waits. Its bytes are its own
// business; the watcher only wakes it. It hands out whole lines: what stands
// behind the last newline may be the torn end that a killed writer has left, and
// the next writer cuts that and writes something else in its place. And it hands out
// what is durable: what a reader makes of a line must not outlive the line.
type tail struct {
	ctx   context.Context
	path  string
	f     *os.File
	off   int64  // behind what was handed out or is ready
	known []byte // what stands right before off, and is read again with what follows
	buf   []byte // for reading
	ready []byte // whole lines, part of buf
	safe  safe
	bell  *bell
}

// tailSize is what is read at once, in bytes; it grows with a longer line.
const tailSize = 64 << 10

// knownSize is how much of what was read is compared with what stands there now,
// in bytes: a line of ours has its id within them, or its text.
const knownSize = 512

// openTail opens path, and waits for it to exist unless it must.
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

// begin sets where to read from: behind the end of a line, of which fill makes sure.
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

// fill reads what stands behind off and makes its whole lines ready. It reports
// whether it is worth trying again at once.
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
		return false, nil // it was cut: unchanged says so, unless it has grown again by then
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
		end = n - had // no line of ours is this long: it is refused, however it ends
	}
	if err := t.safe.upTo(t.off + int64(end)); err != nil {
		return false, err
	}
	t.ready = t.buf[had : had+end]
	t.off += int64(end)
	t.known = append(t.known[:0], t.buf[max(0, had+end-knownSize):had+end]...)
	return end > 0, nil
}

// unchanged makes sure that path is still the file that is open, and not shorter
// than what was read of it.
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
	return sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("follow %q: the file was %s after %d bytes were read", t.path, what, t.off)),
		"logs are only appended to; put it back, or begin anew")
}

// Close ends the tail.
func (t *tail) Close() error {
	t.bell.silence()
	return t.f.Close()
}

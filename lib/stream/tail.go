package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tri/lib/ndjson"
	"tri/lib/sysexit"
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
	if _, err := t.f.Seek(from, io.SeekStart); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	t.off = from
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
// business; the watcher only wakes it.
type tail struct {
	ctx  context.Context
	path string
	f    *os.File
	off  int64
	bell *bell
}

// openTail opens path, and waits for it to exist unless it must.
func openTail(ctx context.Context, path string, must bool) (*tail, error) {
	t := &tail{ctx: ctx, path: path}
	for {
		f, err := os.Open(path)
		if err == nil {
			t.f = f
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

// Read implements io.Reader; it returns ctx's error when ctx ends.
func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.f.Read(p)
		t.off += int64(n)
		if n > 0 {
			return n, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		if err := t.unchanged(); err != nil {
			return 0, err
		}
		if err := t.bell.wait(t.ctx); err != nil {
			return 0, err
		}
	}
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
	return sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("follow %q: the file was %s after %d bytes were read", t.path, what, t.off)),
		"logs are only appended to; put it back, or begin anew")
}

// Close ends the tail.
func (t *tail) Close() error {
	t.bell.silence()
	return t.f.Close()
}

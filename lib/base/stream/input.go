package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
)

// input reads the sources of an Input in order.
type input struct {
	ctx  context.Context
	in   Input
	todo []string
	cur  *ndjson.Reader
	file io.Closer
	live bool
}

// openInput checks that every source exists before any work starts.
func openInput(ctx context.Context, in Input) (*input, error) {
	todo := in.Files
	if len(todo) == 0 {
		todo = []string{"-"}
	}
	if in.Follow && len(in.Files) > 1 {
		return nil, sysexit.Errorf(sysexit.Usage, "only one file can be followed")
	}
	var total int64
	for _, name := range todo {
		if name == "-" || in.Follow {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		total += info.Size()
	}
	if !in.Follow && !slices.Contains(todo, "-") {
		in.Progress.Of(total, 0)
	}
	return &input{ctx: ctx, in: in, todo: todo}, nil
}

// next fills b, and reports whether its source is live. Between two sources b is empty, since the
// next source may block.
func (s *input) next(b *ndjson.Batch) (live bool, err error) {
	for {
		if s.cur == nil {
			if len(s.todo) == 0 {
				return false, io.EOF
			}
			if err := s.open(s.todo[0]); err != nil {
				return false, err
			}
			s.todo = s.todo[1:]
		}
		err := s.cur.Next(b)
		if err == nil {
			return s.live, nil
		}
		s.close()
		if err == io.EOF && len(s.todo) > 0 {
			return false, nil
		}
		if err != io.EOF {
			err = fmt.Errorf("read records: %w", err)
			if _, known := sysexit.Of(err); !known {
				err = sysexit.With(sysexit.IO, err)
			}
			if errors.Is(err, syscall.EISDIR) {
				err = sysexit.Hint(err, "name files of records; tri-watch export reads a folder of chats")
			}
			return false, err
		}
	}
}

func (s *input) open(name string) error {
	if name == "-" {
		s.live = !isRegular(s.in.Stdin)
		if term.Is(s.in.Stdin) && s.in.Say != nil {
			s.in.Say("reads records from this terminal, one JSON object a line; control-D ends them")
		}
		s.cur = ndjson.NewReader(s.in.Stdin, "stdin", 0, 0)
		return nil
	}
	if s.in.Follow {
		t, err := openTail(s.ctx, name, s.in.After >= 0)
		if err != nil {
			return err
		}
		s.live, s.file = true, t
		return s.start(name, t.f, t)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	s.live, s.file = !isRegular(f), f
	if s.in.Durable && !s.live {
		return s.start(name, f, &syncedReader{synced{f: f}})
	}
	return s.start(name, f, f)
}

// start starts reading src, which is f or reads from it, at the cursor.
func (s *input) start(name string, f *os.File, src io.Reader) error {
	var line, off int64
	if s.in.After >= 0 && isRegular(f) && len(s.in.Files) == 1 {
		var err error
		if off, err = resumeAt(f, s.in); err != nil {
			return fmt.Errorf("resume %q: %w", name, err)
		}
		if line, err = countLines(f, off); err != nil {
			return sysexit.Errorf(sysexit.IO, "read %q: %w", name, err)
		}
		if info, err := f.Stat(); err == nil && !s.in.Follow {
			s.in.Progress.Of(info.Size(), off)
		}
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			return sysexit.Errorf(sysexit.IO, "read %q: %w", name, err)
		}
	}
	if isRegular(f) {
		if err := durable.CheckFile(name, off); err != nil {
			return fmt.Errorf("read records: %w", err)
		}
	}
	if t, ok := src.(*tail); ok {
		t.begin(off)
	}
	s.cur = ndjson.NewReader(src, name, line, off)
	if !s.live {
		s.cur.Small()
	}
	return nil
}

func (s *input) close() {
	if s.file != nil {
		_ = s.file.Close() // opened for reading only
	}
	s.cur, s.file = nil, nil
}

func isRegular(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

func countLines(f io.ReaderAt, size int64) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for off := int64(0); off < size; {
		m, err := f.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		n += int64(bytes.Count(buf[:m], []byte{'\n'}))
		if off += int64(m); err != nil && off < size {
			return n, err
		}
	}
	return n, nil
}

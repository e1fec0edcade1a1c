package stream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// writeSize is how many bytes are buffered before a write while a finished input is read.
const writeSize = 256 << 10

// syncEvery bounds how long written data may stay unsynced while input continues; when input
// pauses it is synced at once.
const syncEvery = 50 * time.Millisecond

// sink is a stage's output: a log that it owns, or stdout.
type sink struct {
	stdout io.Writer
	file   string
	log    *durable.Log
	lock   *durable.Lock
	dirty  time.Time // time of the first write since the last sync; zero: none
}

func openSink(out Output) (*sink, error) {
	if out.File == "" {
		return &sink{stdout: out.Stdout}, nil
	}
	s := &sink{file: out.File}
	dir, base := filepath.Split(out.File)
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	home, err := durable.Open(dir)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	s.lock, err = home.TryLock("." + base + ".lock")
	if err == nil {
		if s.log, err = durable.OpenLogFile(out.File); err != nil {
			return nil, firstError(err, s.close())
		}
		err = s.lock.On(home, base)
	}
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(err, "another process appends to this file; only one may")
	}
	if err != nil {
		return nil, firstError(fmt.Errorf("write %q: %w", out.File, err), s.close())
	}
	return s, nil
}

// resume cuts off a torn line that a killed process left, and sets in.After to the end of the
// output.
func (s *sink) resume(in *Input) error {
	if s.log == nil {
		return nil
	}
	for _, name := range in.Files {
		if same(name, s.log.File()) {
			return sysexit.Errorf(sysexit.Usage, "%q is both input and output", name)
		}
	}
	size, err := s.log.Write(func(int64) ([]byte, error) { return nil, nil })
	if err != nil {
		return err
	}
	seq, line, err := lastSeq(s.log.File(), size)
	if err != nil {
		return fmt.Errorf("resume %q: %w", s.file, err)
	}
	if seq < 0 && size > 0 {
		return sysexit.Hint(sysexit.Errorf(sysexit.Data, "resume %q: its last record has no seq", s.file),
			"only records from tri-watch can be resumed; write others with > or >>")
	}
	if seq >= in.After {
		in.After, in.last = seq, line
	}
	return nil
}

func same(name string, f *os.File) bool {
	a, err1 := os.Stat(name)
	b, err2 := f.Stat()
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// write writes whole lines with one write.
func (s *sink) write(lines []byte) error {
	if s.log == nil {
		if _, err := s.stdout.Write(lines); err != nil {
			return sysexit.Errorf(sysexit.IO, "write records: %w", err)
		}
		return nil
	}
	if _, err := s.log.Write(func(int64) ([]byte, error) { return lines, nil }); err != nil {
		return err
	}
	if s.dirty.IsZero() {
		s.dirty = time.Now()
	}
	if time.Since(s.dirty) >= syncEvery {
		return s.sync()
	}
	return nil
}

func (s *sink) sync() error {
	if s.dirty.IsZero() {
		return nil
	}
	s.dirty = time.Time{}
	return s.log.Sync()
}

func (s *sink) close() error {
	var err error
	if s.log != nil {
		err = errors.Join(s.sync(), s.log.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}

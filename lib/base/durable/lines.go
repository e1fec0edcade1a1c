package durable

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// Lines calls fn for each whole line of a log from an offset; the line is valid until fn returns.
// A missing log is empty. A line over ndjson.MaxLine is skipped, and so is a torn last one: its
// writer has not acknowledged it.
func (h *Home) Lines(name string, from int64, fn func(line []byte) error) error {
	return h.LinesUntil(name, from, -1, fn)
}

// LinesUntil is Lines for the lines that begin before an offset; -1 means the end.
func (h *Home) LinesUntil(name string, from, until int64, fn func(line []byte) error) error {
	return h.lines(name, from, until, func(line []byte, _ int64) error { return fn(line) })
}

// Tail is Lines for repeated reads: fn also receives the offset after the line.
func (h *Home) Tail(name string, from int64, fn func(line []byte, next int64) error) error {
	return h.lines(name, from, -1, fn)
}

func (h *Home) lines(name string, from, until int64, fn func(line []byte, next int64) error) error {
	f, err := OpenFile(h.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return linesError(name, err)
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return linesError(name, err)
	}
	r := bufio.NewReaderSize(f, ndjson.MaxLine+1)
	for until < 0 || from < until {
		line, err := r.ReadSlice('\n')
		from += int64(len(line))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			from += passOver(r)
			continue
		case err != nil:
			return linesError(name, err)
		}
		if err := fn(line[:len(line)-1], from); err != nil {
			return err
		}
	}
	return nil
}

// passOver reads to the end of a line that is too long. The next read returns any error again.
func passOver(r *bufio.Reader) (n int64) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n
		}
	}
}

func linesError(name string, err error) error {
	return sysexit.Errorf(sysexit.IO, "read %s: %w", name, err)
}

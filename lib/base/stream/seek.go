package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// LastSeq returns the seq of a file's last whole record; -1 when there is none,
// or no file.
func LastSeq(path string) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return -1, sysexit.With(sysexit.IO, err)
	}
	seq, _, err := lastSeq(f, info.Size())
	if err != nil {
		return -1, fmt.Errorf("read %q: %w", path, err)
	}
	return seq, nil
}

func lastSeq(f io.ReaderAt, size int64) (seq int64, line []byte, err error) {
	line, _, err = durable.LastLine(f, size)
	if err != nil {
		return -1, nil, sysexit.With(sysexit.IO, err)
	}
	if line == nil {
		return -1, nil, nil
	}
	if err := ndjson.Check(line); err != nil {
		return -1, nil, sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("last record: %w", err)),
			"it was not written by this program; look at its end and cut it there")
	}
	return seqOf(line), line, nil
}

// seqOf is -1 for a line that is no record or has no seq.
func seqOf(line []byte) int64 { return ndjson.Seq(member(line, "seq")) }

// resumeAt returns the offset in f from which to read: of the first record whose
// seq is at least in.After-in.Window. The record with seq in.After must be there; in
// the log itself, whose records have their own offsets as seq, not before that offset.
// Where what was made of it names a message, it is of the same: another log can have
// a record in the same place.
func resumeAt(f *os.File, in Input) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, sysexit.With(sysexit.IO, err)
	}
	s := seeker{f: f, size: info.Size()}
	if in.Follow {
		// Behind the last newline stands what the writer may still take back.
		if _, s.size, err = durable.LastLine(f, s.size); err != nil {
			return 0, sysexit.With(sysexit.IO, err)
		}
	}
	return s.resume(in)
}

// resume is resumeAt in a file of known size.
func (s *seeker) resume(in Input) (int64, error) {
	off, err := s.cursor(in)
	if err != nil || in.Window <= 0 {
		return off, err
	}
	off, _, err = s.search(max(0, in.After-in.Window))
	return off, err
}

// cursor is the offset of the record with seq in.After, which must be there.
func (s *seeker) cursor(in Input) (int64, error) {
	off, seq, err := s.search(in.After)
	if err != nil {
		return 0, err
	}
	here, _, err := s.line(off)
	if err != nil {
		return 0, err
	}
	there := seq == in.After && sameMessage(here, in.last)
	if there && off < in.After {
		var log bool
		log, err = s.isLog()
		there = !log
	}
	if !there {
		err = sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("no record with seq %d where it belongs: the file was cut or replaced", in.After)),
			"put the old file back, or begin anew by moving away what was made from it")
	}
	return off, err
}

// sameMessage is false for two records that name different messages.
func sameMessage(a, b []byte) bool {
	x, y := member(a, "message_id"), member(b, "message_id")
	return x == nil || y == nil || bytes.Equal(x, y)
}

func member(line []byte, key string) []byte {
	var s ndjson.Scanner
	if s.Scan(line) != nil {
		return nil
	}
	rec := ndjson.Record{Members: s.Members}
	return rec.Get(key)
}

// seeker finds records by their seq in a file where seq grows.
type seeker struct {
	f    io.ReaderAt
	size int64
}

// search returns offset and seq of the first record whose seq is at least n;
// the end and -1 when there is none.
func (s *seeker) search(n int64) (off, seq int64, err error) {
	lo, hi := int64(0), s.size // the record is the first behind lo, or stands at hi or later
	for lo < hi {
		mid := lo + (hi-lo)/2
		at, seq, _, err := s.record(mid)
		switch {
		case err != nil:
			return 0, -1, err
		case at < 0 || seq >= n:
			hi = mid
		default:
			lo = at + 1
		}
	}
	off, seq, _, err = s.record(lo)
	if off < 0 {
		return s.size, -1, err
	}
	return off, seq, err
}

// record returns offset, seq and end of the first line with a seq that begins
// at or behind from; -1 when there is none.
func (s *seeker) record(from int64) (off, seq, end int64, err error) {
	if from > 0 {
		// The line that begins at from begins behind a newline at from-1.
		if _, from, err = s.line(from - 1); err != nil {
			return -1, -1, -1, err
		}
	}
	for from < s.size {
		line, end, err := s.line(from)
		if err != nil {
			return -1, -1, -1, err
		}
		if seq := seqOf(line); seq >= 0 {
			return from, seq, end, nil
		}
		from = end
	}
	return -1, -1, -1, nil
}

// line returns the bytes from off up to the next newline and the offset behind
// it. Of an over-long line the bytes are cut.
func (s *seeker) line(off int64) (line []byte, end int64, err error) {
	buf := make([]byte, 4<<10)
	for at := off; at < s.size; {
		n, err := s.f.ReadAt(buf[:min(int64(len(buf)), s.size-at)], at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return append(line, buf[:i]...), at + int64(i) + 1, nil
		}
		if err != nil && err != io.EOF || n == 0 {
			return nil, 0, sysexit.With(sysexit.IO, err)
		}
		if len(line) <= ndjson.MaxLine {
			line = append(line, buf[:n]...)
		}
		at += int64(n)
	}
	return line, s.size, nil
}

// isLog reports whether seq is the offset in this very file: it is for the second
// record. It is there, too, in the output of a stage that has added nothing to the
// first one; but what is added moves later records behind their seq, and what is
// cut out of a log moves them before it.
func (s *seeker) isLog() (bool, error) {
	_, _, end, err := s.record(0)
	if err != nil || end < 0 {
		return false, err
	}
	off, seq, _, err := s.record(end)
	return off >= 0 && off == seq, err
}

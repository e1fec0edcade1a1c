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

// LastSeq returns the seq of a file's last whole record; -1 if there is no record or no file.
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
		return -1, nil, sysexit.Hint(sysexit.Errorf(sysexit.Data, "last record: %w", err),
			"it was not written by this program; look at its end and cut it there")
	}
	return seqOf(line), line, nil
}

// seqOf returns -1 for a line that is not a record or has no seq.
func seqOf(line []byte) int64 { return ndjson.Seq(member(line, "seq")) }

// resumeAt returns the offset in f at which to resume: the first record whose seq is at least
// in.After-in.Window. The record with seq in.After must exist; in the log itself, where seq is the
// record's offset, it must not be before that offset. If the last output names a message, the
// record must name the same one: another log can have a record at the same offset.
func resumeAt(f *os.File, in Input) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, sysexit.With(sysexit.IO, err)
	}
	s := seeker{f: f, size: info.Size()}
	if in.Follow {
		// The writer may still cut off a line without newline.
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

// cursor returns the offset of the record with seq in.After, which must exist.
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
		err = sysexit.Hint(sysexit.Errorf(sysexit.Data,
			"no record with seq %d where it belongs: the file was cut or replaced", in.After),
			"restore the old file, or start again by moving away the files made from it")
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

// seeker finds records by seq in a file whose seqs increase.
type seeker struct {
	f    io.ReaderAt
	size int64
}

// search returns offset and seq of the first record whose seq is at least n; the end and -1 if
// there is none.
func (s *seeker) search(n int64) (off, seq int64, err error) {
	lo, hi := int64(0), s.size // the record is the first after lo, or at hi or later
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

// record returns offset, seq and end of the first line with a seq that begins at or after from; -1
// if there is none.
func (s *seeker) record(from int64) (off, seq, end int64, err error) {
	if from > 0 {
		// A line that begins at from is preceded by a newline at from-1.
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

// line returns the bytes from off up to the next newline and the offset after it. An over-long
// line is truncated.
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

// isLog reports whether seq is the offset in this file: it is for the second record of a log. The
// output of a stage that added nothing to the first record has this property, too; but added text
// moves later records past their seq, while text removed from a log moves them before it.
func (s *seeker) isLog() (bool, error) {
	_, _, end, err := s.record(0)
	if err != nil || end < 0 {
		return false, err
	}
	off, seq, _, err := s.record(end)
	return off >= 0 && off == seq, err
}

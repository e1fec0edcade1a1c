package ndjson

import (
	"bytes"
	"io"
)

// Sizes of a Reader's buffers, in bytes and lines. A batch is bounded in lines too, so that a
// stage's memory for it stays small.
const (
	readSize  = 256 << 10
	batchSize = 256 << 10
	batchMax  = 512
	keepLong  = 256 // bytes kept of an over-long line, to show it

	smallSize = 128 << 10
	smallMax  = 256
)

// Reader splits a stream into lines in bounded memory.
type Reader struct {
	src    io.Reader
	source string
	small  bool
	line   int64 // lines read so far
	offset int64 // in the source, of buf[r]

	buf     []byte
	r, scan int // the next line begins at r; no newline before scan
	err     error

	long   []byte // head of the over-long line being skipped; nil: none
	longAt int64
}

// NewReader reads the lines of src, which records name source. The first line has number line+1
// and the given offset: pass 0 and 0 at the start.
func NewReader(src io.Reader, source string, line, offset int64) *Reader {
	return &Reader{src: src, source: source, line: line, offset: offset, buf: make([]byte, 0, readSize)}
}

// Small makes batches small enough to fit, with the results, in one core's cache, for callers that
// pass them from core to core.
func (r *Reader) Small() { r.small = true }

// Batch is a sequence of lines, in memory of its own.
type Batch struct {
	Lines []Line
	buf   []byte
}

// Line is one line of a batch. Only the head of an over-long line is kept.
type Line struct {
	Record
	Long       bool
	start, end int
}

// Size returns the total size of the lines, in bytes.
func (b *Batch) Size() int { return len(b.buf) }

// Next fills b with the lines that are available without waiting, after the first; blank lines are
// counted and skipped. At the end of the source a last line without a newline counts as a line,
// and the error is then io.EOF; any other error of the source drops it. b is reused.
func (r *Reader) Next(b *Batch) error {
	b.Lines, b.buf = b.Lines[:0], b.buf[:0]
	for {
		r.cut(b)
		if len(b.Lines) > 0 {
			b.bind()
			return nil
		}
		if r.err != nil {
			if r.err != io.EOF || !r.last(b) {
				return r.err
			}
			b.bind()
			return nil
		}
		r.fill()
	}
}

// bind points the lines into b's memory, which no longer moves.
func (b *Batch) bind() {
	for i := range b.Lines {
		l := &b.Lines[i]
		l.Bytes = b.buf[l.start:l.end:l.end]
	}
}

// cut moves whole lines from the buffer to b.
func (r *Reader) cut(b *Batch) {
	lines, size := batchMax, batchSize
	if r.small {
		lines, size = smallMax, smallSize
	}
	for len(b.Lines) < lines && len(b.buf) < size {
		n := bytes.IndexByte(r.buf[r.scan:], '\n')
		if n < 0 {
			r.scan = len(r.buf)
			r.drop()
			return
		}
		end := r.scan + n
		r.take(b, r.buf[r.r:end])
		r.offset += int64(end + 1 - r.r)
		r.r, r.scan = end+1, end+1
	}
}

// take adds one line to b.
func (r *Reader) take(b *Batch, line []byte) {
	r.line++
	l := Line{Record: Record{Source: r.source, Line: r.line, Offset: r.offset, Seq: -1}, start: len(b.buf)}
	switch {
	case r.long != nil:
		line, l.Offset, l.Long = r.long, r.longAt, true
		r.long = nil
	case len(line) > MaxLine:
		line, l.Long = line[:keepLong], true
	case blank(line):
		return
	}
	b.buf = append(b.buf, line...)
	l.end = len(b.buf)
	b.Lines = append(b.Lines, l)
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// drop discards an unfinished line that is already too long.
func (r *Reader) drop() {
	have := len(r.buf) - r.r
	if r.long == nil {
		if have <= MaxLine {
			return
		}
		r.long = bytes.Clone(r.buf[r.r : r.r+keepLong])
		r.longAt = r.offset
	}
	r.offset += int64(have)
	r.buf, r.r, r.scan = r.buf[:0], 0, 0
}

// last takes a final line without a newline.
func (r *Reader) last(b *Batch) bool {
	if r.r == len(r.buf) && r.long == nil {
		return false
	}
	r.take(b, r.buf[r.r:])
	r.r, r.scan = len(r.buf), len(r.buf)
	return len(b.Lines) > 0
}

// fill reads once, after the rest of the buffer.
func (r *Reader) fill() {
	if r.r > 0 {
		n := copy(r.buf, r.buf[r.r:])
		r.buf, r.scan, r.r = r.buf[:n], r.scan-r.r, 0
	}
	if len(r.buf) == cap(r.buf) {
		r.buf = append(make([]byte, 0, min(2*cap(r.buf), MaxLine+readSize)), r.buf...)
	}
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf, r.err = r.buf[:len(r.buf)+n], err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

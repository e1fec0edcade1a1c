package stream

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// A stage that holds records back writes them in another order than it read them, so the last seq
// of its output is not a cursor: with A = {1, 4} and B = {2, 3}, B's records are written first,
// and after a kill the next process must not skip A's 1. Each line of such an output therefore
// carries a low-water mark, "low": every record of the input up to and including that seq has been
// written. The mark is the cursor: the input is read again after it, and the records that were
// already written, which the end of the output lists, go to Warm. So each is written once, however
// often the stage is killed.
//
// The output is not ordered by seq: it is for consumers that keep their own position, not for
// another stage with --out.

// held is the pipeline's state for a stage that holds records back.
type held struct {
	low  int64          // every record up to this seq is written; -1: none
	read []int64        // seqs read after low, in order
	out  map[int64]bool // seqs after low that an earlier process wrote
	next time.Time      // when Flush is to be called; zero: never
}

// resumeHeld sets in.After to the low-water mark of the output, and returns the seqs after it that
// are already written.
func (s *sink) resumeHeld(in *Input, hold int64) (map[int64]bool, error) {
	if err := s.resume(in); err != nil || s.log == nil {
		return nil, err
	}
	f := s.log.File()
	info, err := f.Stat()
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	out := map[int64]bool{}
	low, first := int64(-1), true
	for size := info.Size(); size > 0; {
		line, end, err := durable.LastLine(f, size)
		if err != nil {
			return nil, sysexit.Errorf(sysexit.IO, "resume %q: %w", s.file, err)
		}
		if line == nil {
			break
		}
		size = end - int64(len(line)) - 1
		seq := seqOf(line)
		if first {
			mark := member(line, "low")
			if mark == nil {
				err := fmt.Errorf("resume %q: its last record has no low-water mark", s.file)
				return nil, sysexit.With(sysexit.Data, err)
			}
			low, first = ndjson.Seq(mark), false // -1 is not a valid Seq, and -1 is meant
			if low < seq {
				in.last = nil // it was made from another record than that at low
			}
		}
		if seq < low-hold { // written before the record after low was read
			break
		}
		if seq > low {
			out[seq] = true
		}
	}
	if !first {
		in.After = low
	}
	return out, nil
}

// took records that a record was passed to the stage.
func (h *held) took(seq int64) {
	if seq >= 0 {
		h.read = append(h.read, seq)
	}
}

// advance advances the mark to the record before the lowest one held; -1: none is held.
func (h *held) advance(lowest int64) {
	n := 0
	for n < len(h.read) && (lowest < 0 || h.read[n] < lowest) {
		h.low = h.read[n]
		delete(h.out, h.low)
		n++
	}
	h.read = append(h.read[:0], h.read[n:]...)
}

// errUnheld reports a bug of the stage.
var errUnheld = errors.New("a stage that holds records back writes them in Flush, not in Emit")

// flush asks the stage for the lines that are due. Only the last line carries the new mark: a
// crash can leave the first of several lines written together.
func (p *pipeline[T]) flush(now time.Time, all bool) error {
	lines, lowest, next := p.st.Flush(p.lines[:0], now, all)
	p.lines, p.held.next = lines, next
	before := p.held.low
	p.held.advance(lowest)
	for len(lines) > 0 {
		line, rest, whole := bytes.Cut(lines, []byte("\n"))
		body, closed := bytes.CutSuffix(line, []byte("}"))
		if !whole || !closed {
			return errors.New("a held record is not a line of JSON")
		}
		mark := before
		if len(rest) == 0 {
			mark = p.held.low
		}
		p.buf = append(append(p.buf, body...), `,"low":`...)
		p.buf = append(strconv.AppendInt(p.buf, mark, 10), "}\n"...)
		lines = rest
	}
	return nil
}

// flushAfter flushes after a record: by the records' own times, or all of them if the mark has
// fallen too far behind.
func (p *pipeline[T]) flushAfter(seq int64) error {
	p.held.took(seq)
	return p.flush(time.Time{}, len(p.held.read) > 0 && seq-p.held.read[0] > p.st.Hold)
}

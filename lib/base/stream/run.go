package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// liveBatch is the size in bytes up to which a batch of live input is written record by record. A
// larger batch is a backlog and is written at once.
const liveBatch = 16 << 10

// bigLine is the size in bytes from which lines are prepared one at a time, so that several
// hostile lines cannot exhaust the memory together.
const bigLine = 64 << 10

// block is a batch in progress: filled by the feeder, prepared by a worker, emitted in order by
// the caller of run, and reused.
type block[T any] struct {
	ndjson.Batch
	live  bool // each record is written at once
	waits bool // the next block may take long to arrive
	recs  []T
	errs  []error
	ready chan struct{}
}

type pipeline[T any] struct {
	st     Stage[T]
	repair func(ndjson.Record, error) ([]byte, error)
	shows  *term.Progress
	sink   *sink // nil: no output
	cursor cursor
	bad    *rejects
	stats  Stats
	buf    []byte
	held   held
	lines  []byte     // of Flush
	waits  bool       // as in the last block
	big    sync.Mutex // held while a big line is prepared

	free, work, order chan *block[T]
	feedErr           error // set before order is closed
}

// run is Run with an open output. done are the seqs after in.After that are already written.
func run[T any](
	ctx context.Context, in Input, out *sink, st Stage[T], done map[int64]bool,
) (stats Stats, err error) {
	bad, err := openRejects(in)
	if err != nil {
		return Stats{}, err
	}
	defer func() { err = firstError(err, bad.close()) }()
	src, err := openInput(ctx, in)
	if err != nil {
		return Stats{}, err
	}
	procs := runtime.GOMAXPROCS(0)
	blocks := 2*procs + 2 // enough that no goroutine waits for one
	p := &pipeline[T]{
		st: st, repair: in.Repair, shows: in.Progress, sink: out,
		cursor: cursor{after: in.After, past: in.After < 0, low: in.After - in.Window}, bad: bad,
		held: held{low: in.After, out: done},
		free: make(chan *block[T], blocks), work: make(chan *block[T], blocks),
		order: make(chan *block[T], blocks),
	}
	for range blocks {
		p.free <- &block[T]{ready: make(chan struct{}, 1)}
	}
	for range procs {
		go p.worker()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go p.feed(ctx, src)
	err = p.emitAll(ctx)
	p.shows.Done()
	if err == nil && p.stats.Refused > 0 {
		err = sysexit.With(sysexit.Data, Refusals(p.stats.Refused))
	}
	return p.stats, err
}

// Refusals is the error of a stream that ended well: how many of its records were refused.
type Refusals int64

func (n Refusals) Error() string { return text.Count(int(n), "record") + " refused" }

// feed reads batches until the input or ctx ends.
func (p *pipeline[T]) feed(ctx context.Context, src *input) {
	defer close(p.order)
	defer close(p.work)
	defer src.close()
	var scan ndjson.Scanner
	for {
		var b *block[T]
		select {
		case b = <-p.free:
		case <-ctx.Done():
			return
		}
		live, err := src.next(&b.Batch)
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				p.feedErr = err
			}
			return
		}
		b.live, b.waits = live && b.Size() <= liveBatch, live || len(b.Lines) == 0
		if b.live {
			p.prepare(&scan, b) // waking another core would take longer
		} else {
			p.work <- b
		}
		p.order <- b
	}
}

func (p *pipeline[T]) worker() {
	var scan ndjson.Scanner
	for b := range p.work {
		p.prepare(&scan, b)
	}
}

// prepare checks lines and does the work that needs no order.
func (p *pipeline[T]) prepare(scan *ndjson.Scanner, b *block[T]) {
	if len(b.recs) < len(b.Lines) {
		b.recs = append(b.recs, make([]T, len(b.Lines)-len(b.recs))...)
	}
	b.errs = b.errs[:0]
	for i := range b.Lines {
		b.errs = append(b.errs, p.prepareOne(scan, &b.Lines[i], &b.recs[i]))
	}
	b.ready <- struct{}{}
}

func (p *pipeline[T]) prepareOne(scan *ndjson.Scanner, line *ndjson.Line, t *T) error {
	if line.Long {
		return fmt.Errorf("longer than %d bytes", ndjson.MaxLine)
	}
	if len(line.Bytes) >= bigLine {
		p.big.Lock()
		defer p.big.Unlock()
		scan = new(ndjson.Scanner)
	}
	if err := scan.Scan(line.Bytes); err != nil {
		return err
	}
	line.Members = scan.Members
	line.Seq = ndjson.Seq(line.Get("seq"))
	err := p.st.Prepare(line.Record, t)
	if err != nil && p.repair != nil {
		err = p.repaired(scan, line, t, err)
	}
	line.Members = nil
	return err
}

// repaired prepares a refused record again, as Input.Repair returns it.
func (p *pipeline[T]) repaired(scan *ndjson.Scanner, line *ndjson.Line, t *T, cause error) error {
	whole, err := p.repair(line.Record, cause)
	if err != nil {
		return err
	}
	if err := scan.Scan(whole); err != nil {
		return err
	}
	rec := line.Record
	rec.Bytes, rec.Members = whole, scan.Members
	return p.st.Prepare(rec, t)
}

// emitAll emits the blocks in order until the end.
func (p *pipeline[T]) emitAll(ctx context.Context) error {
	for {
		b, err := p.next(ctx)
		if b == nil && err == nil && ctx.Err() == nil && p.st.Flush != nil {
			err = p.flush(time.Time{}, true)
		}
		if b == nil || err != nil {
			return firstError(err, p.write())
		}
		if err := p.emit(ctx, b); err != nil {
			return err
		}
		p.free <- b
	}
}

// next waits for a block, nil at the end. Before a long wait, pending output is written and made
// durable.
func (p *pipeline[T]) next(ctx context.Context) (*block[T], error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	var b *block[T]
	more := true
	select {
	case b, more = <-p.order:
	default:
		for waiting := true; waiting; {
			if p.waits {
				if err := p.rest(); err != nil {
					return nil, err
				}
			}
			waiting = false
			select {
			case b, more = <-p.order:
			case <-p.deadline():
				waiting = true
			case <-ctx.Done():
				return nil, nil
			}
		}
	}
	if !more {
		return nil, p.feedErr
	}
	<-b.ready
	p.waits = b.waits
	return b, nil
}

// rest flushes, writes and syncs when the input pauses.
func (p *pipeline[T]) rest() error {
	if p.st.Flush != nil {
		if err := p.flush(time.Now(), false); err != nil {
			return err
		}
	}
	if err := firstError(p.write(), p.bad.sync()); err != nil || p.sink == nil {
		return err
	}
	return p.sink.sync()
}

// deadline fires when the stage wants to flush, or never.
func (p *pipeline[T]) deadline() <-chan time.Time {
	if p.held.next.IsZero() || !p.waits {
		return nil
	}
	return time.After(max(time.Millisecond, time.Until(p.held.next)))
}

func (p *pipeline[T]) emit(ctx context.Context, b *block[T]) error {
	if p.st.Begin != nil {
		p.st.Begin()
	}
	for i := range b.Lines {
		if ctx.Err() != nil {
			break
		}
		had := p.stats
		if err := p.emitOne(&b.Lines[i], &b.recs[i], b.errs[i]); err != nil {
			return firstError(err, p.write())
		}
		p.shows.Add(p.stats.Records+p.stats.Refused-had.Records-had.Refused, int64(len(b.Lines[i].Bytes))+1)
		if b.live || len(p.buf) >= writeSize {
			if err := p.write(); err != nil {
				return err
			}
		}
	}
	if !b.waits {
		return nil
	}
	return p.write()
}

func (p *pipeline[T]) write() error {
	if p.sink == nil || len(p.buf) == 0 {
		return nil
	}
	err := p.sink.write(p.buf)
	p.buf = p.buf[:0]
	return err
}

func (p *pipeline[T]) emitOne(line *ndjson.Line, t *T, bad error) error {
	switch p.cursor.place(line.Seq) {
	case before:
		return nil
	case warm:
		if bad == nil && p.st.Warm != nil {
			p.st.Warm(t)
		}
		return nil
	}
	if p.held.out[line.Seq] {
		p.held.took(line.Seq)
		if bad == nil && p.st.Warm != nil {
			p.st.Warm(t)
		}
		return nil
	}
	if bad == nil {
		had := len(p.buf)
		out, err := p.st.Emit(p.buf, t)
		if err == nil && p.st.Flush != nil {
			if len(out) != had {
				return errUnheld
			}
			p.stats.Records++
			return p.flushAfter(line.Seq)
		}
		if err == nil {
			p.buf = out
			p.stats.Records++
			return nil
		}
		p.buf = out[:min(had, len(out))] // discard partial output of a refused record
		if !errors.As(err, &refused{}) {
			return err
		}
		bad = err
	}
	p.stats.Refused++
	return p.bad.add(line, bad)
}

// cursor distinguishes new records from those that an earlier process handled.
type cursor struct {
	after, low int64
	past       bool // a record at or after after has been seen
}

const (
	before = iota // skip
	warm          // pass to Warm
	fresh
)

// place says what to do with a record of this seq. A line without seq, such as a malformed one, is
// treated like its neighbours.
func (c *cursor) place(seq int64) int {
	switch {
	case c.past && (seq < 0 || seq > c.after):
		return fresh
	case seq > c.after:
		c.past = true
		return fresh
	case seq < 0:
		return before
	}
	c.past = c.past || seq == c.after
	if seq >= c.low {
		return warm
	}
	return before
}

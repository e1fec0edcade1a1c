// Package stream moves records: Run is every filter, in a pipe or between files; Each is every
// consumer; Follow reads a growing log. A stage's output is its cursor, so the two cannot disagree
// after a crash: a record is in the output or it is not, and the next start resumes from there.
//
// A finished file is processed on all cores, in batches that fit their caches, and written in
// large blocks. Live input (a pipe, a terminal, a followed file) is written one record at a time,
// each before waiting for the next.
package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
)

// Input says where records come from.
type Input struct {
	Files  []string  // in this order; none, or "-", means Stdin
	Stdin  io.Reader // shown as "stdin" in messages
	Follow bool      // wait for more at the end of the one file; it may not exist yet

	// Durable delivers records of files only once they are durable, as a caller that stores
	// derived results needs. A followed file is always read so.
	Durable bool

	// After skips records whose seq is at most this; -1 skips none (0 skips the first). In a file
	// a record with this seq must exist; otherwise the file was cut or replaced, which is an
	// error.
	After int64
	last  []byte // the output made from the record at After, if known
	// Window is how many bytes before After are read again for Stage.Warm.
	Window int64

	// Repair is called with a record that Prepare, or the fn of Each, refused, and why. It returns
	// the line to take in its place, or the error to report. May be nil.
	Repair func(rec ndjson.Record, cause error) ([]byte, error)

	Rejects string                           // refused records are appended to this file; "": not saved
	Say     func(format string, args ...any) // reports refused records; may be nil

	// Progress counts the records, and the bytes of the files. It is ended with the input. May be nil.
	Progress *term.Progress
}

// Output is where a stage's records go.
type Output struct {
	// File is appended to durably and is the stage's cursor: input up to its last seq is skipped.
	// One process at a time may use it. "": Stdout.
	File   string
	Stdout io.Writer
}

// Stats counts the new records: those up to After do not count.
type Stats struct {
	Records int64 // accepted ones
	Refused int64
}

// Stage processes records. A T is reused for later records: Prepare must set all of it.
type Stage[T any] struct {
	// Prepare is called for each record, on any core, in any order. Its error refuses the record.
	// The record's bytes and members stay valid until Emit or Warm has returned for it.
	Prepare func(rec ndjson.Record, t *T) error
	// Begin is called before Emit and Warm, once for some records that arrived together. It is the
	// place to read what can change while a stage waits, such as the time. May be nil.
	Begin func()
	// Emit is called in order and appends whole lines to dst. An error made by Refuse refuses the
	// record, any other ends the run.
	Emit func(dst []byte, t *T) ([]byte, error)
	// Warm is called in order, instead of Emit, for records that an earlier process has handled.
	// May be nil.
	Warm func(t *T)

	// Flush, if not nil, makes this a stage that holds records back by time: Emit only accepts a
	// record, and Flush appends the whole lines that are due. It returns the lowest seq that is
	// still held (-1: none) and the latest time of its next call if no record comes before (zero:
	// none). It is called after each record with the zero time, for stages that go by the records'
	// own times; with the current time when the input pauses; and with all at its end, or if the
	// lowest held record is more than Hold bytes of seq behind. Each accepted record is written
	// once, under its own seq and without a "low", which the pipeline adds.
	Flush func(dst []byte, now time.Time, all bool) (lines []byte, lowest int64, next time.Time)
	// Hold is how many bytes of the log Flush may hold a record back over.
	Hold int64
}

type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Refuse returns the error by which a step refuses one record without ending the stream: the
// record is reported, saved and counted.
func Refuse(format string, args ...any) error { return refused{fmt.Errorf(format, args...)} }

// Each calls fn with each accepted record in order. The record's bytes are valid during the call.
// An error of fn ends it, unless made by Refuse. A cancelled context ends it between two records,
// without an error. If records were refused, the error says how many and carries sysexit.Data.
func Each(ctx context.Context, in Input, fn func(ndjson.Record) error) (Stats, error) {
	return run(ctx, in, nil, Stage[ndjson.Record]{
		Prepare: func(rec ndjson.Record, t *ndjson.Record) error {
			*t = rec
			t.Members = nil
			return nil
		},
		Emit: func(dst []byte, t *ndjson.Record) ([]byte, error) {
			err := fn(*t)
			if errors.As(err, new(refused)) && in.Repair != nil {
				err = again(*t, in.Repair, err, fn)
			}
			return dst, err
		},
	}, nil)
}

// again calls fn with a refused record as repair returns it.
func again(rec ndjson.Record, repair func(ndjson.Record, error) ([]byte, error), cause error,
	fn func(ndjson.Record) error) error {
	var scan ndjson.Scanner
	if err := scan.Scan(rec.Bytes); err != nil {
		return Refuse("%w", err)
	}
	rec.Members = scan.Members
	whole, err := repair(rec, errors.Unwrap(cause))
	if err != nil {
		return Refuse("%w", err)
	}
	rec.Bytes, rec.Members = whole, nil
	return fn(rec)
}

// Run sends records through st to out. It ends as Each does, and with sysexit.TempFail if another
// process is using out.File.
func Run[T any](ctx context.Context, in Input, out Output, st Stage[T]) (stats Stats, err error) {
	sink, err := openSink(out)
	if err != nil {
		return Stats{}, err
	}
	in.Durable = in.Durable || out.File != ""
	var done map[int64]bool
	if st.Flush == nil {
		err = sink.resume(&in)
	} else {
		done, err = sink.resumeHeld(&in, st.Hold)
	}
	if err != nil {
		return Stats{}, firstError(err, sink.close())
	}
	stats, err = run(ctx, in, sink, st, done)
	return stats, firstError(err, sink.close())
}

// firstError returns the earlier error, but prefers any error to a refusal.
func firstError(a, b error) error {
	if a == nil {
		return b
	}
	if status, _ := sysexit.Of(a); b != nil && status == sysexit.Data {
		return b
	}
	return a
}

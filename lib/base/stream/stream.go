// Package stream moves records: Run is every filter, in a pipe or between files; Each is
// every consumer; Follow reads a growing log. A stage's output is its cursor, so that a
// crash between the two cannot happen: a record is in the output or it is
// not, and the next start reads there how far the last one came.
//
// A finished file is worked on by all cores, in batches that fit their caches, and
// written in big pieces.
// Live input (a pipe, a terminal, a file that is followed) is written one record
// at a time, each before the next is waited for.
package stream

import (
	"context"
	"fmt"
	"io"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// Input is where records come from.
type Input struct {
	Files  []string  // in this order; none, or "-", is Stdin
	Stdin  io.Reader // shown as "stdin" in messages
	Follow bool      // wait for more at the end of the one file; it may not exist yet

	// Durable gives out records of files only when no power cut can take them away,
	// as who keeps what it makes of them must ask. What is followed always is.
	Durable bool

	// After skips records whose seq is at most this; -1 skips none. Mind that 0
	// skips the first. In a file a record with this very seq must stand, or the
	// file was cut or replaced, which is an error.
	After int64
	last  []byte // what was made of the record at After, where that is known
	// Window is how many bytes before After are read again for Stage.Warm.
	Window int64

	Rejects string                           // refused records are appended to this file; "": nowhere
	Say     func(format string, args ...any) // names refused records to a person; may be nil
}

// Output is where a stage's records go.
type Output struct {
	// File is appended to durably and is the stage's cursor: input up to its last
	// seq is skipped. One process at a time may have it. "": Stdout.
	File   string
	Stdout io.Writer
}

// Stats counts the records that were new: those before After do not count.
type Stats struct {
	Records int64 // good ones
	Refused int64
}

// Stage is what happens to the records. A T is used again for later records:
// Prepare must set all of it.
type Stage[T any] struct {
	// Prepare is called for each record, on any core, in any order. Its error
	// refuses the record. The record's bytes and members stay valid until Emit or
	// Warm has returned for it.
	Prepare func(rec ndjson.Record, t *T) error
	// Begin is called before Emit and Warm are, for some records that came at once:
	// what may change while a stage waits, as the time, is looked at here. It may be nil.
	Begin func()
	// Emit is called in order and appends whole lines to dst. An error made by
	// Refuse refuses the record, any other ends the run.
	Emit func(dst []byte, t *T) ([]byte, error)
	// Warm is called in order, instead of Emit, for records that an earlier
	// process has dealt with. It may be nil.
	Warm func(t *T)

	// Flush, where it is not nil, makes this a stage that holds records back by time:
	// Emit only takes a record in, and Flush appends the whole lines that are due. It
	// returns the lowest seq that is still held (-1: none) and when it wants to be
	// called at the latest, if nothing comes before (zero: it does not). It is called
	// behind each record with the zero time, where what is due depends on the records'
	// own times; with the time when the input pauses; and with all at the end of it, or
	// when the lowest held record is more than Hold bytes of seq behind. Each record
	// taken in comes out once, under its own seq, without a "low": that is added.
	Flush func(dst []byte, now time.Time, all bool) (lines []byte, lowest int64, next time.Time)
	// Hold is how many bytes of the log Flush may hold a record back over.
	Hold int64
}

type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Refuse is the error by which a step refuses one record without ending the
// stream: it is named, set aside and counted.
func Refuse(format string, args ...any) error { return refused{fmt.Errorf(format, args...)} }

// Each calls fn with each good record in order. The record's bytes are valid
// during the call. An error of fn ends it, unless made by Refuse. A cancelled
// context ends it between two records, without an error. When records were
// refused, the error says how many and carries sysexit.Data.
func Each(ctx context.Context, in Input, fn func(ndjson.Record) error) (Stats, error) {
	return run(ctx, in, nil, Stage[ndjson.Record]{
		Prepare: func(rec ndjson.Record, t *ndjson.Record) error {
			*t = rec
			t.Members = nil
			return nil
		},
		Emit: func(dst []byte, t *ndjson.Record) ([]byte, error) { return dst, fn(*t) },
	}, nil)
}

// Run sends records through st to out. It ends as Each does, and with
// sysexit.TempFail when another process has out.File.
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

// firstError prefers what happened first; of two, a refusal counts less.
func firstError(a, b error) error {
	if a == nil {
		return b
	}
	if status, _ := sysexit.Of(a); b != nil && status == sysexit.Data {
		return b
	}
	return a
}

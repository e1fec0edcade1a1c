package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/thread"
)

// Reader resolves the references of lines. It keeps the logs open, and is not safe for concurrent
// use.
type Reader struct {
	home *durable.Home
	logs map[string]*os.File
	buf  *bufio.Reader
}

// NewReader returns a Reader for the journal of a home.
func NewReader(h *durable.Home) *Reader {
	return &Reader{home: h, logs: map[string]*os.File{}, buf: bufio.NewReaderSize(nil, 4<<10)}
}

// Close closes the logs.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.logs {
		errs = append(errs, f.Close())
	}
	clear(r.logs)
	return errors.Join(errs...)
}

// Input parses a line of the journal. The error is ErrGone if the target of its reference is
// missing; the input then has its time, its thread and what the rules said.
func (r *Reader) Input(line []byte) (thread.Input, error) {
	var l Line
	if err := json.Unmarshal(line, &l); err != nil {
		return l.Input, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", Name, err))
	}
	if l.Ref == nil {
		return l.Input, nil
	}
	ref := l.Ref
	source, err := r.text(ref)
	if err != nil {
		return l.Input, gone(ref, err)
	}
	if got := text.SHA256(source); got != ref.SHA256 {
		return l.Input, gone(ref, fmt.Errorf("its SHA-256 is %.12s, not %.12s", got, ref.SHA256))
	}
	err = r.resolve(&l, source)
	return l.Input, err
}

// Whole returns a function that calls fn with each line, its reference replaced by the text. A
// line whose text is gone is passed unchanged.
func (r *Reader) Whole(fn func(line []byte) error) func(line []byte) error {
	return func(text []byte) error {
		if !gjson.GetBytes(text, "ref").Exists() {
			return fn(text)
		}
		in, err := r.Input(text)
		if errors.Is(err, ErrGone) {
			return fn(text)
		}
		if err != nil {
			return err
		}
		whole, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("read %s: %w", Name, err)
		}
		return fn(whole)
	}
}

// Lines calls fn for each line of a home's journal from an offset, as Whole does.
func Lines(h *durable.Home, from int64, fn func(line []byte) error) error {
	r := NewReader(h)
	defer r.Close()
	return h.Lines(Name, from, r.Whole(fn))
}

// text returns the target of ref: a line without its newline, or a whole file.
func (r *Reader) text(ref *Ref) ([]byte, error) {
	if ref.Log != eventsLog && ref.Log != decisionsLog && ref.Log != repliesLog {
		return r.home.ReadFile(ref.Log)
	}
	f := r.logs[ref.Log]
	if f == nil {
		var err error
		if f, err = r.home.Root().Open(ref.Log); err != nil {
			return nil, err
		}
		r.logs[ref.Log] = f
	}
	r.buf.Reset(io.NewSectionReader(f, ref.Seq, ndjson.MaxLine+1))
	text, err := r.buf.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

package dispatch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/thread"
)

const journalName = "dispatch.ndjson"

// journal is the order in which inputs were taken. It is durable before any
// thread moves; the threads are a fold of it.
type journal struct {
	home *durable.Home
	log  *durable.Log
}

func openJournal(h *durable.Home) (*journal, error) {
	log, err := h.OpenLog(journalName)
	return &journal{home: h, log: log}, err
}

// append writes inputs down, all with one fsync, and returns the journal's size.
func (j *journal) append(ins []thread.Input) (int64, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range ins {
		if err := enc.Encode(&ins[i]); err != nil {
			return 0, fmt.Errorf("append to %s: %w", journalName, err)
		}
	}
	end, err := j.log.Append(func(int64) ([]byte, error) { return buf.Bytes(), nil })
	return end + int64(buf.Len()), err
}

// read calls fn for each input from an offset on and returns the offset behind
// the last whole line.
func (j *journal) read(from int64, fn func(thread.Input) error) (int64, error) {
	return readLines(j.home, journalName, from, func(line []byte) error {
		var in thread.Input
		if err := json.Unmarshal(line, &in); err != nil {
			return fmt.Errorf("read %s: %w", journalName, err)
		}
		return fn(in)
	})
}

// readLines calls fn for each whole line of a log of the home from an offset on.
// A log that is not there is empty; one that is shorter than the offset was cut.
func readLines(h *durable.Home, name string, from int64, fn func(line []byte) error) (int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) && from == 0 {
		return 0, nil
	}
	if err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < from {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: cut or replaced: %w", name, errors.Join(err, io.ErrUnexpectedEOF)))
	}
	if err := durable.Settle(f); err != nil { // the mark will say that it was read
		return from, err
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	for r := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return from, nil // what stands behind the last newline is torn or not done
		}
		if err != nil {
			return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
		}
		if err := fn(line[:len(line)-1]); err != nil {
			return from, err
		}
		from += int64(len(line))
	}
}

// wholeSize is the size of a log up to its last newline.
func wholeSize(h *durable.Home, name string) (int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	_, end, err := durable.LastLine(f, info.Size())
	return end, err
}

// loadMark reads dispatch.json; where there is none, nothing has been applied.
func loadMark(h *durable.Home) (mark, error) {
	m := mark{Seq: -1}
	b, err := h.ReadFile("dispatch.json")
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, sysexit.With(sysexit.IO, fmt.Errorf("read dispatch.json: %w", err))
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("read dispatch.json: %w", err)), "tri-dispatch --rebuild makes it anew")
	}
	return m, nil
}

func (m mark) save(h *durable.Home) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write dispatch.json: %w", err)
	}
	return h.Replace("dispatch.json", append(b, '\n'))
}

func (d *Dispatcher) saveMark() error {
	if d.mark == d.saved {
		return nil
	}
	if err := d.mark.save(d.Home); err != nil {
		return err
	}
	d.saved, d.since = d.mark, 0
	return nil
}

package dispatch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/thread"
)

// foldVersion is the version of thread.Apply and of the journal's lines. A home with an earlier version is
// converted at the first start; see upgrade.
const foldVersion = 2

// mark is dispatch.json: how far each input has been applied. It is saved after the threads, so it may lag
// behind them but is never ahead.
type mark struct {
	Fold      int          `json:"fold"`
	Seq       int64        `json:"seq"`       // of classified events; -1: none
	Journal   int64        `json:"journal"`   // bytes of dispatch.ndjson
	Decisions int64        `json:"decisions"` // bytes of decisions.ndjson
	Replies   int64        `json:"replies"`   // bytes of replies.ndjson
	Threads   thread.Count `json:"threads"`   // in open/ and closed/
}

// readLines calls fn for each complete line of a log of the home, starting at offset from. A missing log
// is empty if from is 0. A log that is shorter than from, or differs from its sums, is an error.
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
		return from, sysexit.With(sysexit.IO,
			fmt.Errorf("read %s: cut or replaced: %w", name, errors.Join(err, io.ErrUnexpectedEOF)))
	}
	if err := h.Check(name, from); err != nil {
		return from, err
	}
	if err := durable.Sync(f); err != nil { // the mark will record it as read
		return from, err
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	for r := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return from, nil // text after the last newline is torn or incomplete
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

// loadMark reads dispatch.json. If there is none, nothing has been applied.
func loadMark(h *durable.Home) (m mark, found bool, err error) {
	m.Seq = -1
	b, err := h.ReadSealed("dispatch.json")
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	changed := errors.Is(err, durable.ErrChanged)
	if err != nil && !changed {
		return m, false, sysexit.With(sysexit.IO, fmt.Errorf("read dispatch.json: %w", err))
	}
	if !changed {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return m, false, sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("read dispatch.json: %w", err)),
			"tri-dispatch --rebuild makes it again")
	}
	return m, true, nil
}

func (m mark) save(h *durable.Home) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write dispatch.json: %w", err)
	}
	return h.ReplaceSealed("dispatch.json", b)
}

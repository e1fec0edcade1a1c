package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// slack is how much further back logs are read than asked: their times need not
// be in order to the second.
const slack = time.Hour

// step is how near a line is looked for, in bytes.
const step = 4 << 10

// Recent calls fn for the lines of a log whose time is not before from.
func Recent(h *durable.Home, name, field string, from time.Time, fn func(line []byte) error) error {
	off, err := Since(h, name, field, from.Add(-slack))
	if err != nil {
		return err
	}
	return h.Lines(name, off, func(line []byte) error {
		if Instant(gjson.GetBytes(line, field).String()).Before(from) {
			return nil
		}
		return fn(line)
	})
}

// First is the time of a log's first line, zero where there is none.
func First(h *durable.Home, name, field string) (at time.Time, err error) {
	err = h.LinesUntil(name, 0, 1, func(line []byte) error {
		at = Instant(gjson.GetBytes(line, field).String())
		return nil
	})
	return at, err
}

// Since is an offset before which every line's time is older than a time. Lines
// are written in order of that time, so that a day of a year's log is found in
// some thirty looks; a clock that was set back makes it a little early or late.
func Since(h *durable.Home, name, field string, at time.Time) (int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) || at.IsZero() {
		return 0, nil
	}
	if err != nil {
		return 0, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	size := info.Size()
	n := sort.Search(int(size/step), func(i int) bool {
		line := lineAfter(f, int64(i)*step, size)
		t, err := time.Parse(time.RFC3339, gjson.GetBytes(line, field).String())
		return err == nil && !t.Before(at)
	})
	return startAfter(f, int64(max(0, n-1))*step, size), nil
}

// startAfter is where the first line begins that starts at off or behind it.
func startAfter(f io.ReaderAt, off, size int64) int64 {
	if off == 0 {
		return 0
	}
	r := bufio.NewReader(io.NewSectionReader(f, off-1, size-off+1))
	at := off - 1
	for {
		part, err := r.ReadSlice('\n')
		at += int64(len(part))
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return at
		}
	}
}

// lineAfter is the first whole line that starts at off or behind it.
func lineAfter(f io.ReaderAt, off, size int64) []byte {
	start := startAfter(f, off, size)
	r := bufio.NewReaderSize(io.NewSectionReader(f, start, min(size-start, ndjson.MaxLine+1)), 64<<10)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil
	}
	return line
}

// Parts are offsets that cut a piece of a log into n parts of whole lines, with its
// ends; -1 is the end of the log.
func Parts(h *durable.Home, name string, from, until int64, n int) ([]int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return []int64{0, 0}, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	size := info.Size()
	if until < 0 || until > size {
		until = size
	}
	from = min(from, until)
	cuts := []int64{from}
	for i := 1; i < n; i++ {
		cuts = append(cuts, min(until, startAfter(f, from+(until-from)*int64(i)/int64(n), size)))
	}
	return append(cuts, until), nil
}

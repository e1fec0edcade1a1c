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
	"tri/lib/base/text"
)

// slack is how much earlier than requested reading begins: the times of a log may be slightly out
// of order.
const slack = time.Hour

// step is the precision of the search for a line, in bytes.
const step = 4 << 10

// Recent calls fn for the lines of a log whose time is not before from.
func Recent(h *durable.Home, name, field string, from time.Time, fn func(line []byte) error) error {
	off, err := Since(h, name, field, from.Add(-slack))
	if err != nil {
		return err
	}
	return h.Lines(name, off, func(line []byte) error {
		if text.ParseTime(gjson.GetBytes(line, field).String()).Before(from) {
			return nil
		}
		return fn(line)
	})
}

// First returns the time of a log's first line, zero if there is none.
func First(h *durable.Home, name, field string) (at time.Time, err error) {
	err = h.LinesUntil(name, 0, 1, func(line []byte) error {
		at = text.ParseTime(gjson.GetBytes(line, field).String())
		return nil
	})
	return at, err
}

// Since returns an offset before which the times of all lines are before at. Lines are ordered by
// that time, so a binary search finds a day in a log of a year with about thirty reads. After a
// clock was set back the offset may be slightly early or late.
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
		t, ok := timeAfter(f, field, int64(i)*step, size)
		return ok && !t.Before(at)
	})
	return startAfter(f, int64(max(0, n-1))*step, size), nil
}

// startAfter returns the start of the first line that starts at off or after it.
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

// timeAfter returns the time of the first line that starts at off or after it and has one: a broken line must
// not hide those before it. ok is false if none of the next ndjson.MaxLine bytes has.
func timeAfter(f io.ReaderAt, field string, off, size int64) (at time.Time, ok bool) {
	start := startAfter(f, off, size)
	r := bufio.NewReaderSize(io.NewSectionReader(f, start, min(size-start, ndjson.MaxLine+1)), 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return time.Time{}, false
		}
		if at, err = time.Parse(time.RFC3339, gjson.GetBytes(line, field).String()); err == nil {
			return at, true
		}
	}
}

// Split returns offsets that divide a piece of a log into n parts of complete lines, including both
// ends; -1 is the end of the log.
func Split(h *durable.Home, name string, from, until int64, n int) ([]int64, error) {
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

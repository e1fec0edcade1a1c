package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/disk"
	"tri/lib/ndjson"
	"tri/lib/sysexit"
)

// The logs of a home, each written by one stage.
const (
	eventsLog     = "events.ndjson"
	classifiedLog = "events-classified.ndjson"
	dispatchLog   = "dispatch.ndjson"
	repliesLog    = "replies.ndjson"
	spendLog      = "spend.ndjson"
)

// Home opens a home to read it. One that is not there is not made.
func Home(dir string) (*disk.Home, error) {
	if dir == "" {
		dir = disk.DefaultDir()
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read home: %w", err)
	}
	return disk.Open(dir)
}

// scan calls fn for each whole line of a log, from an offset on, that contains
// needle; nil is all of them. Parsing is fn's: looking for bytes first is what
// makes a log of 100 MB a matter of a fraction of a second. A log that is not
// there is empty, a line over the limit is passed over, a torn last line too.
func scan(h *disk.Home, name string, from int64, needle []byte, fn func(line []byte) error) error {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	for r := bufio.NewReaderSize(f, ndjson.MaxLine+1); ; {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			if err := pass(r); err != nil {
				return nil
			}
			continue
		case err != nil:
			return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
		}
		if needle != nil && !bytes.Contains(line, needle) {
			continue
		}
		if err := fn(line[:len(line)-1]); err != nil {
			return err
		}
	}
}

// pass reads to the end of a line that is too long.
func pass(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// quoted is a text as it stands in a line that one of our stages wrote.
func quoted(s string) []byte { return ndjson.AppendString(nil, s) }

// since is an offset before which every line's time is older than a time. Lines
// are written in order of that time, so that a day of a year's log is found in
// some thirty looks; a clock that was set back makes it a little early or late.
func since(h *disk.Home, name, field string, at time.Time) (int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
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
	const step = 4 << 10
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

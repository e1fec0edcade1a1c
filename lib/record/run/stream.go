package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// StreamName is the file in a run's folder that records the agent's events.
const StreamName = "raw/stream.jsonl"

// maxTail is how many bytes of a stream are read at once; longer than any line of it.
const maxTail = 8 << 20

// Tail calls fn with the whole lines of a run's stream that begin at byte at or later, in batches,
// and returns the offset of the next line.
func Tail(dir string, at int64, fn func(lines []byte) error) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return at, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	f, err := durable.OpenFile(root, StreamName)
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil // no events yet
	}
	if err != nil {
		return at, sysexit.With(sysexit.IO, err)
	}
	defer f.Close()
	for {
		text, err := io.ReadAll(io.NewSectionReader(f, at, maxTail))
		if err != nil {
			return at, sysexit.With(sysexit.IO,
				fmt.Errorf("read %q: %w", filepath.Join(dir, StreamName), err))
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		if end == 0 {
			return at, nil
		}
		if err := fn(text[:end]); err != nil {
			return at, err
		}
		at += int64(end)
	}
}

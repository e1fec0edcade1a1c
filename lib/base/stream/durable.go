package stream

import (
	"io"
	"os"

	"tri/lib/base/durable"
)

// synced tracks how much of a file is durable. Its writer syncs it as well, but may be slow or have
// been killed: if a power cut removed a line but kept the results derived from it, offsets would
// become meaningless.
type synced struct {
	f  *os.File
	to int64
}

// upTo makes everything before to durable, and with the same sync whatever else the file holds, so
// that a backlog costs one sync.
func (s *synced) upTo(to int64) error {
	if to <= s.to {
		return nil
	}
	info, err := s.f.Stat()
	if err == nil {
		err = durable.Sync(s.f)
	}
	if err == nil {
		s.to = max(to, info.Size())
	}
	return err
}

// syncedReader reads only the durable part of a file.
type syncedReader struct{ synced }

func (s *syncedReader) Read(p []byte) (int, error) {
	n, err := s.f.Read(p)
	if n == 0 {
		return n, err
	}
	to, err2 := s.f.Seek(0, io.SeekCurrent)
	if err2 == nil {
		err2 = s.upTo(to)
	}
	if err2 != nil {
		return 0, err2
	}
	return n, err
}

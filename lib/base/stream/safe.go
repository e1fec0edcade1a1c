package stream

import (
	"io"
	"os"

	"tri/lib/base/durable"
)

// safe is how far a file is known to be durable. Its writer syncs it as well, but
// may be slow, or have been killed: were a line gone after a power cut, and what
// was made of it not, offsets would mean nothing any more.
type safe struct {
	f  *os.File
	to int64
}

// upTo makes durable what stands before to. What else stands there already is
// durable then too, so that a backlog costs one sync.
func (s *safe) upTo(to int64) error {
	if to <= s.to {
		return nil
	}
	info, err := s.f.Stat()
	if err == nil {
		err = durable.Settle(s.f)
	}
	if err == nil {
		s.to = max(to, info.Size())
	}
	return err
}

// settled reads a file of which only what is durable is wanted.
type settled struct{ safe }

func (s *settled) Read(p []byte) (int, error) {
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

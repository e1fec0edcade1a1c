package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// HeadName is the file, beside the log, with the number and hash of the last record. The chain
// protects every record but the last; this file protects that one.
const HeadName = "decisions.head"

// Head is what is known of the end of the log from elsewhere: the head file, which an interrupted
// append leaves behind the log, and how far tri-dispatch had read. Read it before the log, which
// may grow. The zero Head belongs to a log of a version that wrote no head file.
type Head struct {
	N    int64  `json:"n"`
	Hash string `json:"hash"`
	read int64  // bytes read by tri-dispatch
}

// ReadHead reads the Head of a home's log.
func ReadHead(h *durable.Home) (a Head, err error) {
	b, err := h.ReadSealed(HeadName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, durable.ErrChanged):
		return a, fmt.Errorf("%w: %s is not what was written", ErrChain, HeadName)
	case err != nil:
		return a, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", HeadName, err))
	default:
		if err := json.Unmarshal(b, &a); err != nil || a.N < 1 || len(a.Hash) != 64 {
			return a, fmt.Errorf("%w: %s cannot be understood", ErrChain, HeadName)
		}
	}
	var mark struct {
		Decisions int64 `json:"decisions"`
	}
	if b, err = h.ReadFile("dispatch.json"); err == nil && json.Unmarshal(b, &mark) == nil {
		a.read = mark.Decisions // an unreadable mark is reported by tri-dispatch
	}
	return a, nil
}

// Anchor writes the head file of a log that was restored from a copy, after checking its chain.
func Anchor(h *durable.Home) error {
	n, last, err := Verify(h)
	if err != nil || n == 0 {
		return err
	}
	return Head{N: n, Hash: last}.save(h)
}

func (a Head) save(h *durable.Home) error {
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write %s: %w", HeadName, err)
	}
	return h.ReplaceSealed(HeadName, b)
}

// At compares record n of the log with the head.
func (a Head) At(n int64, hash string) error {
	if n == a.N && hash != a.Hash {
		return fmt.Errorf("record %d: %w: it is not the record that was written, by %s", n,
			ErrChain, HeadName)
	}
	return nil
}

// End checks a log that ends with record n at size bytes against the head. Its error wraps
// ErrChain.
func (a Head) End(n int64, hash string, size int64) error {
	switch {
	case n < a.N:
		return fmt.Errorf("record %d: %w: the log ends here, but %s has record %d: its end was cut off",
			n, ErrChain, HeadName, a.N)
	case size < a.read:
		return fmt.Errorf("%w: the log has %d bytes, and tri-dispatch had read %d: its end was cut off",
			ErrChain, size, a.read)
	}
	return a.At(n, hash)
}

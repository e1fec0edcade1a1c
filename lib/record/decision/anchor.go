package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// HeadName is the file, beside the log, of the record that the log had last: the
// chain holds each record by the one behind it, and only this holds the last.
const HeadName = "decisions.head"

// Head is what is known of the end of the log without the log: that file, which the
// log may be ahead of by an append that was cut short, and how far tri-dispatch had
// read. Read it before the log, which may grow. The zero Head is that of a log of a
// version that kept none.
type Head struct {
	N    int64  `json:"n"`
	Hash string `json:"hash"`
	read int64  // bytes, by tri-dispatch
}

// ReadHead reads what is known of the end of a home's log.
func ReadHead(h *durable.Home) (a Head, err error) {
	b, err := h.ReadFile(HeadName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
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
		a.read = mark.Decisions // one that is unreadable is for tri-dispatch to say
	}
	return a, nil
}

// Anchor makes the head that of the log as it is, its chain checked, where the log came
// from a copy.
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
	return h.Replace(HeadName, append(b, '\n'))
}

// at compares a log that has come to record n with what is known.
func (a Head) at(n int64, hash string) error {
	if n == a.N && hash != a.Hash {
		return fmt.Errorf("record %d: %w: it is not the record that was written, by %s", n, ErrChain, HeadName)
	}
	return nil
}

// End compares a log that ends with record n, at so many bytes, with what is known. Its
// error wraps ErrChain.
func (a Head) End(n int64, hash string, size int64) error {
	switch {
	case n < a.N:
		return fmt.Errorf("record %d: %w: the log ends here, and %s tells of record %d: its end was cut off", n, ErrChain, HeadName, a.N)
	case size < a.read:
		return fmt.Errorf("%w: the log has %d bytes, and tri-dispatch had read %d: its end was cut off", ErrChain, size, a.read)
	}
	return a.at(n, hash)
}

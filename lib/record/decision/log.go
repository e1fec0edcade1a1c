package decision

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// LogName is the log's name below the home.
const LogName = "decisions.ndjson"

// ErrChain reports that a line of the log was changed, truncated, inserted or removed after the
// next one was written. Nothing in this package repairs that.
var ErrChain = errors.New("broken chain")

// Sum returns the hex SHA-256 of a text, by which an approval names it.
func Sum(words string) string { return text.SHA256(words) }

// Append stamps N, Prev and, if empty, At, and durably appends r to the log. It holds the log's
// lock, so any number of programs may append. It returns the record as written; State decides
// whether it counts.
func Append(h *durable.Home, r Record) (Record, error) {
	if !utf8.ValidString(r.Text) {
		// JSON encoding would change the bytes that were hashed.
		return r, sysexit.With(sysexit.Data, fmt.Errorf("append to %s: the text is not valid UTF-8", LogName))
	}
	log, err := h.OpenLog(LogName)
	if err != nil {
		return r, err
	}
	defer log.Close()
	var head Head
	err = log.AppendThen(func(end int64) (line []byte, err error) {
		line, err = next(h, log.File(), end, &r)
		if err == nil {
			head = Head{N: r.N, Hash: text.SHA256(line[:len(line)-1])}
		}
		return line, err
	}, func() error { return head.save(h) })
	return r, hinted(err)
}

// next stamps r as the successor of the last line and returns its line.
func next(h *durable.Home, f *os.File, end int64, r *Record) ([]byte, error) {
	n, prev, err := lastLink(f, end)
	var head Head
	if err == nil {
		head, err = ReadHead(h)
	}
	if err == nil {
		err = head.End(n, prev, end)
	}
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", LogName, err)
	}
	r.N, r.Prev = n+1, prev
	if r.At == "" {
		r.At = text.Timestamp(time.Now())
	}
	var buf bytes.Buffer
	if err := ndjson.Write(&buf, r); err != nil {
		return nil, fmt.Errorf("append to %s: %w", LogName, err)
	}
	if buf.Len() > ndjson.MaxLine {
		return nil, sysexit.With(sysexit.Data,
			fmt.Errorf("append to %s: a record of %d bytes, at most %d", LogName, buf.Len(), ndjson.MaxLine))
	}
	return buf.Bytes(), nil
}

// lastLink returns the last record's number and hash, after checking its link to the record
// before. Read checks the whole chain.
func lastLink(f io.ReaderAt, end int64) (n int64, hash string, err error) {
	last, _, err := durable.LastLine(f, end)
	if err != nil || last == nil {
		return 0, "", err
	}
	before, _, err := durable.LastLine(f, end-int64(len(last))-1)
	if err != nil {
		return 0, "", err
	}
	var chain Chain
	if before != nil {
		var link struct {
			N int64 `json:"n"`
		}
		if err := json.Unmarshal(before, &link); err != nil {
			return 0, "", fmt.Errorf("%w: the last record but one: %w", ErrChain, err)
		}
		chain = Chain{n: link.N, prev: text.SHA256(before)}
	}
	if _, err := chain.Next(last); err != nil {
		return 0, "", err
	}
	return chain.n, chain.prev, nil
}

// Chain checks the records of a log in order. The zero value is positioned before the first.
type Chain struct {
	n    int64
	prev string
}

// Next checks the log's next line, given without its newline, and returns its record. Its error
// wraps ErrChain.
func (c *Chain) Next(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("record %d: %w: %w", c.n+1, ErrChain, err)
	}
	return r, c.link(line, r.N, r.Prev)
}

// Link is Next for a line that ndjson.Check has accepted and whose record is not needed.
func (c *Chain) Link(line []byte) error {
	v := gjson.GetManyBytes(line, "n", "prev")
	return c.link(line, v[0].Int(), v[1].String())
}

// Last returns the number of records and the hash of the last.
func (c *Chain) Last() (n int64, hash string) { return c.n, c.prev }

func (c *Chain) link(line []byte, n int64, prev string) error {
	switch {
	case n != c.n+1:
		return fmt.Errorf("record %d: %w: its number is %d", c.n+1, ErrChain, n)
	case prev != c.prev:
		return fmt.Errorf("record %d: %w: it does not follow from the record before, which was changed",
			n, ErrChain)
	}
	c.n, c.prev = n, text.SHA256(line)
	return nil
}

// Tail reads a log as it grows, and checks its chain.
type Tail struct {
	home  *durable.Home
	off   int64
	chain Chain
}

// NewTail returns a Tail positioned before the first record.
func NewTail(h *durable.Home) *Tail { return &Tail{home: h} }

// Offset returns the byte offset of the next record.
func (t *Tail) Offset() int64 { return t.off }

// Next calls fn for every whole record not yet read, and stops at fn's first error. A missing log
// is empty. A log that became shorter is a broken chain.
func (t *Tail) Next(fn func(Record) error) error { return hinted(t.next(fn)) }

// hinted adds a hint to the error of a broken chain.
func hinted(err error) error {
	if errors.Is(err, ErrChain) {
		err = sysexit.Hint(sysexit.With(sysexit.Data, err),
			"the log was changed by something other than these programs; compare it with a backup; no program continues with it")
	}
	return err
}

func (t *Tail) next(fn func(Record) error) error {
	head, err := ReadHead(t.home)
	if err != nil {
		return readError(err)
	}
	f, err := t.home.Root().Open(LogName)
	if errors.Is(err, fs.ErrNotExist) && t.off == 0 {
		return readError(head.End(0, "", 0))
	}
	if err != nil {
		return readError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return readError(err)
	}
	if info.Size() < t.off {
		return readError(fmt.Errorf("record %d: %w: the log was cut", t.chain.n, ErrChain))
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, t.off, info.Size()-t.off), 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a last line without newline is incomplete or torn
			return readError(head.End(t.chain.n, t.chain.prev, info.Size()))
		}
		if err != nil {
			return readError(err)
		}
		r, err := t.chain.Next(line[:len(line)-1])
		if err != nil {
			return readError(err)
		}
		if err := head.At(t.chain.n, t.chain.prev); err != nil {
			return readError(err)
		}
		t.off += int64(len(line))
		if err := fn(r); err != nil {
			return err
		}
	}
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", LogName, err))
}

// Read returns every record of the log, with its chain checked.
func Read(h *durable.Home) ([]Record, error) {
	var rs []Record
	err := NewTail(h).Next(func(r Record) error {
		rs = append(rs, r)
		return nil
	})
	return rs, err
}

// Fold returns the state of a home's log under a policy. Each record is passed to fn, unless that is nil,
// with whether it counts and, if not, why.
func Fold(h *durable.Home, p Policy, fn func(r *Record, counts bool, why string)) (*State, error) {
	s := NewState(p)
	return s, NewTail(h).Next(func(r Record) error {
		if counts, why := s.Add(r); fn != nil {
			fn(&r, counts, why)
		}
		return nil
	})
}

// Verify checks the whole chain and returns the number of records and the hash of the last. A
// person can write these down to verify the log later.
func Verify(h *durable.Home) (n int64, last string, err error) {
	t := NewTail(h)
	err = t.Next(func(Record) error { return nil })
	return t.chain.n, t.chain.prev, err
}

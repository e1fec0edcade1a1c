package decision

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
)

// LogName is the log's name below the home.
const LogName = "decisions.ndjson"

// ErrChain means that a line of the log is not what it was when the next one was
// written: changed, cut, put in or taken out. Nothing here repairs that.
var ErrChain = errors.New("broken chain")

// Sum is the hex SHA-256 of a text: what an approval names.
func Sum(text string) string { return sum([]byte(text)) }

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Append stamps N, Prev and, where it is empty, At, and makes r durable behind
// the log's last record. All of it happens under the log's lock, so that any
// number of programs may append. It returns the record as it stands in the log;
// whether it counts is for State to say.
func Append(h *durable.Home, r Record) (Record, error) {
	if !utf8.ValidString(r.Text) {
		// JSON would change the bytes that the hash was taken of.
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
			head = Head{N: r.N, Hash: sum(line[:len(line)-1])}
		}
		return line, err
	}, func() error { return head.save(h) })
	return r, hinted(err)
}

// next stamps r as the successor of the last line and returns its own.
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
		r.At = time.Now().UTC().Format(time.RFC3339Nano)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("append to %s: %w", LogName, err)
	}
	if buf.Len() > ndjson.MaxLine {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("append to %s: a record of %d bytes, at most %d", LogName, buf.Len(), ndjson.MaxLine))
	}
	return buf.Bytes(), nil
}

// lastLink returns the last record's number and hash, after a look at whether it
// fits the one before. The whole chain is Read's to check.
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
		chain = Chain{n: link.N, prev: sum(before)}
	}
	if _, err := chain.Next(last); err != nil {
		return 0, "", err
	}
	return chain.n, chain.prev, nil
}

// Chain checks the records of a log one after the other. The zero value stands
// before the first.
type Chain struct {
	n    int64
	prev string
}

// Next takes the log's next line, without its newline, and returns its record.
// Its error wraps ErrChain.
func (c *Chain) Next(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("record %d: %w: %w", c.n+1, ErrChain, err)
	}
	return r, c.link(line, r.N, r.Prev)
}

// Link is Next for a line that ndjson.Check has accepted and of which nothing else
// is wanted.
func (c *Chain) Link(line []byte) error {
	v := gjson.GetManyBytes(line, "n", "prev")
	return c.link(line, v[0].Int(), v[1].String())
}

// Last is how many records there were and the hash of the last.
func (c *Chain) Last() (n int64, hash string) { return c.n, c.prev }

func (c *Chain) link(line []byte, n int64, prev string) error {
	switch {
	case n != c.n+1:
		return fmt.Errorf("record %d: %w: its number is %d", c.n+1, ErrChain, n)
	case prev != c.prev:
		return fmt.Errorf("record %d: %w: it does not follow from the record before, which was changed", n, ErrChain)
	}
	c.n, c.prev = n, sum(line)
	return nil
}

// Tail reads a log as it grows, checking its chain.
type Tail struct {
	home  *durable.Home
	off   int64
	chain Chain
}

// NewTail returns a Tail that stands before the first record.
func NewTail(h *durable.Home) *Tail { return &Tail{home: h} }

// Offset is where the next record will stand.
func (t *Tail) Offset() int64 { return t.off }

// Next calls fn for every whole record that it has not read yet. A log that is
// not there is empty. It stops at fn's first error; a log that became shorter is
// a broken chain.
func (t *Tail) Next(fn func(Record) error) error { return hinted(t.next(fn)) }

// hinted adds to the error of a broken chain what can be done about it.
func hinted(err error) error {
	if errors.Is(err, ErrChain) {
		err = sysexit.Hint(sysexit.With(sysexit.Data, err),
			"the log was changed by something other than these programs; compare it with a backup, none of them will go on with it")
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
		if errors.Is(err, io.EOF) { // what is behind the last newline is not done, or torn
			return readError(head.End(t.chain.n, t.chain.prev, info.Size()))
		}
		if err != nil {
			return readError(err)
		}
		r, err := t.chain.Next(line[:len(line)-1])
		if err != nil {
			return readError(err)
		}
		if err := head.at(t.chain.n, t.chain.prev); err != nil {
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

// Read returns every record of the log, its chain checked.
func Read(h *durable.Home) ([]Record, error) {
	var rs []Record
	err := NewTail(h).Next(func(r Record) error {
		rs = append(rs, r)
		return nil
	})
	return rs, err
}

// Verify checks the whole chain and returns how many records it has and the hash
// of the last, which a person can write down to hold the log to.
func Verify(h *durable.Home) (n int64, last string, err error) {
	t := NewTail(h)
	err = t.Next(func(Record) error { return nil })
	return t.chain.n, t.chain.prev, err
}

// Package ndjson reads and checks lines of JSON: it refuses duplicate keys, invalid
// UTF-8, deep nesting and long lines by name, and repairs nothing. Reader cuts a stream
// into lines in bounded memory, Scanner checks a line and finds its members in one pass.
package ndjson

import (
	"encoding/json"
	"io"

	"tri/lib/base/sysexit"
)

// Limits of a line: bytes, levels, and names in one object. A longer line is skipped and reported
// without being held in memory. A deeper or wider one is refused, since only an attack would
// produce it.
const (
	MaxLine  = 1 << 20
	MaxDepth = 128
	MaxNames = 1 << 14
)

// Record is one whole line.
type Record struct {
	Bytes  []byte // without its newline; valid until the next call unless said otherwise
	Source string // file name, or "stdin"
	Line   int64  // from 1
	Offset int64  // of the line's first byte in its source

	// Seq is the record's "seq": the offset of its event's line in events.ndjson; -1 if it has
	// none.
	Seq int64
	// Members are the top-level members, valid as long as Bytes. They are set in stream.Stage's
	// Prepare, else nil.
	Members []Member
}

// Member is a name and its value in an object.
type Member struct {
	Key        []byte // unescaped, without quotes
	Value      []byte // raw, as in the line
	Start, End int    // of name and value in the line
}

// Get returns the raw value of a top-level member, nil if there is none. It needs Members.
func (r *Record) Get(key string) []byte {
	for i := range r.Members {
		if string(r.Members[i].Key) == key {
			return r.Members[i].Value
		}
	}
	return nil
}

// Seq parses the value of a "seq" member: -1 unless it is a whole number from 0 to 2^53, which
// every JSON reader represents exactly.
func Seq(value []byte) int64 {
	if len(value) == 0 || len(value) > 16 {
		return -1
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	if n > 1<<53 {
		return -1
	}
	return n
}

// Write writes records as lines of JSON, in one write each. '<', '>' and '&' are not escaped.
func Write[T any](w io.Writer, records ...T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return sysexit.Errorf(sysexit.IO, "write records: %w", err)
		}
	}
	return nil
}

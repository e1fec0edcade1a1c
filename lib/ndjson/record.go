// Package ndjson reads and checks lines of JSON from anywhere: it refuses by
// name what is broken and repairs nothing.
package ndjson

// Limits of a line. A longer one is skipped and named without being held in
// memory; a deeper one is refused.
const (
	MaxLine  = 1 << 20
	MaxDepth = 128
)

// Record is one whole line.
type Record struct {
	Bytes  []byte // without its newline; valid until the next call unless said otherwise
	Source string // file name, or "stdin"
	Line   int64  // from 1
	Offset int64  // of the line's first byte in its source
}

// Package query is conditions over records, in jq's language: custom rules,
// question types and --select. A query sees one record and nothing else: no
// environment, no files, no further input, and only so much time.
package query

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/itchyny/gojq"
)

// limit is the longest that one record may take; a filter that does not end is
// an error, not a hang.
const limit = 250 * time.Millisecond

// Query is a compiled jq filter. It is safe for concurrent use.
type Query struct {
	src  string
	code *gojq.Code
}

// Compile reads a jq filter.
func Compile(src string) (*Query, error) {
	parsed, err := gojq.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("jq %q: %w", src, err)
	}
	code, err := gojq.Compile(parsed, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("jq %q: %w", src, err)
	}
	return &Query{src: src, code: code}, nil
}

// Match reports whether the first thing that the filter gives for the record is
// neither false nor null. A filter that gives nothing does not match.
func (q *Query) Match(line []byte) (bool, error) {
	var record any
	if err := json.Unmarshal(line, &record); err != nil {
		return false, fmt.Errorf("jq %q: %w", q.src, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	v, ok := q.code.RunWithContext(ctx, record).Next()
	if !ok {
		return false, nil
	}
	if err, failed := v.(error); failed {
		return false, fmt.Errorf("jq %q: %w", q.src, err)
	}
	return v != nil && v != false, nil
}

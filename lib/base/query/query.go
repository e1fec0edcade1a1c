// Package query evaluates a jq condition over one record, with gojq: no environment,
// files, input or clock, and a bound on steps.
package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// maxSteps bounds the gojq instructions of one run. A condition of a few comparisons takes dozens,
// a scan of a 1 MiB record some 100,000.
const maxSteps = 2_000_000

// maxSource is the maximum length of a condition, in bytes.
const maxSource = 64 << 10

// errTooLong reports that a condition exceeded maxSteps.
var errTooLong = fmt.Errorf("no answer within %d steps", maxSteps)

// Query is a compiled condition. It is safe for concurrent use.
type Query struct {
	src  string
	code *gojq.Code
}

// Compile compiles a jq condition.
func Compile(src string) (*Query, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("jq condition: longer than %d bytes", maxSource)
	}
	parsed, err := gojq.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("jq condition %.80q: %w", src, parseError(err))
	}
	if len(parsed.Imports) > 0 || parsed.Meta != nil {
		return nil, fmt.Errorf("jq condition %.80q: modules are not available", src)
	}
	parsed.FuncDefs = append(withheld(), parsed.FuncDefs...)
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, fmt.Errorf("jq condition %.80q: %w", src, err)
	}
	return &Query{src: src, code: code}, nil
}

// withheld returns definitions that precede every condition and disable the clock and the time
// zone: with them the same record could be judged differently on another day. (gojq prefers its
// own functions to those of WithFunction.)
func withheld() []*gojq.FuncDef {
	const why = `error("not available: a condition must give the same answer at any time")`
	q, err := gojq.Parse("def now: " + why + "; def localtime: " + why +
		"; def strflocaltime(f): " + why + "; .")
	if err != nil {
		panic(err) // the text is a constant
	}
	return q.FuncDefs
}

// parseError adds the position of a syntax error.
func parseError(err error) error {
	bad := new(gojq.ParseError)
	if errors.As(err, &bad) {
		return fmt.Errorf("character %d: %w", bad.Offset, err)
	}
	return err
}

// String returns the source of the condition.
func (q *Query) String() string { return q.src }

// Match reports whether the condition is true for a line of JSON: whether any of its results is
// neither false nor null, as in jq's select.
func (q *Query) Match(line []byte) (bool, error) {
	value, err := decode(line)
	if err != nil {
		return false, err
	}
	results := q.code.RunWithContext(&steps{}, value)
	for {
		v, ok := results.Next()
		if !ok {
			return false, nil
		}
		if err, bad := v.(error); bad {
			return false, fmt.Errorf("jq condition %.80q: %w", q.src, err)
		}
		if v != nil && v != false {
			return true, nil
		}
	}
}

// decode keeps numbers exact, since some platforms' ids do not fit a float64.
func decode(line []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read record: more than one value")
	}
	return value, nil
}

// steps is a context that ends after a number of checks instead of a time. gojq checks once before
// each instruction, so the result does not depend on the machine's speed.
type steps struct{ n int }

var ended = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (s *steps) Done() <-chan struct{} {
	if s.n++; s.n > maxSteps {
		return ended
	}
	return nil // never ready
}

func (s *steps) Err() error {
	if s.n > maxSteps {
		return errTooLong
	}
	return nil
}

func (*steps) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*steps) Value(any) any               { return nil }

var _ context.Context = (*steps)(nil)

// Condition is a `when` of the configuration: jq over the record, or RE2 over its text.
type Condition struct {
	query *Query
	text  *regexp.Regexp
}

// CompileCondition compiles src as jq if it begins like a jq path (.name, ."name", .[, . |, also
// in parentheses), else as RE2. A regular expression that must begin with a dot and a letter is
// written (?:.x).
func CompileCondition(src string) (*Condition, error) {
	if strings.TrimSpace(src) == "" {
		return nil, fmt.Errorf("condition is empty")
	}
	if isPath(src) {
		q, err := Compile(src)
		return &Condition{query: q}, err
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("regular expression %.80q: %w", src, err)
	}
	return &Condition{text: re}, nil
}

// isPath reports whether src begins with a jq path. ".*", ".+", ".?" and ".{" begin regular
// expressions.
func isPath(src string) bool {
	src = strings.TrimLeft(src, " \t\r\n(")
	rest, ok := strings.CutPrefix(src, ".")
	if !ok || rest == "" {
		return ok // "." alone is always true
	}
	c := rest[0]
	return c == '_' || c == '"' || c == '[' || c == ' ' || c == '|' || c == '.' ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Match reports whether the condition is true for a record, whose text is content.
func (c *Condition) Match(line []byte, content string) (bool, error) {
	if c.query != nil {
		return c.query.Match(line)
	}
	return c.text.MatchString(content), nil
}

package query

import (
	"fmt"
	"regexp"
	"strings"
)

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

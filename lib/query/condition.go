package query

import (
	"fmt"
	"regexp"
	"strings"
)

// Condition is a `when` of the configuration: a jq filter where it begins with
// "." or "(", otherwise an RE2 expression over the message's text.
type Condition struct {
	jq *Query
	re *regexp.Regexp
}

// CompileCondition reads a condition. An empty one is an error: a rule that
// always holds should say so (".").
func CompileCondition(src string) (*Condition, error) {
	switch src = strings.TrimSpace(src); {
	case src == "":
		return nil, fmt.Errorf("condition: empty")
	case src[0] == '.' && !strings.HasPrefix(src, ".*"), strings.HasPrefix(src, "(."):
		q, err := Compile(src)
		return &Condition{jq: q}, err
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("condition %q: %w", src, err)
	}
	return &Condition{re: re}, nil
}

// Match reports whether the condition holds for a record and its text.
func (c *Condition) Match(line []byte, content string) (bool, error) {
	if c.jq != nil {
		return c.jq.Match(line)
	}
	return c.re.MatchString(content), nil
}

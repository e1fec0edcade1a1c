package box

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnv reads lines KEY=value and returns those whose key is allowed. A value may be in quotes, and
// nothing in it is expanded. A line that begins with # is a comment.
func parseEnv(text string, allowed []string) ([]string, error) {
	var env []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !variable.MatchString(name) ||
			strings.ContainsRune(value, 0) {
			return nil, sysexit.With(sysexit.Data, fmt.Errorf(".env.test:%d: want KEY=value", n))
		}
		if !slices.Contains(allowed, name) {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

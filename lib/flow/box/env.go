package box

import (
	"fmt"
	"regexp"
	"strings"

	"tri/lib/base/sysexit"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// steering are variables by which a file of the codebase could have other code run
// than what was meant, or a key sent to somebody else.
var steering = regexp.MustCompile(`(?i)^(PATH|HOME|SHELL|ENV|IFS|BASH_.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|NODE_.*|NPM_.*|PYTHON.*|RUBY.*|PERL.*|JAVA_.*|.*_PROXY|.*BASE_URL.*|.*_HOST|ANTHROPIC_.*|CLAUDE.*|OPENAI_.*|CODEX_.*|GEMINI_.*|GOOGLE_.*|TRI_.*|XDG_.*|TMPDIR|SSL_.*)$`)

// parseEnv reads lines KEY=value; a value may stand in quotes, of which nothing is
// expanded. Lines that begin with # say nothing.
func parseEnv(text string) ([]string, error) {
	var env []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !variable.MatchString(name) || strings.ContainsRune(value, 0) {
			return nil, sysexit.With(sysexit.Data, fmt.Errorf(".env.test:%d: want KEY=value", n))
		}
		if steering.MatchString(name) {
			err := sysexit.With(sysexit.NoPerm, fmt.Errorf(".env.test:%d: %s is not for a codebase to set", n, name))
			return nil, sysexit.Hint(err, "take it out of .env.test, or `env_test:` out of the configuration")
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

package proc

import (
	"os"
	"slices"
	"strings"
)

// always are the variables that always pass: program paths, language, time zone.
var always = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// never are variables that do not pass even if named: an agent must not believe that it runs
// inside another agent, nor see where the project keeps its files.
var never = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "TRI_HOME", "TRI_USER"}

// Env returns the environment of an agent: the few variables that every program needs, those named
// by the configuration, and set. HOME is home unless named holds HOME: the user's own home
// contains keys that no agent needs.
func Env(named []string, home string, set ...string) []string {
	var env []string
	for _, name := range slices.Concat(always, named) {
		value, ok := os.LookupEnv(name)
		if ok && !slices.Contains(never, name) && !slices.Contains(env, name+"="+value) {
			env = append(env, name+"="+value)
		}
	}
	if !slices.Contains(named, "HOME") && home != "" {
		env = append(env, "HOME="+home)
	}
	for _, s := range set {
		name, _, _ := strings.Cut(s, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, s)
		}
	}
	return env
}

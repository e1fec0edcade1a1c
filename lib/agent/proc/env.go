package proc

import (
	"os"
	"slices"
	"strings"
)

// always may pass: where programs are, how to speak, what time it is.
var always = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// never passes, even by name: an agent must not believe that it runs inside
// another one, nor see where we keep things.
var never = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "TRI_HOME", "TRI_USER"}

// Env is the environment of an agent: the few variables that every program needs,
// those that the configuration names, and set. HOME is home unless it is named:
// the user's own home has keys that no agent needs.
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

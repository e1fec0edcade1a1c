package box

import (
	"bytes"
	"os"
	"strings"

	"tri/lib/base/git"
	"tri/lib/base/lazyregexp"
	"tri/lib/judge/safety"
)

// secretName matches variables whose values grant access. The agent was given some of them, such as its
// model's key.
var secretName = lazyregexp.New(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$`)

// minSecret is the minimum length of such a value, in bytes; a shorter one may be a plain word.
const minSecret = 12

// leak says what secret a text contains, "" if none.
func leak(text []byte) string {
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= minSecret && secretName.MatchString(name) && bytes.Contains(text, []byte(value)) {
			return "holds the value of " + name
		}
	}
	if safety.HoldsKey(text) {
		return "holds what looks like a secret"
	}
	return ""
}

// secrets returns the files of a patch, and the texts published with it, that contain a secret which the
// patch would publish.
func (l *live) secrets(patch []byte) []git.Finding {
	var found []git.Finding
	look := func(name string, text []byte) {
		if what := leak(text); what != "" {
			found = append(found, git.Finding{Path: name, Reason: what})
		}
	}
	var added bytes.Buffer
	file, header := "changes.patch", true // of a change, before its lines: one of them may begin with "++ "
	for line := range bytes.Lines(patch) {
		switch name, isFile := bytes.CutPrefix(line, []byte("+++ ")); {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			look(file, added.Bytes())
			added.Reset()
			header = true
		case bytes.HasPrefix(line, []byte("@@ ")):
			header = false
		case isFile && header:
			file = strings.TrimPrefix(strings.TrimSpace(string(name)), "b/")
		case line[0] == '+':
			added.Write(line[1:])
		}
	}
	look(file, added.Bytes())
	for _, name := range []string{"report.md", "plan.md"} {
		if text, err := l.home.ReadFile("runs/" + l.name + "/" + name); err == nil {
			look(name, text)
		}
	}
	return found
}

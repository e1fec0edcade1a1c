package safety

import (
	"strings"
	"tri/lib/base/lazyregexp"
)

var (
	fences = lazyregexp.New("(?s)```[^\n]*\n(.*?)(?:```|$)")
	ticks  = lazyregexp.New("`[^`\n]+`")
)

// OwnWords returns text without lines that are verbatim in the evidence and, unless commands is set,
// without code.
func OwnWords(text string, s Sources, commands bool) string {
	text = strings.NewReplacer("’", "'", "‘", "'").Replace(text)
	quoted := map[string]bool{}
	for _, r := range s.Refs {
		for _, l := range strings.Split(r.Quote, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				quoted[l] = true
			}
		}
	}
	var kept []string
	block := false // only there is a line of 3 bytes, such as "i++", code that is quoted
	for _, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "> "))
		switch {
		case strings.HasPrefix(t, "```"):
			block = !block
		case len(t) > 3 && (quoted[t] || quoted[strings.Trim(t, "`")]), block && quoted[t]:
			l = ""
		}
		kept = append(kept, l)
	}
	text = strings.Join(kept, "\n")
	if commands {
		return text
	}
	text = ticks.ReplaceAllString(fences.ReplaceAllString(text, "\n"), " x ")
	return text
}

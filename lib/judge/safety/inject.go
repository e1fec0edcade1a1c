package safety

import (
	_ "embed"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

//go:embed orders.txt
var ordersText string

// orders match the ways in which a text instructs its reader about the text itself.
var orders = func() []*lazyregexp.Pattern {
	var exprs []string
	for line := range strings.Lines(ordersText) {
		if line[0] != '#' {
			exprs = append(exprs, strings.TrimSuffix(line, "\n"))
		}
	}
	return Compile(exprs...)
}()

// Injected lists the parts of a text that are instructions to its next reader, an agent or a program,
// rather than an answer.
func Injected(text string, s Sources) []string {
	text = OwnWords(text, s, true)
	for _, t := range s.Texts {
		if q := strings.TrimSpace(t); len(q) > 20 {
			text = strings.ReplaceAll(text, q, " ") // a repeated question is the asker's text
		}
	}
	return Matches(orders, text)
}

// Compile returns a case-insensitive pattern for each expression.
func Compile(exprs ...string) []*lazyregexp.Pattern {
	out := make([]*lazyregexp.Pattern, len(exprs))
	for i, e := range exprs {
		out[i] = lazyregexp.New(`(?i)` + e)
	}
	return out
}

// Matches lists what each pattern finds in text, without duplicates, short enough for a note.
func Matches(res []*lazyregexp.Pattern, body string) []string {
	var found []string
	for _, re := range res {
		if m := re.FindString(body); m != "" {
			m = `"` + text.Line(strings.Join(strings.Fields(m), " "), 40) + `"`
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	return found
}

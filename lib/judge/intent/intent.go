// Package intent decides by rules whether a message withdraws an earlier question, and which questions an
// answer leaves out.
package intent

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed withdraw.txt
var withdrawTxt string

// lists are the two closed lists of withdraw.txt, in folded form.
type lists struct{ withdraw, polite map[string]bool }

var closed = sync.OnceValue(func() lists {
	l := lists{map[string]bool{}, map[string]bool{}}
	into := l.withdraw
	for line := range strings.Lines(withdrawTxt) {
		switch line = strings.TrimSpace(line); {
		case line == "[polite]":
			into = l.polite
		case line == "[withdraw]":
			into = l.withdraw
		case line != "" && line[0] != '#':
			into[fold(line)] = true
		}
	}
	return l
})

// Withdraws reports whether text, as a whole, withdraws a question. The text is split at punctuation: each
// part must be in the closed list or be polite, and at least one must be in the list. A part may have
// polite words before or after it. names are the names by which the bot and other people may be addressed
// in it. A text with a question mark is a question.
func Withdraws(text string, names ...string) bool {
	if len(text) > 400 || strings.ContainsAny(text, "?？؟") {
		return false
	}
	calls := map[string]bool{}
	for _, n := range names {
		calls[fold(strings.TrimPrefix(n, "@"))] = true
	}
	found := false
	for _, part := range strings.FieldsFunc(text, isBreak) {
		words := bare(strings.Fields(part), calls)
		switch {
		case len(words) == 0:
		case closed().withdraw[strings.Join(words, " ")]:
			found = true
		default:
			return false
		}
	}
	return found
}

// isBreak reports whether r separates the parts of a message.
func isBreak(r rune) bool {
	switch r {
	case '\'', '’', '@', '<', '>', '&', '#', '_', '`', '´':
		return false
	}
	return unicode.IsPunct(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || r == '\n' || r == '~' || r == '='
}

// bare removes mentions, and polite words from both ends unless the whole is in the list.
func bare(words []string, calls map[string]bool) []string {
	var said []string
	for _, w := range words {
		if strings.HasPrefix(w, "@") || strings.HasPrefix(w, "<@") || calls[fold(w)] {
			continue
		}
		if w = fold(w); w != "" {
			said = append(said, w)
		}
	}
	l := closed()
	for len(said) > 0 && !l.withdraw[strings.Join(said, " ")] {
		n, first := polite(said, l)
		if n == 0 {
			break
		}
		if first {
			said = said[n:]
		} else {
			said = said[:len(said)-n]
		}
	}
	return said
}

// polite returns how many words at one end of said are polite, and whether that is the first end.
func polite(said []string, l lists) (n int, first bool) {
	for n := min(3, len(said)); n > 0; n-- {
		if l.polite[strings.Join(said[:n], " ")] {
			return n, true
		}
		if l.polite[strings.Join(said[len(said)-n:], " ")] {
			return n, false
		}
	}
	return 0, false
}

// fold returns text in the form for comparison: normalized (NFKC), in lower case, without invisible
// characters, apostrophes or marks.
func fold(s string) string {
	s = strings.ToLower(norm.NFKC.String(s))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\'' || r == '’' || r == '`' || r == '´' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		case r == 'ё':
			return 'е'
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

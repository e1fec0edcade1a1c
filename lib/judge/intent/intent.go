// Package intent says what a message does to a question that was put before it.
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

// lists are the two closed lists of withdraw.txt, in the form of fold.
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

// Withdraws reports whether text, the whole of it, takes a question back. It is
// cut at punctuation: each part must be in the closed list or be politeness, and one
// must be in the list. A part may have polite words around it, in either order.
// names are how the bot and other people may be called in it. A question mark
// makes it a question.
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

// isBreak reports whether r parts a message into what is said one after the other.
func isBreak(r rune) bool {
	switch r {
	case '\'', '’', '@', '<', '>', '&', '#', '_', '`', '´':
		return false
	}
	return unicode.IsPunct(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || r == '\n' || r == '~' || r == '='
}

// bare takes mentions out of words, and polite words from both ends unless the
// whole is in the list.
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

// polite is how many words of an end of said are polite, and whether it is the
// first end.
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

// fold brings text to the form in which it is compared: full width and composed
// letters as one, small letters, without what shows nothing, apostrophes or marks.
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

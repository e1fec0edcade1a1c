package evidence

import (
	"slices"
	"strings"
	"unicode"
)

// term is a word of a text in the form for comparison: lower case, with its stem.
type term struct {
	text, stem string
	at, end    int // byte offsets in the text
}

// terms returns the words of a text, with identifiers split.
func terms(text string) []term {
	var out []term
	for _, at := range lettered.FindAllStringIndex(text, -1) {
		if whole := text[at[0]:at[1]]; isDense(whole) {
			out = append(out, denseTerms(whole, at[0])...)
		} else {
			out = append(out, spacedTerms(whole, at[0])...)
		}
	}
	return out
}

// spacedTerms returns the words of a name, which begins at byte at.
func spacedTerms(whole string, at int) []term {
	var out []term
	i := 0
	parts := identifierWords(whole)
	if len(parts) > 1 && isASCII(whole) && !slices.ContainsFunc(parts, func(p string) bool {
		return !words().is("stop", p)
	}) {
		parts = []string{strings.ToLower(whole)} // IsSet is significant although is and set are not
	}
	for _, p := range parts {
		k := i
		if n := indexFold(whole[i:], p); n >= 0 {
			k = i + n
		}
		end := min(k+len(p), len(whole))
		out = append(out, term{text: p, stem: stem(p), at: at + k, end: at + end})
		i = end
	}
	return out
}

func indexFold(s, lower string) int {
	if i := strings.Index(s, lower); i >= 0 {
		return i
	}
	return strings.Index(strings.ToLower(s), lower)
}

// endings are the endings that distinguish forms of an English word, longest first.
var endings = []string{"ations", "ation", "ments", "ment", "ingly", "ings", "ing", "iest", "ies", "ied",
	"ier", "ions", "ion", "able", "ers", "ed", "es", "er", "ly", "'s", "s"}

// stem returns the common part of the forms of a word: retries and retried, stopped and stops.
func stem(w string) string {
	if s, ok := words().form[w]; ok {
		w = s // continue, so that takes is a form of took too
	}
	rs := []rune(w)
	if len(rs) < 4 || !isASCII(w) {
		return w
	}
	for _, e := range endings {
		if s, ok := strings.CutSuffix(w, e); ok && len(s) >= 3 && !strings.HasSuffix(w, "ss") {
			if strings.HasPrefix(e, "ie") {
				return s + "i"
			}
			w = s
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiousl", rune(w[n-1])) {
		w = w[:n-1]
	}
	w = strings.TrimSuffix(w, "e")
	if n := len(w); n > 2 && w[n-1] == 'y' {
		w = w[:n-1] + "i"
	}
	if s, ok := words().form[w]; ok {
		return s
	}
	return w
}

const leastPrefix = 4 // letters that two words of one family share

// akin reports whether two words may be of one family: charge and charging, config and configuration, err
// and error.
func akin(a, b term) bool {
	if a.stem == b.stem || a.text == b.text {
		return true
	}
	if len(a.stem) > len(b.stem) {
		a, b = b, a
	}
	if !isASCII(a.stem) || !isASCII(b.stem) {
		return len(a.stem) >= 6 && strings.HasPrefix(b.stem, a.stem)
	}
	return len(a.stem) >= leastPrefix && strings.HasPrefix(b.stem, a.stem) && len(b.stem) <= 2*len(a.stem)+2
}

// content returns the significant terms.
func content(all []term) []term {
	l := words()
	var out []term
	for _, t := range all {
		if !l.is("stop", t.text) && !l.is("not", t.text) && !isDigits(t.text) &&
			(len(t.text) > 2 || !isASCII(t.text) || len(t.text) == 2 && !l.is("light", t.text)) {
			out = append(out, t)
		}
	}
	return out
}

func isDigits(s string) bool {
	for _, r := range s {
		if !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// has reports whether all contains a term or one of its family.
func has(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return akin(t, u) })
}

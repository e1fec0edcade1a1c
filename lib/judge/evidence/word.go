package evidence

import (
	"slices"
	"strings"
	"unicode"
)

// term is a word of a text as it is compared: in lower case and by its stem.
type term struct {
	text, stem string
	at, end    int // bytes in the text
}

// terms are the words of a text, identifiers parted.
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

// spacedTerms are the words of a name, which begins at byte at.
func spacedTerms(whole string, at int) []term {
	var out []term
	i := 0
	parts := split2(whole)
	if len(parts) > 1 && isASCII(whole) && !slices.ContainsFunc(parts, func(p string) bool { return !words().is("stop", p) }) {
		parts = []string{strings.ToLower(whole)} // IsSet says something though is and set do not
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

// endings that the forms of an English word differ in, the longest first.
var endings = []string{"ations", "ation", "ments", "ment", "ingly", "ings", "ing", "iest", "ies", "ied", "ier", "ions", "ion", "able", "ers", "ed", "es", "er", "ly", "'s", "s"}

// stem is what a word has in common with its other forms: retries and retried,
// stopped and stops.
func stem(w string) string {
	if s, ok := words().form[w]; ok {
		w = s // and on, so that takes is a form of took as well
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

// akin reports whether two words may be of one family: charge and charging,
// config and configuration, err and error.
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

// content are the terms that say something of a subject.
func content(all []term) []term {
	l := words()
	var out []term
	for _, t := range all {
		if !l.is("stop", t.text) && !l.is("not", t.text) && !isDigits(t.text) && (len(t.text) > 2 || !isASCII(t.text) || len(t.text) == 2 && !l.is("light", t.text)) {
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

// has reports whether a term, or one of its family, is among others.
func has(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return akin(t, u) })
}

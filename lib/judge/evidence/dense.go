package evidence

import (
	"slices"
	"strings"
	"unicode"
)

// Words of scripts without spaces are cut by what is known of them: a phrase of the
// lexicons is a word, Katakana is one, and what is left of Han counts by its pairs
// of characters. Hiragana joins and bends, and says nothing but where it denies.

// isDense reports whether a text has letters of a script without spaces.
func isDense(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }) >= 0
}

const longestDense = 6 // characters of a phrase

// denseTerms are the words of a text that isDense, which begins at byte at.
func denseTerms(text string, at int) []term {
	var out []term
	for i := 0; i < len(text); {
		if n := known(text[i:]); n > 0 {
			out = append(out, term{text: text[i : i+n], stem: text[i : i+n], at: at + i, end: at + i + n})
			i += n
			continue
		}
		r, size := first(text[i:])
		switch {
		case unicode.Is(unicode.Hiragana, r):
			i += size
		case unicode.Is(unicode.Han, r):
			end := i + size
			if s, n := first(text[end:]); unicode.Is(unicode.Han, s) && known(text[end:]) == 0 {
				pair := text[i : end+n]
				out = append(out, term{text: pair, stem: pair, at: at + i, end: at + end})
			} else if len(out) == 0 || out[len(out)-1].end != at+i || words().dense[out[len(out)-1].text] {
				out = append(out, term{text: text[i:end], stem: text[i:end], at: at + i, end: at + end})
			}
			i = end
		default:
			end := i + size
			for end < len(text) {
				s, n := first(text[end:])
				if unicode.In(s, unicode.Hiragana, unicode.Han) || (s < 0x80) != (r < 0x80) {
					break
				}
				end += n
			}
			out = append(out, spacedTerms(text[i:end], at+i)...)
			i = end
		}
	}
	return out
}

func first(text string) (rune, int) {
	for _, r := range text {
		return r, len(string(r))
	}
	return 0, 0
}

// known is the length of the longest phrase of the lexicons that text begins with.
func known(text string) int {
	l := words()
	best, n := 0, 0
	for i, r := range text {
		if n++; n > longestDense {
			break
		}
		if w := text[:i+len(string(r))]; l.dense[w] {
			best = len(w)
		}
	}
	return best
}

// behind reports whether a word of negation follows what it denies, as in Japanese.
func behind(by string) bool {
	r, _ := first(by)
	return unicode.Is(unicode.Hiragana, r)
}

// denied is the word before the i-th, a negation that follows what it denies.
func (c *clause) denied(i int) []term {
	for k := i - 1; k >= 0 && k > i-3; k-- {
		if strings.ContainsAny(c.text[c.terms[k].end:c.terms[k+1].at], ".;,:、。") {
			break
		}
		if t := c.terms[k]; len(content([]term{t})) > 0 && !slices.ContainsFunc(c.hits, func(h hit) bool { return h.at == t.at && words().axes[h.axis].order }) {
			return []term{t}
		}
	}
	return nil
}

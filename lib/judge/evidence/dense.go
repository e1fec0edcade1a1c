package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// In scripts without spaces, words are found as follows: a phrase of the lexicons is a word, a run of
// Katakana is a word, and remaining Han characters count in pairs. Other Hiragana is grammatical and is
// ignored.

// isDense reports whether a text contains letters of a script without spaces.
func isDense(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
	}) >= 0
}

const longestDense = 6 // maximum characters of a phrase

// denseTerms returns the words of a dense text, which begins at byte at.
func denseTerms(text string, at int) []term {
	var out []term
	add := func(i, n, end int) {
		out = append(out, term{text: text[i : i+n], stem: text[i : i+n], at: at + i, end: at + end})
	}
	for i := 0; i < len(text); {
		if n := known(text[i:]); n > 0 {
			add(i, n, i+n)
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.Is(unicode.Hiragana, r):
			i += size
		case unicode.Is(unicode.Han, r):
			s, n := utf8.DecodeRuneInString(text[i+size:])
			if !unicode.Is(unicode.Han, s) || known(text[i+size:]) > 0 {
				n = 0
			}
			if n > 0 || len(out) == 0 || out[len(out)-1].end != at+i || words().dense[out[len(out)-1].text] {
				add(i, size+n, i+size)
			}
			i += size
		default:
			end := i + size
			for end < len(text) {
				s, n := utf8.DecodeRuneInString(text[end:])
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

// known returns the length of the longest phrase of the lexicons at the start of text.
func known(text string) int {
	best, n := 0, 0
	for i, r := range text {
		if n++; n > longestDense {
			break
		}
		if end := i + utf8.RuneLen(r); end > i && end <= len(text) && words().dense[text[:end]] {
			best = end
		}
	}
	return best
}

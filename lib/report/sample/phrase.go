package sample

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// longest is how many words, or characters of a script without blanks, a phrase
// has at most.
const longest = 4

// rare is the share of the rightly dropped messages that a phrase may be in: what
// is more common ("in", "was") tells nothing, however the labels fell.
const rare = 0.02

// candidates are phrases of misses that tell them from rightly dropped messages,
// the best first. A phrase counts once a message.
func candidates(misses, rights []string) (out []Proposal) {
	in, not := count(misses), count(rights)
	for phrase, m := range in {
		if m < support || float64(not[phrase]) > rare*float64(len(rights)) {
			continue
		}
		if s := odds(m, len(misses), not[phrase], len(rights)); s > 0 {
			out = append(out, Proposal{Phrase: phrase, Score: s})
		}
	}
	slices.SortFunc(out, byScore)
	return out
}

// odds is the logarithm of the odds ratio of a phrase, with half a message added
// everywhere (Haldane and Anscombe), in its own standard errors.
func odds(m, misses, r, rights int) float64 {
	a, b := float64(m)+.5, float64(misses-m)+.5
	c, d := float64(r)+.5, float64(rights-r)+.5
	return math.Log(a*d/(b*c)) / math.Sqrt(1/a+1/b+1/c+1/d)
}

func count(texts []string) map[string]int {
	counts := map[string]int{}
	for _, text := range texts {
		seen := map[string]bool{}
		for _, p := range phrases(text) {
			if !seen[p] {
				seen[p] = true
				counts[p]++
			}
		}
	}
	return counts
}

// phrases are the runs of words of a text, and of characters where words are not
// spaced. One character, or a number, is none.
func phrases(text string) (out []string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\''
	})
	for i := range words {
		for n := 1; n <= longest && i+n <= len(words); n++ {
			if p := strings.Join(words[i:i+n], " "); usable(p) {
				out = append(out, p)
			}
		}
		if r := []rune(words[i]); dense(r[0]) {
			for from := range r {
				for n := 2; n <= longest && from+n <= len(r); n++ {
					out = append(out, string(r[from:from+n]))
				}
			}
		}
	}
	return out
}

func usable(p string) bool {
	return len(p) > 1 && len(p) <= 40 && strings.ContainsFunc(p, unicode.IsLetter)
}

// dense reports whether words of r's script stand without blanks.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

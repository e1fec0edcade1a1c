package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Unspaced are the scripts written without spaces between words.
var Unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar,
}

// Words counts words: a run between spaces that holds a letter or a digit is one; two characters
// of an unspaced script are one.
func Words(s string) int {
	words := 0
	for field := range strings.FieldsSeq(s) {
		dense, spaced := 0, false
		for _, r := range field {
			if unicode.In(r, Unspaced...) {
				dense++
			} else if unicode.IsLetter(r) || unicode.IsDigit(r) {
				spaced = true
			}
		}
		words += (dense + 1) / 2
		if spaced {
			words++
		}
	}
	return words
}

// Sentences splits a text into its sentences: a full stop counts only if a new sentence begins after it, so
// that main.go, 1.5 and e.g. do not. Each has a letter or a digit.
func Sentences(s string) []string {
	rs := []rune(strings.TrimSpace(s))
	var all []string
	from, open := 0, false
	add := func(to int) {
		if open {
			all = append(all, strings.TrimSpace(string(rs[from:to])))
			from, open = to, false
		}
	}
	for i, r := range rs {
		switch {
		case strings.ContainsRune("。！？", r), strings.ContainsRune(".!?", r) && ends(rs, i):
			add(i + 1)
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			open = true
		}
	}
	add(len(rs))
	return all
}

// ends reports whether the mark rs[i] ends a sentence.
func ends(rs []rune, i int) bool {
	j := i + 1
	for j < len(rs) && strings.ContainsRune(`.!?"')]”’`+"`", rs[j]) {
		j++
	}
	if j == len(rs) {
		return true
	}
	if !unicode.IsSpace(rs[j]) {
		return false
	}
	for j < len(rs) && unicode.IsSpace(rs[j]) {
		j++
	}
	return j == len(rs) || !unicode.IsLower(rs[j])
}

// Count returns a number with a noun, to which it adds an s unless the number is 1.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

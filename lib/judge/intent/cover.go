package intent

import (
	"slices"
	"strings"
	"unicode"
)

// Uncovered returns the indexes of those of several questions that an answer does not address: it contains
// none of the words, identifiers and numbers that only this question has. This does not prove that a
// question is answered; it finds one that was left out. A single question is never left out.
func Uncovered(questions []string, answer string) (left []int) {
	if len(questions) < 2 {
		return nil
	}
	said := terms(answer)
	var asked [][]string
	for _, q := range questions {
		asked = append(asked, terms(q))
	}
	for i, own := range asked {
		alone := slices.DeleteFunc(slices.Clone(own), func(w string) bool {
			for j, other := range asked {
				if j != i && slices.Contains(other, w) {
					return true
				}
			}
			return false
		})
		if len(alone) == 0 {
			alone = own
		}
		if !slices.ContainsFunc(alone, func(w string) bool { return slices.Contains(said, w) }) {
			left = append(left, i)
		}
	}
	return left
}

// stop are words that do not distinguish questions.
var stop = strings.Fields(`a an and are as at be but by can could did do does for from has have how i if in is it its
me my of on or our so than that the their then there these they this those to was we were what when where which who
why will with would you your anyone somebody know tell please also many much long often set used use get`)

// terms returns the distinctive words of a text: in lower case, cut to their first letters so that endings
// do not matter, with names also split.
func terms(s string) (out []string) {
	cut := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	for _, w := range strings.FieldsFunc(s, cut) {
		for _, part := range append(parts(w), w) {
			if part = strings.ToLower(part); slices.Contains(stop, part) || len(part) < 2 {
				continue
			}
			if rs := []rune(part); len(rs) > 4 {
				part = string(rs[:4])
			}
			out = append(out, part)
		}
	}
	return out
}

// parts splits a name in camel or snake case.
func parts(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower || r == '_' {
			b.WriteByte(' ')
		}
		if lower = unicode.IsLower(r); r != '_' {
			b.WriteRune(r)
		}
	}
	return strings.Fields(b.String())
}

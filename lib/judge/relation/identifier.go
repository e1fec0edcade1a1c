package relation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

// run is text that may be an identifier, with the sign of a mention before it. Scripts without spaces, and
// Hangul with its particles, do not continue one.
var run = lazyregexp.New(`@?` + word + `(?:[-./:]+` + word + `)*`)

const word = `[\p{Latin}\p{Greek}\p{Cyrillic}\p{Nd}_]+`

// maxIdentifiers is how many identifiers of a message are compared.
const maxIdentifiers = 16

// identifiers returns the names of code, versions, paths and codes in what a message says, of the first
// maxText bytes; links and mentions are none.
func identifiers(text string) (ids []string) {
	for _, w := range run.FindAllString(written(text[:min(len(text), maxText)]), -1) {
		if isIdentifier(w) && !slices.Contains(ids, w) && len(ids) < maxIdentifiers {
			ids = append(ids, w)
		}
	}
	return ids
}

// isIdentifier reports whether a run is written as people write no word of prose: with "_", with a capital
// after a small letter or before the last capital ("HTTPServer"), with a digit after a letter, or with
// several letters or two numbers joined by a sign. "10ms", "2-step", "APIs" and "e.g" are prose.
func isIdentifier(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	switch first := unicode.IsLetter(r) || r == '_'; {
	case r == '@':
		return false
	case first && strings.ContainsFunc(w, unicode.IsDigit), strings.Contains(w, "_"):
		return true
	case !first:
		return strings.Count(w, ".") > 1
	}
	if i := strings.IndexAny(w, "./:"); i > 1 && i+2 < len(w) {
		return true
	}
	rest := strings.TrimSuffix(w[utf8.RuneLen(r):], "s")
	return strings.ContainsFunc(rest, unicode.IsUpper) && strings.ContainsFunc(rest, unicode.IsLower) &&
		!strings.ContainsAny(w, "-")
}

// theirs reports whether a question other than i has an identifier. One that another question writes in
// other case is another.
func (c *comparison) theirs(i int, id string) bool {
	n := c.named[id]
	if slices.Contains(c.names[i], id) {
		n--
	}
	return n > 0
}

// saysAny reports whether the answer contains one of the identifiers that only question i has: as written; in
// other case, or by the last part of a dotted one, if this is not how another question names its own; or as
// words of prose, all of them, one of which no other question has.
func (c *comparison) saysAny(i int, mine []string) bool {
	theirs := slices.DeleteFunc(slices.Clone(c.present), func(id string) bool { return !c.theirs(i, id) })
	rest := remove(c.answer, theirs)
	said := distinct(rest)
	for _, id := range mine {
		longer := slices.DeleteFunc(slices.Clone(theirs), func(t string) bool {
			return len(t) <= len(id) || !says(t, id)
		})
		if says(remove(c.answer, longer), id) {
			return true
		}
		if says(strings.ToLower(rest), strings.ToLower(id)) {
			return true
		}
		last := id[strings.LastIndexAny(id, "./:")+1:]
		if isIdentifier(last) && says(rest, last) && !c.others(i, last) {
			return true
		}
		parts := distinct(id)
		own := func(w string) bool {
			return c.worded[w] == 0 || c.worded[w] == 1 && slices.Contains(c.words[i], w)
		}
		if slices.ContainsFunc(parts, own) && len(without(parts, said)) == 0 {
			return true
		}
	}
	return false
}

// others reports whether a part of an identifier is in one of another question.
func (c *comparison) others(i int, part string) bool {
	for id := range c.named {
		if says(id, part) && c.theirs(i, id) {
			return true
		}
	}
	return false
}

// says reports whether a text contains an identifier that is not a part of a longer word.
func says(text, id string) bool { return find(text, id) >= 0 }

// remove returns a text without identifiers, the longest first.
func remove(text string, ids []string) string {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b string) int { return len(b) - len(a) })
	for _, id := range ids {
		for i := find(text, id); i >= 0; i = find(text, id) {
			text = text[:i] + " " + text[i+len(id):]
		}
	}
	return text
}

// find returns where an identifier is in a text, -1 if it is not.
func find(text, id string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], id)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(id):])
		if !continues(before) && !continues(after) {
			return i
		}
		from = i + len(id)
	}
}

// continues reports whether a rune beside an identifier makes it a part of a longer one.
func continues(r rune) bool {
	return r == '_' || unicode.IsDigit(r) || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

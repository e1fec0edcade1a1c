package faults

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// guarded matches the parts of a text that are not the writer's own wording: code, quotations,
// places, addresses. Nothing in them is changed.
var guarded = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`|\"[^\"\n]{1,200}\"|[\\w./+-]+\\.\\w+:\\d+(?:-\\d+)?|[a-z]+://\\S+|[~.]?/[\\w./-]+|\\b\\w+\\(\\)")

// prose is a text with the positions of its guarded parts.
type prose struct {
	text string
	shut [][]int
}

func proseOf(text string) prose { return prose{text, guarded.FindAllStringIndex(text, -1)} }

// find returns the matches of re outside of guarded parts, in the form of
// regexp.FindAllStringSubmatchIndex.
func (p prose) find(re *regexp.Regexp) [][]int {
	return slices.DeleteFunc(re.FindAllStringSubmatchIndex(p.text, -1), func(m []int) bool {
		return slices.ContainsFunc(p.shut, func(g []int) bool { return m[0] < g[1] && g[0] < m[1] })
	})
}

var stop = regexp.MustCompile(`[.!?;]["')]?(?:\s+|$)|[。！？]|\n+`)

// sentences returns the positions of the sentences of a text.
func sentences(text string) [][2]int {
	var out [][2]int
	from := 0
	for _, m := range append(proseOf(text).find(stop), []int{len(text), len(text)}) {
		if strings.TrimSpace(text[from:m[1]]) != "" {
			out = append(out, [2]int{from, m[1]})
		}
		from = m[1]
	}
	return out
}

// small are words that do not identify a subject.
var small = strings.Fields(`the and are was were been does did can could should would will what where when which who why how that this
these those there here with from into about have has had not but for you your its they then than also just only one any all more most less
least never always before after until unless because while out over under off both each every other another same such some
yang dan dari untuk pada itu ini ada tidak dengan juga atau los las una del que con por para`)

// content returns the words that identify a text's subject, reduced to a common stem: retry and
// retries, max and maximum.
func content(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(spaced(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		w = strings.ToLower(w)
		if rs := []rune(w); len(rs) > 4 {
			w = string(rs[:4])
		} else if len(rs) < 3 && !unicode.IsDigit(rs[0]) {
			continue
		}
		if !slices.Contains(small, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

var hump = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// spaced separates the words of identifiers.
func spaced(text string) string { return hump.ReplaceAllString(text, "$1 $2") }

// shared returns how many words two texts have in common.
func shared(a, b []string) int {
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n++
		}
	}
	return n
}

// like returns word capitalized like model.
func like(model, word string) string {
	first, rest := []rune(model), []rune(word)
	if len(first) > 0 && len(rest) > 0 && unicode.IsUpper(first[0]) {
		rest[0] = unicode.ToUpper(rest[0])
	}
	return string(rest)
}

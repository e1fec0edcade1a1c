package autoreply

import (
	"slices"
	"strings"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"unicode"
)

// changed returns the words by which two texts differ in meaning, old and new. It returns none if only the
// wording was edited: case, punctuation of sentences, white space, a greeting, words of courtesy and
// articles, or a letter inside a longer word. Any other character counts as a change of meaning, and so does
// a change of order: the test fails closed.
func changed(before, after string) (from, to []string) {
	a, b := content(before), content(after)
	for len(a) > 0 && len(b) > 0 && alike(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && alike(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

var (
	// greeting has at most one name, written as one: what else is in it may be the answer.
	greeting = lazyregexp.New(`^\s*(?i:hi|hello|hey|hallo|halo|hai|dear)( (?i:all|team|there|everyone)| @?\p{Lu}\p{L}{2,})?[.!,\n:]`)
	// token matches a number or a name with what belongs to it (a path, a point, a negation), or one other
	// character that is not punctuation of a sentence.
	token = lazyregexp.New(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|!*\.?[\p{L}\p{N}_]([\p{L}\p{M}\p{N}_'’/.:-]|,\p{N})*|![=(]` +
		"|[^\\s\\pZ.,;:!…\"“”„«»‘’'`—。、，；：！]")
	// courtesy are words without content. No word that negates, limits or doubts may be among them.
	courtesy = text.Set("a an the please pls thanks thank you hi hello hey so well ok okay sure just kindly also fyi here")
)

func content(s string) (out []string) {
	s = greeting.ReplaceAllString(s, "")
	for _, w := range token.FindAllString(s, -1) {
		w = strings.ToLower(strings.TrimRight(strings.ReplaceAll(w, "’", "'"), ".:'"))
		if w != "" && !courtesy[w] {
			out = append(out, w)
		}
	}
	return out
}

// alike reports whether two words are equal except for one letter, or two transposed letters, inside a
// longer word without a digit or a mark.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := []rune(a), []rune(b)
	if len(x) < len(y) {
		x, y = y, x
	}
	if len(y) < 6 || len(x)-len(y) > 1 || !letters(x) || !letters(y) {
		return false
	}
	i := 0
	for i < len(y) && x[i] == y[i] {
		i++
	}
	if i < 2 || i >= len(y)-1 { // a first letter may negate, a last one may mean number or tense
		return false
	}
	same := func(x, y []rune) bool { return string(x) == string(y) }
	if len(x) > len(y) {
		return same(x[i+1:], y[i:])
	}
	swapped := x[i] == y[i+1] && x[i+1] == y[i] && same(x[i+2:], y[i+2:])
	return swapped || same(x[i+1:], y[i+1:])
}

func letters(rs []rune) bool {
	return !slices.ContainsFunc(rs, func(r rune) bool { return !unicode.IsLetter(r) })
}

// corrects matches how people say below an answer that it is wrong. It prefers false positives: each match
// is listed in the report.
var corrects = lazyregexp.New(`(?i)\b(that|this|it|which|answer)('?s| is| was|’s)? ?(completely |just |simply |still )?(wrong|incorrect|outdated|false|not (right|true|correct|accurate|quite right|the case)|no longer (true|right|the case))\b` +
	`|\b(isn'?t|wasn'?t) (right|true|correct|accurate|the case)\b|^\W*(no|nope|wrong|incorrect|correction)\b[\s,.:!-]|^\W*actually,? |\bwrong answer\b|\bdisregard\b` +
	`|\b(itu|ini)? ?(salah|keliru)\b|\b(bukan begitu|kurang tepat|tidak benar|nggak bener|ga bener)\b` +
	`|\b(stimmt nicht|ist falsch|das ist nicht richtig)\b|\b(es incorrecto|está mal|no es (cierto|correcto))\b|c'est faux|n'est pas (vrai|correct|exact)\b|\b(está errad[oa]|não é verdade)` +
	`|違います|間違|不对|不對|错了|錯了|不正确`)

// thanked matches a message of nothing but thanks or praise: its "no" or "actually" corrects nothing.
var thanked = lazyregexp.New(`(?i)^\W*((no|nope|actually|ok|oh|yes|that('?s| is|’s)|so|very)\W+)*(no (problem|worries)|all good|thanks|thank you|great|perfect|cheers)\b` +
	`(\W+(all good|thanks|thank you|great|perfect|cheers|so|very|much|a lot)\b)*\W*$`)

// Corrects reports whether a message below an answer says that it is wrong.
func Corrects(text string) bool { return corrects.MatchString(text) && !thanked.MatchString(text) }

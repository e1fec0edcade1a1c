package outbox

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split cuts a text into parts of at most limit characters (runes), at the best
// place that is there: between paragraphs, lines, sentences, words, characters as
// people see them. Nothing is added or lost: the parts joined are the text. No
// part is blank, since platforms refuse those, unless so many blanks stand in a
// row; blanks at the very end go with the last part.
func Split(text string, limit int) []string {
	var parts []string
	for limit > 0 {
		head := text[:runeOffset(text, limit)]
		if len(head) == len(text) {
			break
		}
		at := cutAt(head, text)
		if strings.TrimSpace(text[at:]) == "" {
			break // only blanks are left: they go with what is before them
		}
		parts = append(parts, text[:at])
		text = text[at:]
	}
	return append(parts, text)
}

// runeOffset is where the rune number n begins.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// cutAt returns where to cut text, at most behind head. A place in head's first
// half is passed over for the next best kind, so that parts stay few.
func cutAt(head, text string) int {
	for _, sep := range []string{"\n\n", "\n", ". ", "! ", "? ", "。", " "} {
		if i := strings.LastIndex(head, sep); i >= len(head)/2 {
			if at := i + len(sep); strings.TrimSpace(head[:at]) != "" {
				return at
			}
		}
	}
	return graphemes(head, text)
}

// graphemes is the last boundary between visible characters in head; one that is
// longer than head is cut.
func graphemes(head, text string) int {
	_, next := utf8.DecodeRuneInString(text[len(head):])
	at, state, rest := 0, -1, text[:len(head)+next] // a boundary depends on one character behind it
	for at < len(head) {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if at+len(c) > len(head) {
			break
		}
		at += len(c)
	}
	if strings.TrimSpace(head[:at]) == "" {
		return len(head)
	}
	return at
}

package outbox

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split cuts a text into parts of at most limit characters (runes), at the best available
// boundary: between paragraphs, lines, sentences, words, visible characters. The parts joined are
// the text. No part is blank, since platforms refuse those, unless limit consecutive characters
// are blank; trailing blanks go with the last part.
func Split(text string, limit int) []string {
	var parts []string
	for limit > 0 {
		head := text[:runeOffset(text, limit)]
		if len(head) == len(text) {
			break
		}
		at := cutAt(head, text)
		if strings.TrimSpace(text[at:]) == "" {
			break // only blanks are left: they go with the part before them
		}
		parts = append(parts, text[:at])
		text = text[at:]
	}
	return append(parts, text)
}

// runeOffset returns the byte offset of rune n.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// cutAt returns where to cut text, at the latest at the end of head. A boundary in head's first
// half is rejected in favour of the next kind, so that there are few parts.
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

// graphemes returns the last boundary between visible characters in head. A visible character
// longer than head is cut.
func graphemes(head, text string) int {
	_, next := utf8.DecodeRuneInString(text[len(head):])
	at, state, rest := 0, -1, text[:len(head)+next] // a boundary depends on the character after it
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

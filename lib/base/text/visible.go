// Package text shows, cuts and counts text. It is the one definition of which characters must not
// reach a terminal.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns s made safe for a terminal: every control, bidirectional, invisible or
// unassigned character and every invalid byte is escaped, as <U+202E> or <0x9B>, so that nothing
// can move the cursor, reorder a line or hide in it. Newline, tab and real emoji, including joined
// ones and flags, are unchanged.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	rs := []rune(s)
	at := 0
	for i, r := range rs {
		size := 1
		if r != utf8.RuneError || strings.HasPrefix(s[at:], "\uFFFD") {
			size = utf8.RuneLen(r)
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[at])
		case hidden(rs, i):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[at : at+size])
		}
		at += size
	}
	return b.String()
}

// Escape returns s with the characters beyond ASCII that Visible would escape written as in JSON: as
// \u202e, or as a surrogate pair. An invalid byte becomes U+FFFD.
func Escape(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x7f }) < 0 {
		return s
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r < 0x7f || !hidden(rs, i):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// plain reports whether s is printable ASCII, newline and tab only.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Hidden returns the characters of s that Visible would escape.
func Hidden(s string) []rune {
	if plain(s) {
		return nil
	}
	var found []rune
	rs := []rune(s)
	for i, r := range rs {
		if hidden(rs, i) {
			found = append(found, r)
		}
	}
	return found
}

const (
	zwnj   = '\u200C'
	zwj    = '\u200D'
	vs15   = '\uFE0E' // text presentation
	vs16   = '\uFE0F' // emoji presentation
	keycap = '\u20E3'
)

// hidden reports whether rs[i] is invisible or acts on its neighbours. Joiners, selectors and tags
// are accepted only where Unicode gives them a visible meaning: inside an emoji (UTS #51) or, for
// the two joiners, between letters of a script that uses them.
func hidden(rs []rune, i int) bool {
	switch r := rs[i]; {
	case r == '\n' || r == '\t':
		return false
	case r == vs15 || r == vs16:
		return !selects(rs, i)
	case r == zwj:
		return !(joinsEmoji(rs, i) || joinsLetters(rs, i))
	case r == zwnj:
		return !joinsLetters(rs, i)
	case r >= 0xE0000 && r <= 0xE007F:
		return !inFlag(rs, i)
	case unicode.Is(Blank, r):
		return true
	default:
		return !unicode.IsGraphic(r) && !unicode.Is(pictographic, r)
	}
}

func at(rs []rune, i int) rune {
	if i < 0 || i >= len(rs) {
		return 0
	}
	return rs[i]
}

func isTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

// selects accepts a presentation selector directly after an emoji, or in a keycap.
func selects(rs []rune, i int) bool {
	before := at(rs, i-1)
	if strings.ContainsRune("0123456789#*", before) && before != 0 {
		return at(rs, i+1) == keycap
	}
	return unicode.Is(pictographic, before)
}

// joinsEmoji implements UAX #29, rule GB11.
func joinsEmoji(rs []rune, i int) bool {
	before := at(rs, i-1)
	if before == vs16 || isTone(before) {
		before = at(rs, i-2)
	}
	return unicode.Is(pictographic, before) && unicode.Is(pictographic, at(rs, i+1))
}

func joinsLetters(rs []rune, i int) bool {
	return unicode.In(at(rs, i-1), joining...) && unicode.In(at(rs, i+1), joining...)
}

// inFlag accepts the three flags that are written with tags (England, Scotland, Wales). Any other
// run of tags is hidden text.
func inFlag(rs []rune, i int) bool {
	for start := i - 1; start >= 0 && start >= i-6; start-- {
		if rs[start] != 0x1F3F4 {
			continue
		}
		var tag strings.Builder
		for j := start + 1; j < len(rs) && rs[j] >= 0xE0020 && rs[j] <= 0xE007E; j++ {
			tag.WriteRune(rs[j] - 0xE0000)
		}
		name := tag.String()
		return (name == "gbeng" || name == "gbsct" || name == "gbwls") &&
			at(rs, start+6) == 0xE007F && i <= start+6
	}
	return false
}

// joining are the scripts whose spelling uses the joiners.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
	unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// Blank are the characters that are graphic by category and yet invisible: fillers, grapheme
// joiner, variation selectors, the empty braille cell.
var Blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034F, 0x034F, 1}, {0x115F, 0x1160, 1}, {0x17B4, 0x17B5, 1}, {0x180B, 0x180F, 1},
		{0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, {0xFE00, 0xFE0F, 1}, {0xFFA0, 0xFFA0, 1},
	},
	R32: []unicode.Range32{{0x1D159, 0x1D159, 1}, {0xE0100, 0xE01EF, 1}},
}

// pictographic is Extended_Pictographic of Unicode's emoji-data.txt (15.0), plus the regional
// indicators. A test compares it with uniseg's.
var pictographic = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00A9, 0x00A9, 1}, {0x00AE, 0x00AE, 1}, {0x203C, 0x203C, 1}, {0x2049, 0x2049, 1},
		{0x2122, 0x2122, 1},
		{0x2139, 0x2139, 1}, {0x2194, 0x2199, 1}, {0x21A9, 0x21AA, 1}, {0x231A, 0x231B, 1},
		{0x2328, 0x2328, 1},
		{0x2388, 0x2388, 1}, {0x23CF, 0x23CF, 1}, {0x23E9, 0x23F3, 1}, {0x23F8, 0x23FA, 1},
		{0x24C2, 0x24C2, 1},
		{0x25AA, 0x25AB, 1}, {0x25B6, 0x25B6, 1}, {0x25C0, 0x25C0, 1}, {0x25FB, 0x25FE, 1},
		{0x2600, 0x2605, 1},
		{0x2607, 0x2612, 1}, {0x2614, 0x2685, 1}, {0x2690, 0x2705, 1}, {0x2708, 0x2712, 1},
		{0x2714, 0x2714, 1},
		{0x2716, 0x2716, 1}, {0x271D, 0x271D, 1}, {0x2721, 0x2721, 1}, {0x2728, 0x2728, 1},
		{0x2733, 0x2734, 1},
		{0x2744, 0x2744, 1}, {0x2747, 0x2747, 1}, {0x274C, 0x274C, 1}, {0x274E, 0x274E, 1},
		{0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1}, {0x2763, 0x2767, 1}, {0x2795, 0x2797, 1}, {0x27A1, 0x27A1, 1},
		{0x27B0, 0x27B0, 1},
		{0x27BF, 0x27BF, 1}, {0x2934, 0x2935, 1}, {0x2B05, 0x2B07, 1}, {0x2B1B, 0x2B1C, 1},
		{0x2B50, 0x2B50, 1},
		{0x2B55, 0x2B55, 1}, {0x3030, 0x3030, 1}, {0x303D, 0x303D, 1}, {0x3297, 0x3297, 1},
		{0x3299, 0x3299, 1},
	},
	R32: []unicode.Range32{
		{0x1F000, 0x1F0FF, 1}, {0x1F10D, 0x1F10F, 1}, {0x1F12F, 0x1F12F, 1}, {0x1F16C, 0x1F171, 1},
		{0x1F17E, 0x1F17F, 1}, {0x1F18E, 0x1F18E, 1}, {0x1F191, 0x1F19A, 1}, {0x1F1AD, 0x1F1E5, 1},
		{0x1F201, 0x1F20F, 1}, {0x1F21A, 0x1F21A, 1}, {0x1F22F, 0x1F22F, 1}, {0x1F232, 0x1F23A, 1},
		{0x1F23C, 0x1F23F, 1}, {0x1F249, 0x1F3FA, 1}, {0x1F400, 0x1F53D, 1}, {0x1F546, 0x1F64F, 1},
		{0x1F680, 0x1F6FF, 1}, {0x1F774, 0x1F77F, 1}, {0x1F7D5, 0x1F7FF, 1}, {0x1F80C, 0x1F80F, 1},
		{0x1F848, 0x1F84F, 1}, {0x1F85A, 0x1F85F, 1}, {0x1F888, 0x1F88F, 1}, {0x1F8AE, 0x1F8FF, 1},
		{0x1F90C, 0x1F93A, 1}, {0x1F93C, 0x1F945, 1}, {0x1F947, 0x1FAFF, 1}, {0x1FC00, 0x1FFFD, 1},
	},
	LatinOffset: 2,
}

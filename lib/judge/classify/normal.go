package classify

import (
	"bytes"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normal returns text as the packs have it: composed (NFC), without the other
// widths and shapes that Unicode keeps for old character sets. Punctuation stays
// as it is; text that is all ASCII is not even copied.
func normal(b []byte) []byte {
	at := 0
	for at < len(b) && b[at] < utf8.RuneSelf {
		at++
	}
	if at == len(b) {
		return b
	}
	for i := at; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if isOtherShape(r) {
			b = plainShapes(b, i)
			break
		}
		i += n
	}
	if norm.NFC.QuickSpan(b[at:]) < len(b)-at {
		b = norm.NFC.Bytes(b)
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("เเ"), []byte("แ")), []byte("ํา"), []byte("ำ")) // Thai as it is mistyped
}

// isOtherShape reports whether the rune is a letter or digit that only looks
// otherwise than another: full and half width, Arabic by its place in the word,
// mathematical bold.
func isOtherShape(r rune) bool {
	switch {
	case r < 0xfb50:
		return false
	case r <= 0xfdfb, r >= 0xfe70 && r <= 0xfefc:
		return true
	case r >= 0xff10 && r <= 0xff19, r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a, r >= 0xff66 && r <= 0xffdc:
		return true
	}
	return r >= 0x1d400 && r <= 0x1d7ff
}

func plainShapes(b []byte, from int) []byte {
	out := append(make([]byte, 0, len(b)), b[:from]...)
	for i := from; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if isOtherShape(r) {
			out = norm.NFKC.Append(out, b[i:i+n]...)
		} else {
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}

// foldRune makes one of letters that people write for one another; 0 for a sign
// that they leave out. All outside ASCII.
func foldRune(r rune) rune {
	switch {
	case r >= 0x064b && r <= 0x065f, r == 0x0670, r == 0x0640: // Arabic vowel signs, tatweel
		return 0
	case r == 0x093c: // Devanagari nukta
		return 0
	case r == 0x200c || r == 0x200d || r == 0x00ad: // joiners, soft hyphen
		return 0
	}
	switch r {
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى', 'ی':
		return 'ي'
	case 'ة':
		return 'ه'
	case 'ک':
		return 'ك'
	case 'ँ':
		return 'ं'
	case 'ё', 'Ё':
		return 'е'
	case 'ı', 'İ':
		return 'i'
	}
	return unicode.ToLower(r)
}

// bare is a word without its accents, as people type it who have no keys for
// them; ok is false when it has none.
func bare(word string) (plain string, ok bool) {
	buf := make([]byte, 0, len(word))
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			buf = append(buf, byte(r))
		case r == 'đ':
			buf, ok = append(buf, 'd'), true
		case r == 'ß':
			buf, ok = append(buf, "ss"...), true
		case r < 0x250 || r >= 0x1e00 && r < 0x1f00:
			buf, ok = append(buf, baseOf(r)), true
		default:
			buf = utf8.AppendRune(buf, r)
		}
	}
	return string(buf), ok && utf8.Valid(buf)
}

// bases are the first letters of those that have accents, 0 where it is not
// known yet. Making all takes longer than the packs' need.
var bases [0x250 + 0x100]atomic.Uint32

// baseOf is the letter below the accents of r, a Latin one.
func baseOf(r rune) byte {
	at := &bases[r%0x100+0x250]
	if r < 0x250 {
		at = &bases[r]
	}
	b := at.Load()
	if b == 0 {
		b = uint32(norm.NFD.String(string(r))[0])
		at.Store(b)
	}
	return byte(b)
}

// isDense reports whether the rune's script is written without spaces: Thai, Lao,
// Burmese, Khmer, Japanese, Chinese.
func isDense(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r <= 0x0eff:
		return r != '฿'
	case r < 0x1000:
		return false
	case r <= 0x109f, r >= 0x1780 && r <= 0x17ff:
		return true
	case r < 0x3005:
		return false
	case r <= 0x3007, r >= 0x3041 && r <= 0x30fa, r == 'ー':
		return true
	}
	return r >= 0x31f0 && r <= 0x31ff || unicode.Is(unicode.Han, r)
}

// leans reports whether a rune of such a script belongs to the letter before it,
// so that no word can begin with it: tones and vowels.
func leans(r rune) bool {
	if r < 0x0e00 || r >= 0x2000 {
		return false
	}
	return unicode.IsMark(r) || r&^0x80 == 'ะ' || r&^0x80 == 'า' || r&^0x80 == 'ำ' || r&^0x80 == 'ๅ'
}

// leansOn reports whether it belongs to the letter behind it, so that no word can
// end with it: the Thai and Lao vowels that are written first.
func leansOn(r rune) bool {
	r &^= 0x80
	return r >= 'เ' && r <= 'ไ'
}

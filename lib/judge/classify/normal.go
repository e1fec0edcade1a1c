package classify

import (
	"bytes"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normal returns text in the form of the packs: composed (NFC), without the compatibility widths and
// shapes of Unicode. Punctuation is unchanged; ASCII text is not copied.
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
	// Thai typing errors
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("เเ"), []byte("แ")), []byte("ํา"), []byte("ำ"))
}

// isOtherShape reports whether the rune is a compatibility form of a letter or digit: full and half width,
// Arabic presentation forms, mathematical bold.
func isOtherShape(r rune) bool {
	switch {
	case r < 0xfb50:
		return false
	case r <= 0xfdfb, r >= 0xfe70 && r <= 0xfefc:
		return true
	case r >= 0xff10 && r <= 0xff19, r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a,
		r >= 0xff66 && r <= 0xffdc:
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

// foldRune maps letters that people use interchangeably to one of them, and optional signs to 0. For runes
// outside ASCII.
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

// bare returns a word without accents, as typed on a keyboard without them; ok is false if it has none.
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

// bases caches the base letters of accented letters; 0 is not computed yet. Computing all takes longer
// than the packs need.
var bases [0x250 + 0x100]atomic.Uint32

// baseOf returns the base letter of the Latin letter r.
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

// isDense reports whether the rune's script is written without spaces: Thai, Lao, Burmese, Khmer,
// Japanese, Chinese.
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

// leans reports whether a rune of such a script attaches to the preceding letter, so that no word begins
// with it: tones and vowels.
func leans(r rune) bool {
	if r < 0x0e00 || r >= 0x2000 {
		return false
	}
	return unicode.IsMark(r) || r&^0x80 == 'ะ' || r&^0x80 == 'า' || r&^0x80 == 'ำ' || r&^0x80 == 'ๅ'
}

// leansOn reports whether it attaches to the following letter, so that no word ends with it: the Thai and
// Lao vowels written first.
func leansOn(r rune) bool {
	r &^= 0x80
	return r >= 'เ' && r <= 'ไ'
}

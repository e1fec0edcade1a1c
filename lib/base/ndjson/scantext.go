package ndjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// str skips a string and reports whether it has escapes.
func (s *Scanner) str() (escaped bool, err error) {
	b, i := s.b, s.i+1
	for {
		i = plain(b, i)
		if i == len(b) {
			s.i = i
			return false, s.unexpected("inside a string")
		}
		switch b[i] {
		case '"':
			s.i = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			s.i = i
			if err := s.escape(); err != nil {
				return false, err
			}
			i = s.i
		default:
			s.i = i
			return false, s.unexpected("inside a string: control characters must be escaped")
		}
	}
}

// stringEnd returns the end of the string that begins at b[i], in a checked line, and whether it
// has escapes.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for i = plain(b, i+1); b[i] == '\\'; i = plain(b, i+2) {
		escaped = true
	}
	return i + 1, escaped
}

// simple returns the end of the string that begins at b[i] if it has only ordinary bytes, else 0.
func simple(b []byte, i int) int {
	if i = plain(b, i+1); i < len(b) && b[i] == '"' {
		return i + 1
	}
	return 0
}

// plain returns the index, from i on, of the first byte that ends a run of ordinary string bytes:
// a quote, a backslash or a control character. It tests eight bytes at a time: x-1 borrows into
// the high bit of a byte if x is 0.
func plain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, back := w^ones*'"', w^ones*'\\'
		found := ((w-ones*0x20)&^w | (quote-ones)&^quote | (back-ones)&^back) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// escape skips one escape sequence, or a surrogate pair of two.
func (s *Scanner) escape() error {
	at := s.i
	s.i++
	if s.i == len(s.b) {
		return s.unexpected("in an escape")
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
	default:
		return s.unexpected("in an escape")
	}
	r, err := s.hex4()
	if err != nil {
		return err
	}
	if r < 0xd800 || r > 0xdfff {
		return nil
	}
	if r < 0xdc00 && s.i+1 < len(s.b) && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
		s.i++
		low, err := s.hex4()
		if err != nil {
			return err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return nil
		}
	}
	return fmt.Errorf("lone surrogate \\u%04x at byte %d", r, at)
}

// hex4 reads the four digits after a 'u' at s.i.
func (s *Scanner) hex4() (rune, error) {
	s.i++
	var r rune
	for range 4 {
		if s.i == len(s.b) {
			return 0, s.unexpected("in an escape")
		}
		d := hexDigit(s.b[s.i])
		if d < 0 {
			return 0, s.unexpected("in an escape")
		}
		r = r<<4 | d
		s.i++
	}
	return r, nil
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

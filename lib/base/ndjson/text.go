package ndjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, since JSON cannot
// represent it.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = appendEscape(append(dst, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Text returns the text of a raw JSON string that Check has accepted: a part of raw if it has no
// escapes, else appended to dst[:0]. ok is false if raw is not a string.
func Text(dst, raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	return unescape(dst[:0], raw), true
}

// unescape resolves the escapes of a checked string's content.
func unescape(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hexRune(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, hexRune(raw[2:]))
				raw = raw[6:]
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

func hexRune(b []byte) rune {
	return hexDigit(b[0])<<12 | hexDigit(b[1])<<8 | hexDigit(b[2])<<4 | hexDigit(b[3])
}

// Strings appends to dst the texts of a raw JSON array of strings that Check has accepted. ok is
// false if raw is anything else. Texts without escapes are parts of raw.
func Strings(dst [][]byte, raw []byte) (texts [][]byte, ok bool) {
	return FirstStrings(dst, raw, len(raw))
}

// FirstStrings is Strings, but stops when dst has most texts.
func FirstStrings(dst [][]byte, raw []byte, most int) (texts [][]byte, ok bool) {
	if len(raw) < 2 || raw[0] != '[' {
		return dst, false
	}
	for i := 1; ; {
		switch raw[i] {
		case ' ', '\t', '\r', '\n', ',':
			i++
		case ']':
			return dst, true
		case '"':
			end := i + 1
			for end = plain(raw, end); raw[end] == '\\'; end = plain(raw, end+2) {
			}
			if len(dst) < most {
				text, _ := Text(nil, raw[i:end+1])
				dst = append(dst, text)
			}
			i = end + 1
		default:
			return dst, false
		}
	}
}

package conversation

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// maxWords is how many words of one message are looked at.
const maxWords = 60

// word is a word of a message, folded and hashed.
type word struct {
	hash  uint64
	says  bool // long enough to say something of what is talked about
	calls bool // "name:" or "name," at the start, or "@name": speaks to somebody
}

// basis is that of FNV-1a in 64 bits. The hash has no secret: the table of words
// overwrites by it, and a restart must overwrite alike. Who makes two names
// collide gains what he gains by naming the other.
const basis = 14695981039346656037

func hash(before uint64, b []byte) uint64 {
	h := before
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211 // so that two parts are never one
}

// name hashes a person's name as others type it: in lower case, and without what
// hangs on a nick while its owner is away or had to take a second one.
func (r *reader) name(b []byte) uint64 {
	b = r.folded(b)
	if i := bytes.IndexByte(b, '|'); i > 1 {
		b = b[:i]
	}
	if cut := bytes.TrimRight(b, "_`^-"); len(cut) > 1 {
		b = cut
	}
	return hash(basis, b)
}

func (r *reader) folded(b []byte) []byte {
	r.fold = r.fold[:0]
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			r.fold = append(r.fold, c)
			i++
			continue
		}
		ru, n := utf8.DecodeRune(b[i:])
		r.fold = utf8.AppendRune(r.fold, unicode.ToLower(ru))
		i += n
	}
	return r.fold
}

// Classes of bytes, for a pass without decoding.
const (
	space  uint8 = 1 << iota
	opens        // may stand before a word
	closes       // may stand behind one
)

// wide are the same of more than one byte, behind a word only.
const wide = "…。、，！：）"

var classes = func() (t [256]uint8) {
	for class, chars := range map[uint8]string{space: " \t\r\n\v\f", opens: "@\"'(<[", closes: ".,:;!)>]\"'"} {
		for _, c := range []byte(chars) {
			t[c] |= class
		}
	}
	return t
}()

// readWords cuts a text at its spaces and looks at each piece.
func (r *reader) readWords(content []byte, m *message) {
	for at := 0; at < len(content); {
		end := at
		for end < len(content) && spaceAt(content, end) == 0 {
			end++
		}
		if end > at {
			m.length++
			if len(m.words) < maxWords {
				r.readPiece(content[at:end], m)
			} else if !m.question {
				_, m.question = bare(content[at:end])
			}
		}
		if at = end; at < len(content) {
			at += spaceAt(content, at)
		}
	}
}

// spaceAt is how many bytes the space at i has, 0 where there is none.
func spaceAt(b []byte, i int) int {
	switch c := b[i]; {
	case c < utf8.RuneSelf:
		return int(classes[c] & space)
	case c == 0xe3 && bytes.HasPrefix(b[i:], []byte("\u3000")): // between words of Japanese
		return len("\u3000")
	}
	return 0
}

func (r *reader) readPiece(p []byte, m *message) {
	first := m.length == 1
	last := p[len(p)-1]
	calls := len(p) > 1 && p[0] == '@' || first && len(p) > 2 && (last == ':' || last == ',')
	p, asked := bare(p)
	m.question = m.question || asked
	if len(p) == 0 {
		return
	}
	m.words = append(m.words, word{hash: r.name(p), calls: calls, says: len(r.fold) >= 4})
	if m.length <= 3 {
		sign := signs[string(r.fold)]
		m.question = m.question || sign == asks
		m.greeting = m.greeting || sign == greets && m.length <= 2
	}
	if p[0] >= utf8.RuneSelf {
		r.readPairs(m)
	}
}

// bare is a piece without what stands around its word, and whether it asks.
func bare(p []byte) (word []byte, asked bool) {
	for len(p) > 0 && classes[p[0]]&opens != 0 {
		p = p[1:]
	}
	for len(p) > 0 {
		last := p[len(p)-1]
		switch {
		case last == '?':
			asked = true
		case classes[last]&closes != 0:
		case last < utf8.RuneSelf:
			return p, asked
		default:
			cut := bytes.TrimRight(p, wide)
			word = bytes.TrimRight(cut, "？؟")
			asked = asked || len(word) < len(cut)
			if len(word) == len(p) {
				return p, asked
			}
			p = word
			continue
		}
		p = p[:len(p)-1]
	}
	return p, asked
}

// readPairs takes the last piece apart where it is of a script without spaces:
// each two neighbours are a word.
func (r *reader) readPairs(m *message) {
	last := -1
	for i, ru := range string(r.fold) {
		if !unicode.In(ru, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			last = -1
			continue
		}
		if last >= 0 && len(m.words) < maxWords {
			m.words = append(m.words, word{hash: hash(basis, r.fold[last:i+utf8.RuneLen(ru)]), says: true})
			m.length++
		}
		last = i
	}
}

type sign uint8

const (
	_ sign = iota
	asks
	greets
)

// signs are the words by which people open: the packs of tri-classify know far
// more, but here they weigh little, and this program links none of them.
var signs = map[string]sign{}

func init() {
	for _, w := range []string{
		"how", "what", "why", "where", "who", "which", "anyone", "anybody", "someone", "can", "does", "is", "do", // en
		"apa", "gimana", "bagaimana", "kenapa", "mengapa", "ada", // id
		"cómo", "como", "qué", "por", "alguien", "alguém", // es, pt
		"wie", "warum", "wieso", "weiß", "kann", // de
		"comment", "pourquoi", "quelqu'un", // fr
		"как", "почему", "кто", "что", "можно", // ru
	} {
		signs[w] = asks
	}
	for _, w := range []string{
		"hi", "hello", "hey", "hola", "greetings", "howdy", "morning", "halo", "permisi", "oi", "olá", "hallo", "moin", "bonjour", "salut", "привет", "مرحبا", "नमस्ते",
	} {
		signs[w] = greets
	}
}

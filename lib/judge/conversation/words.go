package conversation

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/text"
)

// maxWords is the maximum number of words used of one message.
const maxWords = 60

// word is a word of a message, folded and hashed.
type word struct {
	hash  uint64
	says  bool // long enough to indicate a subject
	calls bool // a form of address: "name:" or "name," at the start, or "@name"
}

// basis is the offset basis of 64-bit FNV-1a. The hash is not keyed: the word table overwrites entries by
// hash, and must do the same after a restart. Forcing two names to collide gains no more than naming the
// other.
const basis = 14695981039346656037

func hash(before uint64, b []byte) uint64 {
	h := before
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211 // separates adjacent parts
}

// name hashes a person's name as others type it: in lower case, and without the suffix that marks a nick
// as away or as a second one.
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

// Classes of bytes, tested without decoding.
const (
	space  uint8 = 1 << iota
	opens        // may precede a word
	closes       // may follow a word
)

// wide are multibyte characters that may follow a word.
const wide = "…。、，！：）"

var classes = func() (t [256]uint8) {
	for class, chars := range map[uint8]string{space: " \t\r\n\v\f", opens: "@\"'(<[",
		closes: ".,:;!)>]\"'"} {
		for _, c := range []byte(chars) {
			t[c] |= class
		}
	}
	return t
}()

// readWords splits a text at its spaces and reads each piece.
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

// spaceAt returns the length of the space at i in bytes, or 0 if there is none.
func spaceAt(b []byte, i int) int {
	switch c := b[i]; {
	case c < utf8.RuneSelf:
		return int(classes[c] & space)
	case c == 0xe3 && bytes.HasPrefix(b[i:], []byte("\u3000")): // separates Japanese words
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
		m.question = m.question || asking[string(r.fold)]
		m.greeting = m.greeting || greeting[string(r.fold)] && m.length <= 2
	}
	if p[0] >= utf8.RuneSelf {
		r.readPairs(m)
	}
}

// bare returns a piece without punctuation around its word, and whether it asks.
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

// readPairs splits the last piece if it is in a script without spaces: each pair of adjacent characters is
// a word.
func (r *reader) readPairs(m *message) {
	last := -1
	for i, ru := range string(r.fold) {
		if !unicode.In(ru, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
			unicode.Khmer, unicode.Myanmar) {
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

// Words that begin a question, or are a greeting. The packs of tri-classify know many more, but here they
// have little weight, and this program does not link them.
var (
	asking = text.Set(`how what why where who which anyone anybody someone can does is do
		apa gimana bagaimana kenapa mengapa ada cómo como qué por alguien alguém
		wie warum wieso weiß kann comment pourquoi quelqu'un как почему кто что можно`)
	greeting = text.Set(`hi hello hey hola greetings howdy morning halo permisi oi olá
		hallo moin bonjour salut привет مرحبا नमस्ते`)
)

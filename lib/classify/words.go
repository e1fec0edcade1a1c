package classify

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// word is one word of a message.
type word struct {
	id     uint16 // in the lexicon
	begins bool   // a sentence begins here
	comma  bool   // a comma stands before it
	breaks bool   // a phrase cannot run across the gap before it
	dense  kind   // kinds of a phrase in a script without spaces, all in this one word
}

// text is what a message says, taken apart once for all rules. Quoted lines,
// code, links and names are no part of what it asks.
type text struct {
	words   []word
	hits    []hit // phrases found in scripts without spaces
	mark    bool  // a question mark that asks
	markEnd int   // number of words before the last one
	loose   bool  // a question mark with no word before it
	emoji   bool
	named   bool // somebody is named
	other   bool // something that is neither word nor punctuation: a link, code, a quote
	kana    bool
	han     bool
	hangul  bool
	buf     []byte
}

type hit struct {
	phrase int32
	kind   kind
}

// maxText is how much of a message is read, in bytes: of a longer one, the first
// half of that and the last. People ask before or behind what they paste.
const maxText = 32 << 10

// maxWord is the longest word that a phrase can have, in bytes.
const maxWord = 40

type class uint8

const (
	other class = iota
	letter
	space
	stop // . ! ;
)

var classes = func() (c [128]class) {
	for i := range c {
		switch b := byte(i); {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
			c[i] = letter
		case b == ' ', b == '\t', b == '\r':
			c[i] = space
		case b == '.', b == '!', b == ';':
			c[i] = stop
		}
	}
	return c
}()

// cutter takes one message apart.
type cutter struct {
	*text
	lex    *lexicon
	b      []byte
	i      int
	begins bool
	comma  bool
	breaks bool
}

// read fills t from a message's text without the name that it is addressed to.
func (t *text) read(lex *lexicon, b []byte) {
	*t = text{words: t.words[:0], hits: t.hits[:0], buf: t.buf[:0]}
	if len(b) > maxText {
		b = slices.Concat(b[:maxText/2], []byte("\n"), b[len(b)-maxText/2:])
	}
	c := cutter{text: t, lex: lex, b: b, begins: true}
	c.quote()
	for c.i < len(b) {
		switch ch := b[c.i]; {
		case ch >= utf8.RuneSelf:
			c.wide()
		case classes[ch] == letter:
			c.word()
		case classes[ch] == space:
			c.i++
		case classes[ch] == stop:
			c.i++
			c.boundary()
		default:
			c.sign(ch)
		}
	}
}

// push adds a word.
func (c *cutter) push(id uint16, dense kind) {
	c.words = append(c.words, word{id: id, begins: c.begins, comma: c.comma, breaks: c.begins || c.comma || c.breaks, dense: dense})
	c.begins, c.comma, c.breaks = false, false, false
}

// boundary begins a new sentence, unless what stood before is inside a word, as
// in a file name.
func (c *cutter) boundary() {
	if c.i == len(c.b) || c.b[c.i] >= utf8.RuneSelf || classes[c.b[c.i]] != letter {
		c.begins = true
	}
}

// word takes one word of letters and digits. Most are ASCII and in no phrase:
// those are only looked at.
func (c *cutter) word() {
	b, i := c.b, c.i
	for i < len(b) && b[i] < utf8.RuneSelf && (classes[b[i]] == letter || apostrophe(b[i:], 1) && b[i] == '\'') {
		i++
	}
	if i < len(b) && b[i] >= utf8.RuneSelf {
		c.wideWord()
		return
	}
	w := b[c.i:i]
	c.i = i
	switch {
	case i < len(b) && b[i] == ':' && bytes.HasPrefix(b[i:], []byte("://")):
		c.link()
	case len(w) > maxWord || !c.lex.mayHave(w):
		c.push(unknown, 0)
	default:
		c.buf = c.buf[:0]
		for _, ch := range w {
			if 'A' <= ch && ch <= 'Z' {
				ch |= 0x20
			}
			c.buf = append(c.buf, ch)
		}
		c.push(c.lex.ids[string(c.buf)], 0)
	}
}

// apostrophe reports whether a letter stands behind the n bytes of one.
func apostrophe(b []byte, n int) bool {
	return n < len(b) && b[n] < utf8.RuneSelf && classes[b[n]] == letter
}

// wideWord is word for one with letters outside ASCII, or a typographic
// apostrophe, in it.
func (c *cutter) wideWord() {
	c.buf = c.buf[:0]
	for c.i < len(c.b) {
		r, n := utf8.DecodeRune(c.b[c.i:])
		switch {
		case r == '’' || r == '\'':
			if !apostrophe(c.b[c.i:], n) {
				n = 0
			}
			r = '\''
		case r < utf8.RuneSelf && classes[r] != letter, isDense(r):
			n = 0
		case r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r):
			n = 0
		}
		if n == 0 {
			break
		}
		c.hangul = c.hangul || r >= utf8.RuneSelf && unicode.Is(unicode.Hangul, r)
		if len(c.buf) < maxWord {
			c.buf = utf8.AppendRune(c.buf, unicode.ToLower(r))
		}
		c.i += n
	}
	c.push(c.lex.lookup(c.buf), 0)
}

// link passes over the rest of a link, or of anything up to the next space.
func (c *cutter) link() {
	for c.i < len(c.b) && c.b[c.i] > ' ' && c.b[c.i] != '>' {
		c.i++
	}
	c.other = true
	c.push(unknown, 0)
}

// wide takes one character, or a run, outside ASCII.
func (c *cutter) wide() {
	r, n := utf8.DecodeRune(c.b[c.i:])
	switch {
	case r == '？' || r == '؟' || r == '⁇' || r == '⁉':
		c.question(n)
	case r == '。' || r == '！' || r == '；' || r == '…' || r == '¿' || r == '¡':
		c.i += n
		c.begins = true
	case r == '，' || r == '、':
		c.i += n
		c.comma = true
	case isDense(r):
		c.dense()
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		c.word()
	case unicode.IsSymbol(r):
		c.emoji = true
		c.i += n
	default:
		c.i += n // punctuation, spaces, marks and joiners of emoji
	}
}

// dense takes a run in scripts without spaces: every phrase that asks in it is a
// hit; the longest phrases, one behind the other, are its words.
func (c *cutter) dense() {
	from := c.i
	for c.i < len(c.b) {
		r, n := utf8.DecodeRune(c.b[c.i:])
		if !isDense(r) {
			break
		}
		c.kana = c.kana || unicode.In(r, unicode.Hiragana, unicode.Katakana)
		c.han = c.han || unicode.Is(unicode.Han, r)
		c.i += n
	}
	run := c.b[from:c.i]
	atEnd := c.i == len(c.b) || c.b[c.i] >= utf8.RuneSelf || classes[c.b[c.i]] != letter
	covered := 0
	for i := 0; i < len(run); {
		r, n := utf8.DecodeRune(run[i:])
		for _, p := range c.lex.dense[r] {
			if !bytes.HasPrefix(run[i:], []byte(p.text)) {
				continue
			}
			switch {
			case p.kinds&anywhere != 0:
				c.hits = append(c.hits, hit{p.phrase, anywhere})
			case p.kinds&end != 0 && atEnd && i+len(p.text) == len(run):
				c.hits = append(c.hits, hit{p.phrase, end})
			}
			if i >= covered {
				c.push(unknown, p.kinds)
				covered = i + len(p.text)
			}
		}
		if i >= covered {
			c.push(unknown, 0)
			covered = i + n
		}
		i += n
	}
}

// lang tells the language from script and frequent words; "" when it cannot.
func (t *text) lang(lex *lexicon) string {
	switch {
	case t.kana:
		return "ja"
	case t.han:
		return "zh"
	case t.hangul:
		return "ko"
	}
	var count [32]int
	for _, w := range t.words {
		if bits := lex.common[w.id]; bits != 0 {
			for i := range lex.langs {
				count[i] += int(bits >> i & 1)
			}
		}
	}
	best, second := 0, 0
	name := ""
	for i, lang := range lex.langs {
		if count[i] > best {
			best, second, name = count[i], best, lang
		} else if count[i] > second {
			second = count[i]
		}
	}
	if best == second {
		return ""
	}
	return name
}

package classify

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// word is one word of a message.
type word struct {
	id     uint16 // number in the lexicon
	begins bool   // begins a sentence
	comma  bool   // follows a comma
	breaks bool   // no phrase can span the gap before it
	dense  kind   // kinds of a phrase in a script without spaces that is this one word
	below  kind   // kinds of the phrases that begin with it
}

// reading is a message's text, split once for all rules. Quoted lines, code, links and names are not part
// of what it asks.
type reading struct {
	words   []word
	hits    []hit // phrases found in scripts without spaces
	mark    bool  // contains a question mark that asks
	markEnd int   // words before the last such mark
	loose   bool  // contains a question mark without a preceding word
	emoji   bool
	named   bool // names a person
	linked  bool
	other   bool // contains something other than words and punctuation: a link, code, a quote
	scripts scripts
	buf     []byte
}

type hit struct {
	phrase int32
	kind   kind
}

// maxText is how much of a message is read, in bytes: the first and the last half of that. People ask
// before or after the text that they paste.
const maxText = 32 << 10

// maxWord is the maximum length of a word of a phrase, in bytes.
const maxWord = 40

type class uint8

const (
	other class = iota
	letter
	space
	stop // . ! ;
)

// classes are the classes of ASCII characters; all others are other.
var classes = func() (c [256]class) {
	for i := range c[:utf8.RuneSelf] {
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

// cutter splits one message.
type cutter struct {
	*reading
	lex    *lexicon
	b      []byte
	i      int
	begins bool
	comma  bool
	breaks bool
	tail   int32 // 1 + the phrase that asks if the sentence ends here
	ends   bool  // there was a word that may begin a phrase of kind end
	opened bool  // a Spanish question has begun
}

// read fills t from a message's text without the names that it is addressed to.
func (t *reading) read(lex *lexicon, b []byte) {
	*t = reading{words: t.words[:0], hits: t.hits[:0], buf: t.buf[:0]}
	if len(b) > maxText {
		b = slices.Concat(b[:maxText/2], []byte("\n"), b[len(b)-maxText/2:])
	}
	b = normal(b)
	c := cutter{reading: t, lex: lex, b: b, begins: true}
	c.quote()
	for c.i < len(b) {
		switch ch := b[c.i]; {
		case ch >= utf8.RuneSelf:
			c.wide()
		case classes[ch] == letter:
			c.word()
		case classes[ch] == space:
			c.i++
		case ch == ';' && c.scripts.count[greek] > 0: // the Greek question mark
			c.question(1)
		case classes[ch] == stop:
			c.i++
			c.boundary()
		default:
			c.sign(ch)
		}
	}
	c.endSentence()
	if c.ends {
		c.endings()
	}
	c.mark = c.mark || c.opened && len(c.words) > 0
}

// endings finds phrases that ask at the end of a sentence.
func (c *cutter) endings() {
	for i := range c.words {
		if n, node := c.lex.match(c.words[i:], end); n > 0 && (i+n == len(c.words) || c.words[i+n].begins) {
			c.hits = append(c.hits, hit{node.phrase, end})
		}
	}
}

func (c *cutter) endSentence() {
	if c.tail > 0 {
		c.hits = append(c.hits, hit{c.tail - 1, end})
	}
	c.tail = 0
}

// push adds a word.
func (c *cutter) push(id uint16, dense kind) {
	if c.begins {
		c.endSentence()
	}
	c.tail = 0
	below := c.lex.below[id]
	c.ends = c.ends || below&end != 0
	c.words = append(c.words, word{id: id, begins: c.begins, comma: c.comma, breaks: c.begins || c.comma ||
		c.breaks, dense: dense, below: below})
	c.begins, c.comma, c.breaks = false, false, false
}

// boundary begins a new sentence, unless the preceding mark is inside a word, as in a file name.
func (c *cutter) boundary() {
	if c.i == len(c.b) || c.b[c.i] >= utf8.RuneSelf || classes[c.b[c.i]] != letter {
		c.begins = true
	}
}

// word handles one word of letters and digits. Most are short ASCII words, which are not copied.
func (c *cutter) word() {
	const lower = 0x20 // a bit set in lower-case letters, digits and the apostrophe
	b, i, key := c.b, c.i, uint64(0)
	for i < len(b) && (classes[b[i]] == letter || b[i] == '\'' && apostrophe(b[i:], 1)) {
		key = key<<8 | uint64(b[i]|lower)
		i++
	}
	if i < len(b) && b[i] >= utf8.RuneSelf {
		c.wideWord()
		return
	}
	w := b[c.i:i]
	c.i = i
	c.scripts.count[latin]++
	if i < len(b) && b[i] == ':' && bytes.HasPrefix(b[i:], []byte("://")) {
		c.link()
		return
	}
	id, drawn := uint16(unknown), drawn(w)
	switch {
	case len(w) > maxWord:
	case len(w) <= keyLetters && !drawn:
		id = c.lex.find(key, w)
	default:
		c.buf = c.buf[:0]
		for _, ch := range w {
			c.buf = append(c.buf, ch|lower)
		}
		id = c.known()
	}
	c.push(id, 0)
	if len(c.lex.tails[w[len(w)-1]|lower]) > 0 {
		c.buf = append(c.buf[:0], w...)
		c.tailed(bytes.ToLower(c.buf))
	}
}

// drawn reports whether a word has drawn-out letters: "pleaseee", "oooookay".
func drawn(w []byte) bool {
	n := len(w)
	return n > 3 && (w[n-1] == w[n-2] && w[n-2] == w[n-3] || w[0]|0x20 == w[1]|0x20 && w[1]|0x20 == w[2]|0x20)
}

// known returns the number of the word in buf. A drawn-out word counts as the word without the repetition.
func (c *cutter) known() uint16 {
	w := c.buf
	id := c.lex.lookup(w)
	if id != unknown || !drawn(w) {
		return id
	}
	from, to := 0, len(w)
	for to-1 > from && w[to-1] == w[to-2] {
		to--
	}
	for from+1 < to && w[from] == w[from+1] {
		from++
	}
	for _, i := range [...]int{from, max(from-1, 0)} {
		for _, j := range [...]int{to, min(to+1, len(w))} {
			if id = c.lex.lookup(w[i:j]); id != unknown {
				return id
			}
		}
	}
	return unknown
}

// tailed checks the ending of the word just pushed.
func (c *cutter) tailed(w []byte) {
	for _, p := range c.lex.tails[w[len(w)-1]] {
		if !bytes.HasSuffix(w, []byte(p.text)) {
			continue
		}
		if p.kinds&anywhere != 0 {
			c.hits = append(c.hits, hit{p.phrase, anywhere})
		} else {
			c.tail = p.phrase + 1
		}
	}
}

// apostrophe reports whether a letter follows the n bytes of an apostrophe.
func apostrophe(b []byte, n int) bool {
	return n < len(b) && b[n] < utf8.RuneSelf && classes[b[n]] == letter
}

// wideWord is word for words with letters outside ASCII or a typographic apostrophe.
func (c *cutter) wideWord() {
	c.buf = c.buf[:0]
	var last rune
	for c.i < len(c.b) {
		r, n := utf8.DecodeRune(c.b[c.i:])
		switch {
		case r == '’' || r == '\'':
			if !apostrophe(c.b[c.i:], n) {
				n = 0
			}
			r = '\''
		case r == '՞': // placed inside the word that it asks about
			c.mark, c.markEnd = true, len(c.words)+1
			c.i += n
			continue
		case r < utf8.RuneSelf && classes[r] != letter, isDense(r):
			n = 0
		case r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r):
			if foldRune(r) != 0 {
				n = 0
			}
		}
		if n == 0 {
			break
		}
		c.i += n
		if r >= utf8.RuneSelf {
			last = r
			c.scripts.letter(c.lex, r)
			if r = foldRune(r); r == 0 {
				continue
			}
		} else {
			r = unicode.ToLower(r)
		}
		if len(c.buf) < maxWord {
			c.buf = utf8.AppendRune(c.buf, r)
		}
	}
	c.scripts.letterOf(last)
	c.buf = laughless(c.buf)
	c.push(c.known(), 0)
	if len(c.buf) > 0 {
		c.tailed(c.buf)
	}
}

// laughless removes the single Korean letters that express laughing and crying from the end of a word:
// 나요ㅠㅠ. A word of nothing else keeps two.
func laughless(w []byte) []byte {
	for {
		r, n := utf8.DecodeLastRune(w)
		if r < 'ㄱ' || r > 'ㅣ' || n == len(w) {
			return w
		}
		if before, m := utf8.DecodeLastRune(w[:len(w)-n]); before >= 'ㄱ' && before <= 'ㅣ' &&
			(before != r || m+n == len(w)) {
			return w
		}
		w = w[:len(w)-n]
	}
}

// link skips the rest of a link, or anything up to the next space.
func (c *cutter) link() {
	for c.i < len(c.b) && c.b[c.i] > ' ' && c.b[c.i] != '>' {
		c.i++
	}
	c.other, c.linked = true, true
	c.push(unknown, 0)
	c.begins = true // the text about the link is a new sentence
}

// wide handles one character, or a run, outside ASCII.
func (c *cutter) wide() {
	r, n := utf8.DecodeRune(c.b[c.i:])
	switch {
	case r == '？' || r == '؟' || r == '⁇' || r == '⁈' || r == '⁉' || r == '⸮' || r == '፧' || r == '﹖' ||
		r == '❓' || r == '❔':
		c.question(n)
	case r == '。' || r == '．' || r == '！' || r == '；' || r == '…' || r == '¿' || r == '¡' || r == '؛' ||
		r == '۔' || r == '।' || r == '։':
		c.i += n
		c.begins = true
		c.opened = c.opened || r == '¿'
	case r == '，' || r == '、' || r == '،':
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

package classify

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// dense handles a run in scripts without spaces. Every phrase in it that asks is a hit, unless a longer
// phrase of kind told contains it. The longest phrases, one after another, are its words, and so is the
// text between them, cut into pieces of the length of names.
func (c *cutter) dense() {
	from := c.i
	for c.i < len(c.b) {
		r, n := utf8.DecodeRune(c.b[c.i:])
		if !isDense(r) {
			break
		}
		c.scripts.letterOf(r)
		c.i += n
	}
	run := c.b[from:c.i]
	atEnd := c.i == len(c.b) || c.b[c.i] >= utf8.RuneSelf || classes[c.b[c.i]] != letter
	closed := c.closed()
	covered, told, name := 0, 0, 0
	before := rune(0)
	for i := 0; i < len(run); {
		r, n := utf8.DecodeRune(run[i:])
		var list []densePhrase
		if !leansOn(before) {
			list = c.lex.dense[r]
		}
		before = r
		for k := range list {
			p := &list[k]
			if !c.stands(run[i:], p.text) {
				continue
			}
			rest := run[i+len(p.text):]
			c.scripts.votes(p.langs)
			told = c.ask(p, i, told, atEnd && i >= covered && (closed || p.kinds&more == 0) &&
				c.lex.trails(rest))
			if i >= covered {
				c.push(unknown, p.kinds)
				covered, name = i+len(p.text), 0
			}
		}
		if i >= covered {
			if name == 0 {
				c.push(unknown, 0)
				name = longName(r)
			}
			name--
			covered = i + n
		}
		i += n
	}
}

// closed reports whether the sentence does not continue in Latin letters or with a quotation. A particle
// that also joins, such as の, asks only then.
func (c *cutter) closed() bool {
	r, n := utf8.DecodeRune(bytes.TrimLeft(c.b[c.i:], " \t\u3000"))
	switch {
	case n == 0:
		return true
	case r < utf8.RuneSelf:
		return classes[r] != letter && !bytes.ContainsRune([]byte("([<@#\"'`"), r)
	}
	return !strings.ContainsRune("「『（【〈《“‘", r)
}

// stands reports whether run begins with the phrase as a word: no following sign belongs to its last
// letter.
func (c *cutter) stands(run []byte, phrase string) bool {
	if len(run) < len(phrase) || string(run[:len(phrase)]) != phrase {
		return false
	}
	r, _ := utf8.DecodeRune(run[len(phrase):])
	return !leans(r)
}

// ask records a phrase at i that asks. Up to until, a phrase of kind told applies; ask returns the new
// limit.
func (c *cutter) ask(p *densePhrase, i, until int, last bool) int {
	switch {
	case p.kinds&told != 0:
		return max(until, i+len(p.text))
	case i < until:
	case p.kinds&anywhere != 0:
		c.hits = append(c.hits, hit{p.phrase, anywhere})
	case p.kinds&end != 0 && last:
		c.hits = append(c.hits, hit{p.phrase, end})
	}
	return until
}

// longName returns the maximum number of letters of a name in the rune's script.
func longName(r rune) int {
	if r < 0x2000 {
		return 8
	}
	return 4
}

// trails reports whether rest contains only particles that do not change the meaning: 吗啊, かな～.
func (l *lexicon) trails(rest []byte) bool {
	for len(rest) > 0 {
		r, n := utf8.DecodeRune(rest)
		if r != 'ー' && r != 'っ' && r != 'ッ' {
			n = 0
			for _, p := range l.dense[r] {
				if p.kinds&more != 0 && bytes.HasPrefix(rest, []byte(p.text)) {
					n = len(p.text)
					break
				}
			}
		}
		if n == 0 {
			return false
		}
		rest = rest[n:]
	}
	return true
}

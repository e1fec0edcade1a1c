package classify

import (
	"bytes"
	"unicode/utf8"
)

// sign handles a character that is not a letter, a space or the end of a sentence.
func (c *cutter) sign(ch byte) {
	rest := c.b[c.i:]
	switch ch {
	case '\n':
		c.i++
		c.begins = true
		c.quote()
	case '?':
		c.question(1)
	case ',':
		c.i++
		c.comma = true
	case '(', '"', ')', '[', ']':
		c.i++
		c.breaks = true
	case '`':
		c.code()
	case '<':
		c.angle()
	case '@':
		c.name()
	case ':', '=':
		if n := smiley(rest); n > 0 {
			c.emoji = true
			c.i += n
			return
		}
		c.i++
		if ch == ':' {
			c.boundary()
		}
	case '^':
		n := len(rest) - len(bytes.TrimLeft(rest, "^"))
		c.other = c.other || n != 2 // refers to an earlier message
		c.i += n
	case '{', '}', '#', '$', '%', '&', '\\', '|':
		c.other = true // probably code
		c.i++
	case '+', '-':
		if len(rest) >= 2 && rest[1] == '1' && (len(rest) == 2 || rest[2] >= utf8.RuneSelf ||
			classes[rest[2]] != letter) && (c.i == 0 || c.b[c.i-1] <= ' ') {
			c.i += 2
			c.push(c.lex.lookup(rest[:2]), 0)
			return
		}
		c.i++
	default:
		c.i++
	}
}

// question handles a question mark of n bytes. One inside a word (a link, a pattern), as an option after a
// slash, or before a semicolon (code) does not ask.
func (c *cutter) question(n int) {
	option := c.i > 0 && c.b[c.i-1] == '/' && (c.i == 1 || c.b[c.i-2] == ' ')
	c.i += n
	if option || joined(c.b[c.i:]) || c.i < len(c.b) && c.b[c.i] == ';' {
		return
	}
	c.begins = true
	if len(c.words) == 0 {
		c.loose = true
		return
	}
	c.mark, c.markEnd = true, len(c.words)
}

// joined reports whether b continues the preceding text.
func joined(b []byte) bool {
	for i := 0; i < len(b) && b[i] < utf8.RuneSelf; i++ {
		switch {
		case classes[b[i]] == letter || b[i] == '=' || b[i] == '&' || b[i] == '/' || b[i] == '$':
			return true
		case b[i] != '*' && b[i] != '_' && b[i] != ':' && b[i] != '-' && b[i] != '.':
			return false
		}
	}
	return false
}

// quote skips quoted lines.
func (c *cutter) quote() {
	if rest := c.b[c.i:]; len(rest) > 2 && rest[0] == '>' && bytes.IndexByte([]byte("._:<("), rest[1]) >= 0 &&
		bytes.IndexByte([]byte("><(.)_D/"), rest[2]) >= 0 {
		c.emoji = true // >.> and similar
		c.i += 3
		return
	}
	for c.i < len(c.b) && c.b[c.i] == '>' {
		n := bytes.IndexByte(c.b[c.i:], '\n')
		if n < 0 {
			n = len(c.b) - c.i - 1
		}
		c.i += n + 1
		c.other = true
	}
}

// code skips text between backticks.
func (c *cutter) code() {
	fence := 1
	if bytes.HasPrefix(c.b[c.i:], []byte("```")) {
		fence = 3
	}
	inside := c.b[c.i+fence:]
	n := bytes.Index(inside, c.b[c.i:c.i+fence])
	if n < 0 {
		c.i += fence
		return
	}
	c.i += n + 2*fence
	c.other = true
	c.push(unknown, 0)
}

// angle skips platform markup in angle brackets: <@U123>, <#C1|dev>, <!here>, <https://…>, <:emoji:123>.
func (c *cutter) angle() {
	const longest = 256 // bytes
	rest := c.b[c.i:min(len(c.b), c.i+longest)]
	n := bytes.IndexByte(rest, '>')
	switch {
	case len(rest) > 1 && rest[1] == '3':
		c.emoji = true
		c.i += 2
	case n < 2 || bytes.ContainsAny(rest[:n], " \n"):
		c.i++
	case rest[1] == '@' || rest[1] == '#' || rest[1] == '!':
		c.named = true
		c.i += n + 1
	case rest[1] == ':' || bytes.HasPrefix(rest, []byte("<a:")):
		c.emoji = true
		c.i += n + 1
	default:
		c.i++
	}
}

// name skips @name.
func (c *cutter) name() {
	c.i++
	c.named = true
	for c.i < len(c.b) {
		ch := c.b[c.i]
		if ch < utf8.RuneSelf && classes[ch] != letter && ch != '_' && ch != '-' {
			return
		}
		c.i++
	}
}

// smiley returns the length of :) or a similar smiley, or of :shortcode:, at the start of b; 0 if there is
// none.
func smiley(b []byte) int {
	i := 1
	for i < len(b) && (classes[b[i]&0x7f] == letter || b[i] == '_' || b[i] == '+' || b[i] == '-') &&
		b[i] < utf8.RuneSelf {
		i++
	}
	if b[0] == ':' && i > 2 && i < len(b) && b[i] == ':' {
		return i + 1
	}
	i = 1
	if i < len(b) && (b[i] == '-' || b[i] == '\'' || b[i] == 'o' && len(b) > 2 && b[2] == ')') {
		i++
	}
	if i < len(b) && bytes.IndexByte([]byte(")(DdpPoO/\\|3*$]["), b[i]) >= 0 {
		for i++; i < len(b) && b[i] == b[i-1]; i++ {
		}
		if i == len(b) || b[i] <= ' ' || b[i] == '.' || b[i] == ',' {
			return i
		}
	}
	return 0
}

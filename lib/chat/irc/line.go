package irc

import (
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircfmt"
	"github.com/ergochat/irc-go/ircmsg"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// line is one message of the protocol.
type line struct {
	ircmsg.Message
	whole string // as received
}

// tag returns a tag's value, "" if it is missing.
func (l *line) tag(name string) string {
	_, value := l.GetTag(name)
	return value
}

// param returns the nth parameter, "" if there are fewer.
func (l *line) param(n int) string {
	if n >= 0 && n < len(l.Params) {
		return l.Params[n]
	}
	return ""
}

// last returns the last parameter: the text.
func (l *line) last() string { return l.param(len(l.Params) - 1) }

// forbidden removes the bytes for which the library rejects a whole line.
var forbidden = strings.NewReplacer("\r", "", "\n", "", "\x00", "")

// parse parses a line without its line end; ok is false if it is invalid.
func parse(s string) (l line, ok bool) {
	m, err := ircmsg.ParseLine(forbidden.Replace(strings.ToValidUTF8(s, "\uFFFD")))
	return line{m, s}, err == nil
}

// fold returns a name in lower case as servers compare names, by the rules of RFC 1459.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= '^' { // the letters, and [ \\ ] ^ for { | } ~
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// withoutFormatting removes formatting (bold, colours, reset) and all other control characters.
func withoutFormatting(s string) string {
	if !strings.ContainsFunc(s, control) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, ircfmt.Strip(hexColour.ReplaceAllString(s, "")))
}

// hexColour matches a colour code that ircfmt does not know
// (https://modern.ircdocs.horse/formatting#hex-color).
var hexColour = lazyregexp.New(`\x04(?:[0-9a-fA-F]{0,6})`)

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// maxText is how many bytes of text fit into a line of 512 with the longest prefix that the server
// may add.
const maxText = 400

// lines splits a text into parts that fit into lines, at newlines and then at spaces.
func lines(body string) (out []string) {
	for s := range strings.SplitSeq(body, "\n") {
		s = text.Visible(s)
		for len(s) > maxText {
			cut := maxText
			for cut > 0 && !utf8.RuneStart(s[cut]) {
				cut--
			}
			if space := strings.LastIndexByte(s[:cut], ' '); space > maxText/2 {
				cut = space
			}
			out = append(out, s[:cut])
			s = strings.TrimPrefix(s[cut:], " ")
		}
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

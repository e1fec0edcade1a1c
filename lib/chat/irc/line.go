package irc

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircfmt"
	"github.com/ergochat/irc-go/ircmsg"

	"tri/lib/base/text"
)

// line is one message of the protocol.
type line struct {
	ircmsg.Message
	whole string // as it came
}

// tag is a tag's value, "" where there is none.
func (l *line) tag(name string) string {
	_, value := l.GetTag(name)
	return value
}

// param is the nth parameter, "" where there are fewer.
func (l *line) param(n int) string {
	if n >= 0 && n < len(l.Params) {
		return l.Params[n]
	}
	return ""
}

// last is the last parameter: the text.
func (l *line) last() string { return l.param(len(l.Params) - 1) }

// forbidden are the bytes for which the library refuses a whole line.
var forbidden = strings.NewReplacer("\r", "", "\n", "", "\x00", "")

// parse reads a line without its end. ok is false where it is none.
func parse(s string) (l line, ok bool) {
	m, err := ircmsg.ParseLine(forbidden.Replace(strings.ToValidUTF8(s, "\uFFFD")))
	return line{m, s}, err == nil
}

// fold is a name as servers compare it: RFC 1459's letters included.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= '^' { // the letters, and [ \\ ] ^ for { | } ~
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// plain takes formatting out of a text: bold, colours, reset and the like, and
// whatever else controls.
func plain(s string) string {
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

// hexColour is a colour that ircfmt does not know
// (https://modern.ircdocs.horse/formatting#hex-color).
var hexColour = regexp.MustCompile(`\x04(?:[0-9a-fA-F]{0,6})`)

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// maxText is how many bytes of text fit into a line of 512 with the longest
// prefix that the server may put before it.
const maxText = 400

// lines cuts a text into what lines can hold, at newlines and then at spaces.
func lines(body string) (out []string) {
	for _, s := range strings.Split(body, "\n") {
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

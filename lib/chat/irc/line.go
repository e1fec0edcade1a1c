package irc

import (
	"strings"
	"tri/lib/base/text"
	"unicode/utf8"
)

// line is one message of the protocol (https://modern.ircdocs.horse/#messages),
// with its tags (https://ircv3.net/specs/extensions/message-tags).
type line struct {
	whole   string // as it came
	tags    map[string]string
	source  string // nick!user@host, or a server's name
	command string // upper case, or three digits
	params  []string
}

// nick is who sent it.
func (l *line) nick() string {
	nick, _, _ := strings.Cut(l.source, "!")
	return nick
}

// param is the nth parameter, "" where there are fewer.
func (l *line) param(n int) string {
	if n >= 0 && n < len(l.params) {
		return l.params[n]
	}
	return ""
}

// last is the last parameter: the text.
func (l *line) last() string { return l.param(len(l.params) - 1) }

// parse reads a line without its end. ok is false where it is none.
func parse(s string) (l line, ok bool) {
	l.whole = s
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if rest, tagged := strings.CutPrefix(s, "@"); tagged {
		tags, after, found := strings.Cut(rest, " ")
		if !found {
			return l, false
		}
		l.tags, s = parseTags(tags), strings.TrimLeft(after, " ")
	}
	if rest, sourced := strings.CutPrefix(s, ":"); sourced {
		source, after, found := strings.Cut(rest, " ")
		if !found {
			return l, false
		}
		l.source, s = source, strings.TrimLeft(after, " ")
	}
	command, s, _ := strings.Cut(s, " ")
	l.command = strings.ToUpper(command)
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		if text, trailing := strings.CutPrefix(s, ":"); trailing {
			l.params = append(l.params, text)
			break
		}
		var p string
		p, s, _ = strings.Cut(s, " ")
		l.params = append(l.params, p)
	}
	return l, l.command != ""
}

var unescape = strings.NewReplacer(`\:`, ";", `\s`, " ", `\\`, `\`, `\r`, "\r", `\n`, "\n", `\`, "")

func parseTags(s string) map[string]string {
	tags := map[string]string{}
	for _, tag := range strings.Split(s, ";") {
		key, value, _ := strings.Cut(tag, "=")
		if key != "" {
			tags[key] = unescape.Replace(value)
		}
	}
	return tags
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

// plain takes formatting out of a text: bold, colours, reset and the like
// (https://modern.ircdocs.horse/formatting), and whatever else controls.
func plain(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 0x03:
			i += 1 + colour(s[i+1:])
			continue
		case c == 0x04:
			i += 1 + min(6, hexDigits(s[i+1:]))
			continue
		case c < ' ' && c != '\t' || c == 0x7f:
		default:
			b.WriteByte(c)
		}
		i++
	}
	return b.String()
}

// colour is how long "4,12" behind a colour mark is.
func colour(s string) int {
	n := digits(s)
	if n > 0 && n < len(s) && s[n] == ',' {
		if m := digits(s[n+1:]); m > 0 {
			return n + 1 + m
		}
	}
	return n
}

func digits(s string) int {
	n := 0
	for n < 2 && n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func hexDigits(s string) int {
	n := 0
	for n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	return n
}

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

package slacktest

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"

	"tri/lib/chat/emoji"
)

var (
	escape  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	code    = regexp.MustCompile("(?s)```.+?```|`[^`\n]+`")
	address = regexp.MustCompile(`https?://[^\s<>|]+`)
	handle  = regexp.MustCompile(`@([a-z]+)`)
	// mark matches valid markup after a <; any other < is text.
	mark = regexp.MustCompile(`<(?:[@#][A-Z0-9]+|!(?:here|channel|everyone|subteam\^[A-Z0-9]+|date\^[^<>]*)|https?://[^<>|]+|mailto:[^<>|]+)(?:\|[^<>]*)?>`)
)

// typed returns what a client sends for a text that a person types.
func (s *Server) typed(text string) string {
	text = address.ReplaceAllString(escape.Replace(text), "<$0>")
	text = handle.ReplaceAllStringFunc(text, func(at string) string {
		switch at {
		case "@here", "@channel", "@everyone":
			return "<!" + at[1:] + ">"
		}
		for id, u := range s.users {
			if u["name"] == at[1:] {
				return "<@" + id + ">"
			}
		}
		return at
	})
	return Colons(text)
}

// Stored returns what Slack stores for a text posted by an app: escaped characters stay, markup
// works, the rest is escaped; addresses become links unless parse is none; with link_names or parse
// full, so do names; emoji become names; characters beyond 40,000 are cut.
// https://docs.slack.dev/reference/methods/chat.postMessage
// https://docs.slack.dev/messaging/formatting-message-text
func Stored(text, parse string, linkNames bool) string {
	if r := []rune(text); len(r) > 40000 {
		text = string(r[:40000])
	}
	b, at := strings.Builder{}, 0
	for _, m := range mark.FindAllStringIndex(text, -1) {
		b.WriteString(loose(text[at:m[0]], parse, linkNames))
		b.WriteString(text[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(loose(text[at:], parse, linkNames))
	return Colons(b.String())
}

var entities = strings.NewReplacer("&amp;amp;", "&amp;", "&amp;lt;", "&lt;", "&amp;gt;", "&gt;")

func loose(text, parse string, linkNames bool) string {
	text = entities.Replace(escape.Replace(text))
	if parse != "none" {
		text = address.ReplaceAllString(text, "<$0>")
	}
	if linkNames || parse == "full" {
		text = regexp.MustCompile(`@(here|channel|everyone)\b`).ReplaceAllString(text, "<!$1>")
	}
	return text
}

// Colons replaces emoji by names, as in Slack's texts. That it leaves code unchanged is a guess.
func Colons(text string) string {
	b, at := strings.Builder{}, 0
	for _, m := range code.FindAllStringIndex(text, -1) {
		colons(&b, text[at:m[0]])
		b.WriteString(text[m[0]:m[1]])
		at = m[1]
	}
	colons(&b, text[at:])
	return b.String()
}

func colons(b *strings.Builder, text string) {
	state := -1
	var cluster string
	for text != "" {
		if text[0] < 0x80 && (len(text) == 1 || text[1] < 0x80) { // not the start of an emoji
			b.WriteByte(text[0])
			text, state = text[1:], -1
			continue
		}
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		tone := ""
		bare := strings.Map(func(r rune) rune {
			if r >= 0x1F3FB && r <= 0x1F3FF {
				tone = ":skin-tone-" + string(rune('2'+r-0x1F3FB)) + ":"
				return -1
			}
			return r
		}, cluster)
		if name, ok := emoji.Name(bare); ok {
			b.WriteString(":" + name + ":" + tone)
		} else {
			b.WriteString(cluster)
		}
	}
}

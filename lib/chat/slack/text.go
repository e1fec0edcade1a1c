package slack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
)

// In a message's text &, < and > are always escaped; an unescaped < begins markup: <@U1>,
// <#C1|name>, <!here>, <https://…|label>
// (https://docs.slack.dev/messaging/formatting-message-text).
var (
	escaped   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaped = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
	mark      = lazyregexp.New(`<([^<>\n]+)>`)
)

// maxLookups is how many names are looked up for one message; real messages mention fewer.
const maxLookups = 50

// readable returns a text as a client shows it, and who is mentioned in it.
func (c *Client) readable(ctx context.Context, raw string) (text string, mentions []string, err error) {
	mentions = []string{}
	b, at := strings.Builder{}, 0
	for i, m := range mark.FindAllStringSubmatchIndex(raw, -1) {
		b.WriteString(raw[at:m[0]])
		at = m[1]
		target, label, _ := strings.Cut(raw[m[2]:m[3]], "|")
		shown, called := linked(target, label), ""
		switch {
		case strings.HasPrefix(target, "@"):
			called = target[1:]
			if label == "" && i < maxLookups {
				p, err := c.person(ctx, called)
				if err != nil {
					return "", nil, err
				}
				label = escaped.Replace(p.Name)
			}
			shown = "@" + cmp.Or(strings.TrimPrefix(label, "@"), called)
		case strings.HasPrefix(target, "#"):
			if label == "" && i < maxLookups && chatID.MatchString(target[1:]) {
				r, err := c.room(ctx, target[1:])
				if err != nil {
					return "", nil, err
				}
				label = escaped.Replace(r.Name)
			}
			shown = "#" + cmp.Or(strings.TrimPrefix(label, "#"), target[1:])
		case strings.HasPrefix(target, "!subteam^"):
			called = strings.TrimPrefix(target, "!subteam^")
			shown = "@" + cmp.Or(strings.TrimPrefix(label, "@"), called)
		case strings.HasPrefix(target, "!"): // !here, !date^…
			name, _, _ := strings.Cut(target[1:], "^")
			shown = cmp.Or(label, "@"+name)
		}
		if anyID.MatchString(called) && !slices.Contains(mentions, called) {
			mentions = append(mentions, called)
		}
		b.WriteString(shown)
	}
	b.WriteString(raw[at:])
	return strings.ToValidUTF8(unescaped.Replace(emoji.Read(b.String())), "\uFFFD"), mentions, nil
}

// linked returns the text of a link: the URL as typed, or the label and the URL where they differ.
func linked(target, label string) string {
	if label == "" {
		return strings.TrimPrefix(target, "mailto:")
	}
	for _, scheme := range []string{"", "http://", "https://", "mailto:", "tel:"} {
		if target == scheme+label || target == scheme+label+"/" {
			return label
		}
	}
	return label + " (" + target + ")"
}

// sent returns a text as it is posted, with all markup escaped. Slack's handling of control
// characters is not documented, so they are replaced by visible symbols.
func sent(text string) string { return escaped.Replace(sink.Pictures(text)) }

package slack

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
)

// https://docs.slack.dev/messaging/formatting-message-text: in a text, &, < and >
// are always escaped; a < that is not is the beginning of a mark: <@U1>,
// <#C1|name>, <!here>, <https://…|label>.
var (
	escaped   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaped = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
	mark      = regexp.MustCompile(`<([^<>\n]+)>`)
)

// maxLookups of one message's names are made; nobody addresses more.
const maxLookups = 50

// readable makes a text what people see, and finds who is addressed in it.
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
			shown = "@" + first(strings.TrimPrefix(label, "@"), called)
		case strings.HasPrefix(target, "#"):
			if label == "" && i < maxLookups && chatID.MatchString(target[1:]) {
				r, err := c.room(ctx, target[1:])
				if err != nil {
					return "", nil, err
				}
				label = escaped.Replace(r.Name)
			}
			shown = "#" + first(strings.TrimPrefix(label, "#"), target[1:])
		case strings.HasPrefix(target, "!subteam^"):
			called = strings.TrimPrefix(target, "!subteam^")
			shown = "@" + first(strings.TrimPrefix(label, "@"), called)
		case strings.HasPrefix(target, "!"): // !here, !date^…
			name, _, _ := strings.Cut(target[1:], "^")
			shown = first(label, "@"+name)
		}
		if anyID.MatchString(called) && !slices.Contains(mentions, called) {
			mentions = append(mentions, called)
		}
		b.WriteString(shown)
	}
	b.WriteString(raw[at:])
	return strings.ToValidUTF8(unescaped.Replace(emoji.Read(b.String())), "\uFFFD"), mentions, nil
}

// linked is a link as somebody wrote it: what they typed, or a label and where it
// really leads.
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

// sent is a text as it is posted: nothing in it is a mark. What Slack does with
// control characters nobody says: they are shown instead.
func sent(text string) string { return escaped.Replace(sink.Pictures(text)) }

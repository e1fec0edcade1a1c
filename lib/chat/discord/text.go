package discord

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/chat/sink"
)

var (
	// marks are the references to users and other objects in a text (reference#message-formatting).
	marks = lazyregexp.New(`<(?:@[!&]?(\d{1,20})|#(\d{1,20})|a?:(\w{1,40}):\d{1,20}|t:(-?\d{1,13})(?::[tTdDfFRsS])?|/([\w -]{1,100}):\d{1,20}|id:(\w{1,20}))>`)
	code  = lazyregexp.New("(?s)```.+?```|``.+?``|`[^`\n]+`")
)

// text returns the text of m as a client shows it.
func (c *Client) text(ctx context.Context, m *message, guild string) (string, error) {
	content := m.Content
	if content == "" && m.Author != nil && (m.Author.Bot || m.WebhookID != "") {
		for _, b := range m.Embeds { // in users' messages they are only previews of links
			content = strings.TrimSpace(content + "\n" + strings.TrimSpace(b.Title+"\n"+b.Description))
		}
	}
	if content == "" && m.Poll != nil {
		content = m.Poll.Question.Text
	}
	if content == "" {
		for _, s := range m.Stickers {
			content = strings.TrimSpace(content + " [sticker: " + s.Name + "]")
		}
	}
	return c.readable(ctx, content, m.Mentions, guild)
}

// readable replaces ids by names, except in code, which Discord shows verbatim.
func (c *Client) readable(ctx context.Context, text string, people []user, guild string) (string, error) {
	if !strings.Contains(text, "<") {
		return text, nil
	}
	b, at := strings.Builder{}, 0
	spans := code.FindAllStringIndex(text, -1)
	for _, s := range append(spans, []int{len(text), len(text)}) {
		if err := c.plain(ctx, &b, text[at:s[0]], people, guild); err != nil {
			return "", err
		}
		b.WriteString(text[s[0]:s[1]])
		at = s[1]
	}
	return b.String(), nil
}

func (c *Client) plain(ctx context.Context, b *strings.Builder, text string, people []user,
	guild string) error {
	at := 0
	for _, m := range marks.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[at:m[0]])
		shown, err := c.mark(ctx, text, m, people, guild)
		if err != nil {
			return err
		}
		b.WriteString(shown)
		at = m[1]
	}
	b.WriteString(text[at:])
	return nil
}

// mark returns the text that a client shows for a reference.
func (c *Client) mark(ctx context.Context, text string, m []int, people []user,
	guild string) (string, error) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	whole := group(0)
	switch {
	case strings.HasPrefix(whole, "<@&"):
		r, err := c.role(ctx, guild, group(1))
		return named("@", r.Name, whole), err
	case strings.HasPrefix(whole, "<@"):
		for _, u := range people {
			if u.ID == group(1) {
				return named("@", u.name(), whole), nil
			}
		}
		return whole, nil
	case group(2) != "":
		p, err := c.place(ctx, group(2))
		return named("#", p.Name, whole), err
	case group(3) != "":
		return ":" + group(3) + ":", nil
	case group(4) != "":
		s, err := strconv.ParseInt(group(4), 10, 64)
		if err != nil || s < -62135596800 || s > 253402300799 { // the years 1 to 9999
			return whole, nil
		}
		return time.Unix(s, 0).UTC().Format("2006-01-02 15:04 UTC"), nil
	case group(5) != "":
		return "/" + group(5), nil
	}
	return "#" + group(6), nil
}

// named returns a name after its sign, or whole if there is no name.
func named(sign, name, whole string) string {
	if name == "" {
		return whole
	}
	return sign + strings.TrimPrefix(name, sign)
}

// shown returns a text as it can be sent: Discord trims white space at both ends, and its handling
// of control characters is not documented.
func shown(text string) string { return strings.TrimSpace(sink.Pictures(text)) }

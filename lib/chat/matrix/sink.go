package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/sink"
)

// Sink posts as the account. It is separate from Client so that a watcher, which uses only Client,
// links no code that can post.
type Sink struct {
	*Client
	sink.Frame
}

// NewSink returns the sink of an account. It makes no network calls.
func NewSink(o Options) (*Sink, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	// An event has at most 64 KiB, and a character up to four bytes.
	return &Sink{c, sink.Frame{Platform: platform, Max: 11_000, Outcome: outcome}}, nil
}

// outcome classifies an error response of a homeserver: a 404 without a code concerns the address,
// a 403 the room.
func outcome(e *httpapi.Error) sink.Outcome {
	switch {
	case e.Code == "M_UNKNOWN_TOKEN" || e.Code == "M_MISSING_TOKEN" ||
		e.Code == "" && e.Status == http.StatusNotFound:
		return sink.Blocked
	case e.Status == http.StatusForbidden:
		return sink.Refused
	}
	return sink.ByStatus(e.Status)
}

// crowd matches the text that notifies the whole room in clients without m.mentions.
var crowd = lazyregexp.New(`(?i)(?:^|[^\pL\pN])@room(?:$|[^\pL\pN])`)

// Post implements chat.Sink. The key is the transaction id: to a second request with it, from the
// same device, the homeserver returns the event of the first.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	body := message(p.Text)
	relates := map[string]any{"rel_type": "m.thread", "event_id": p.ThreadID, "is_falling_back": true}
	if p.ReplyToID != "" {
		relates["m.in_reply_to"] = map[string]any{"event_id": p.ReplyToID}
	}
	body["m.relates_to"], body["io.tri.key"] = relates, p.Key
	return c.send(ctx, p.ChatID, p.Key, p.Text, body)
}

// maxBoth is the maximum size of a text and of its HTML together, in bytes of JSON.
const maxBoth = 52_000

// message returns the content of a text, also as HTML if there is room for it. With an empty m.mentions it
// mentions nobody.
func message(text string) map[string]any {
	body := map[string]any{"msgtype": "m.text", "body": text, "m.mentions": map[string]any{}}
	if strings.Contains(text, "`") || strings.Contains(text, "**") {
		html := rich(text)
		if both, err := json.Marshal(text + html); err == nil && len(both) <= maxBoth {
			body["format"], body["formatted_body"] = "org.matrix.custom.html", html
		}
	}
	return body
}

var (
	fence = lazyregexp.New("(?s)```(?:[a-zA-Z0-9]*\n)?(.*?)```")
	span  = lazyregexp.New("`([^`\n]+)`")
	bold  = lazyregexp.New(`\*\*([^*\n]+)\*\*`)
)

// rich returns the text as HTML: code and bold as such, everything else escaped.
func rich(text string) string {
	s := html.EscapeString(text)
	var blocks []string
	hold := func(block string) string {
		blocks = append(blocks, block)
		return fmt.Sprintf("\x00%d\x00", len(blocks)-1)
	}
	s = fence.ReplaceAllStringFunc(s, func(m string) string {
		return hold("<pre><code>" + fence.FindStringSubmatch(m)[1] + "</code></pre>")
	})
	s = span.ReplaceAllStringFunc(s, func(m string) string {
		return hold("<code>" + m[1:len(m)-1] + "</code>")
	})
	s = bold.ReplaceAllString(s, "<strong>$1</strong>")
	s = strings.ReplaceAll(s, "\n", "<br>")
	for i, block := range slices.Backward(blocks) { // a later one may hold an earlier one
		s = strings.Replace(s, fmt.Sprintf("\x00%d\x00", i), block, 1)
	}
	return s
}

// shown returns text as JSON and the server can carry it: without the character 0.
func shown(text string) string { return strings.ReplaceAll(text, "\x00", "\u2400") }

// send posts an event to a room, once per key.
func (c *Sink) send(ctx context.Context, roomID, key, text string, body map[string]any) (chat.Posted, error) {
	var invalid error
	switch {
	case !strings.HasPrefix(roomID, "!"):
		invalid = errors.New("a room id begins with an exclamation mark")
	case crowd.MatchString(text):
		invalid = errors.New("@room would alert everybody")
	}
	if err := c.Frame.Check(roomID, text, invalid); err != nil {
		return chat.Posted{}, err
	}
	for _, field := range []string{"body", "formatted_body"} {
		if s, ok := body[field].(string); ok {
			body[field] = shown(s)
		}
	}
	return c.Frame.Send(roomID, func() (chat.Posted, error) {
		var made struct {
			ID string `json:"event_id"`
		}
		err := c.put(ctx, path("rooms", roomID, "send", "m.room.message", key), body, &made)
		return chat.Posted{MessageID: made.ID, At: c.api.Now().UTC()}, err
	})
}

func (c *Sink) put(ctx context.Context, path string, in, out any) error {
	return explain(c.api.Once(ctx, httpapi.Request{Method: http.MethodPut, Path: path, JSON: in}, out))
}

// Find implements chat.Sink. It reads the thread for an event of the account with the key.
//
// If the event is not there, it may be sent again under the same transaction id: if an earlier
// request still lands, the homeserver returns the same event for both (it remembers transactions
// for the life of the token, or at least half an hour, and no request takes that long).
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	from := ""
	for {
		q := url.Values{"limit": {"100"}}
		if from != "" {
			q.Set("from", from)
		}
		events, next, err := c.relations(ctx, p.ChatID, p.ThreadID, "m.thread", q)
		switch {
		case httpapi.StatusOf(err) == http.StatusNotFound || httpapi.StatusOf(err) == http.StatusForbidden:
			return chat.Posted{}, chat.Absent, nil // and a post will be refused
		case err != nil:
			return chat.Posted{}, chat.Unprovable, fmt.Errorf("matrix: thread %s: %w", p.ThreadID, err)
		}
		for _, x := range events {
			if x.Sender == self && x.Content.Key == p.Key {
				return chat.Posted{MessageID: x.ID, At: time.UnixMilli(x.At).UTC()}, chat.Found, nil
			}
		}
		if next == "" || next == from {
			return chat.Posted{}, chat.Absent, nil
		}
		from = next
	}
}

// relations returns a page of the events that relate to an event, and where the next page begins, "" if this
// one is the last.
func (c *Sink) relations(ctx context.Context, roomID, id, kind string,
	q url.Values) (events []roomEvent, next string, err error) {
	var got struct {
		Chunk []json.RawMessage `json:"chunk"`
		Next  string            `json:"next_batch"`
	}
	at := "v1" + strings.TrimPrefix(path("rooms", roomID, "relations", id, kind), "v3")
	if err := c.get(ctx, at, q, &got, 0); err != nil || len(got.Chunk) == 0 {
		return nil, "", err
	}
	return parse(got.Chunk), got.Next, nil
}

// Message implements chat.Sink: it returns the text after the last edit.
func (c *Sink) Message(ctx context.Context, roomID, id string) (text string, gone bool, err error) {
	var x roomEvent
	err = c.get(ctx, path("rooms", roomID, "event", id), nil, &x, 0)
	switch {
	case httpapi.StatusOf(err) == http.StatusNotFound:
		return "", true, nil
	case err != nil:
		return "", false, fmt.Errorf("matrix: message %s: %w", id, err)
	case x.Unsigned.Because != nil || len(x.Raw) == 0 || string(x.Raw) == "{}":
		return "", true, nil
	}
	text = x.Content.Body
	if x.Content.Relates.ReplyTo.EventID != "" && x.Content.Relates.Type != "m.thread" {
		text = withoutQuote(text)
	}
	// newest first
	edits, _, err := c.relations(ctx, roomID, id, "m.replace", url.Values{"limit": {"50"}, "dir": {"b"}})
	if err != nil {
		return "", false, fmt.Errorf("matrix: edits of %s: %w", id, err)
	}
	for _, e := range edits {
		if e.Sender == x.Sender && e.Content.New != nil {
			return e.Content.New.Body, false, nil
		}
	}
	return text, false, nil
}

func (c *Sink) React(ctx context.Context, roomID, messageID, emoji string, on bool) error {
	if !on {
		return c.unreact(ctx, roomID, messageID, emoji)
	}
	body := map[string]any{"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": messageID,
		"key": emoji}}
	return c.put(ctx, path("rooms", roomID, "send", "m.reaction", transaction(c.api.Now())),
		body, &struct{}{})
}

// unreact removes the account's reaction.
func (c *Sink) unreact(ctx context.Context, roomID, messageID, emoji string) error {
	self, err := c.me(ctx)
	if err != nil {
		return err
	}
	reactions, _, err := c.relations(ctx, roomID, messageID, "m.annotation", url.Values{"limit": {"100"}})
	if err != nil {
		return fmt.Errorf("matrix: reactions to %s: %w", messageID, err)
	}
	for _, x := range reactions {
		if x.Sender == self && x.Content.Relates.Key == emoji {
			if err := c.put(ctx, path("rooms", roomID, "redact", x.ID, transaction(c.api.Now())), struct{}{},
				&struct{}{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func transaction(now time.Time) string { return fmt.Sprintf("tri-%d", now.UnixNano()) }

// Typing implements chat.Signaler: the indicator is shown for ten seconds.
func (c *Sink) Typing(ctx context.Context, roomID, _ string) error {
	self, err := c.me(ctx)
	if err != nil {
		return err
	}
	return c.put(ctx, path("rooms", roomID, "typing", self),
		map[string]any{"typing": true, "timeout": 10_000}, &struct{}{})
}

// Edit implements chat.Signaler. The beginning of the text is for clients that know no edits.
func (c *Sink) Edit(ctx context.Context, roomID, messageID, said string) error {
	body := message("* " + text.Cut(said, 500))
	body["m.new_content"] = message(shown(said))
	body["m.relates_to"] = map[string]any{"rel_type": "m.replace", "event_id": messageID}
	_, err := c.send(ctx, roomID, transaction(c.api.Now()), said, body)
	return err
}

// PostCard implements chat.Signaler: the account adds the reactions for people to click on.
func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	text := card.WithReactions()
	body := message(text)
	if card.ThreadID != "" {
		body["m.relates_to"] = map[string]any{"rel_type": "m.thread", "event_id": card.ThreadID,
			"is_falling_back": true}
	}
	body["io.tri.key"] = card.Key
	got, err := c.send(ctx, card.ChatID, card.Key, text, body)
	if err != nil {
		return got, err
	}
	if err := sink.React(ctx, c, got.MessageID, card); err != nil {
		return got, fmt.Errorf("matrix: %w", err)
	}
	return got, nil
}

func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	return c.Edit(ctx, card.ChatID, messageID, card.WithReactions())
}

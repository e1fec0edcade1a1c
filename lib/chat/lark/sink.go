package lark

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/sink"
)

// Sink posts as the bot. It is separate from Client so that a watcher, which uses only Client,
// links no code that can post.
type Sink struct {
	*Client
	sink.Frame
}

// NewSink returns the sink of an app. It makes no network calls.
func NewSink(o Options) (*Sink, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	// A text of 4,000 characters is certain to fit as JSON, even with a few hundred lines.
	return &Sink{c, sink.Frame{
		Platform: platform, Max: chat.Limits[platform], Explain: c.explain, Settled: settled, Now: c.api.Now,
		Sleep: c.api.Sleep,
	}}, nil
}

// maxContent is the maximum size of a rich text or a card, in bytes of its JSON: 30 KB.
const maxContent = 30 << 10

// Post implements chat.Sink: it replies to the thread's first message, in its topic. Of several
// posts with the same uuid the platform accepts one within an hour; the uuid cannot be read back.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	content, err := sent(p.Text)
	if err == nil && !messageID.MatchString(p.ThreadID) {
		err = fmt.Errorf("thread %q: is not a message", p.ThreadID)
	}
	if err := c.check(p.ChatID, p.Text, content, err); err != nil {
		return chat.Posted{}, err
	}
	return c.post(ctx, p.ChatID, p.ThreadID, "post", content, p.Key)
}

// post sends a message into a thread, or into the chat itself if thread is "".
func (c *Sink) post(ctx context.Context, chatTo, thread, kind, content, key string) (chat.Posted, error) {
	sum := sha256.Sum256([]byte(key))
	// at most 50 characters
	in := map[string]any{"msg_type": kind, "content": content, "uuid": "tri-" + hex.EncodeToString(sum[:22])}
	r := httpapi.Request{Method: http.MethodPost, Path: "open-apis/im/v1/messages",
		Query: url.Values{"receive_id_type": {"chat_id"}}, JSON: in}
	if thread != "" {
		in["reply_in_thread"] = true
		r.Path, r.Query = r.Path+"/"+url.PathEscape(thread)+"/reply", nil
	} else {
		in["receive_id"] = chatTo
	}
	return c.Frame.Send(chatTo, func() (chat.Posted, error) {
		got, err := c.once(ctx, r)
		id, at := str(got, "message_id"), millis(str(got, "create_time"))
		if err != nil || !messageID.MatchString(id) {
			return chat.Posted{}, err
		}
		if at.IsZero() {
			at = c.api.ServerTime(c.api.Now())
		}
		return chat.Posted{MessageID: id, At: at}, nil
	})
}

// check refuses a post that would be rejected, before anything is sent.
func (c *Sink) check(chatTo, text, content string, invalid error) error {
	switch {
	case invalid != nil:
	case !chatID.MatchString(chatTo):
		invalid = errors.New("a chat's id begins with oc_")
	case len(content) > maxContent:
		invalid = fmt.Errorf("its lines make %d bytes; the platform takes %d", len(content), maxContent)
	}
	return c.Frame.Check(chatTo, text, invalid)
}

// settled is the age at which no attempt can still be in progress: its connection was cut when its
// program died or gave up after 30 s. The platform documents no limit for the processing of a
// received request; this one is chosen here.
const settled = 2 * time.Minute

// margin is the maximum error of the estimated platform time.
const margin = 5 * time.Second

// Find implements chat.Sink. The uuid of a message cannot be read back, so an earlier attempt is
// recognized by its text: a single message of the bot, in the thread, with exactly this text, not
// older than the attempt. It is not proved if there are two such messages, the time of the attempt
// is unknown, or a message of the bot was recalled. If there is none, and none can still be in
// progress, the post was not made; and within the hour its uuid prevents a duplicate in any case.
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !chatID.MatchString(p.ChatID) || !messageID.MatchString(p.ThreadID) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused before it is sent
	}
	return c.Frame.Find(ctx, p, c.find)
}

func (c *Sink) find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	root, there, err := c.fetch(ctx, p.ThreadID)
	switch {
	case err != nil:
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("lark: message %s: %w", p.ThreadID, err)
	case !there || root.Topic == "":
		return chat.Posted{}, chat.Absent, nil // there is no topic with an answer
	}
	var since time.Time
	if !p.Tried.IsZero() {
		since = c.api.ServerTime(p.Tried).Add(-margin)
	}
	var same []message
	recalled, want := false, shown(p.Text)
	in := url.Values{"container_id_type": {"thread"}, "container_id": {root.Topic},
		"sort_type": {"ByCreateTimeDesc"}}
	err = c.history(ctx, in, func(r gjson.Result) bool {
		m, ok := parseHistory(r)
		if !ok || m.Sender != c.o.ID && m.Sender != self.OpenID {
			return true
		}
		if m.Created.Before(since) {
			return false
		}
		if m.Gone {
			recalled = true
		} else if text, _, _ := m.readable(self.OpenID, c.o.ID); text == want {
			same = append(same, m)
		}
		return true
	})
	switch {
	case err != nil:
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("lark: thread of %s: %w", p.ThreadID, err)
	case len(same) == 1 && !since.IsZero():
		return chat.Posted{MessageID: same[0].ID, At: same[0].Created}, chat.Found, nil
	case len(same) > 0 || recalled && !since.IsZero():
		return chat.Posted{}, chat.Unprovable, nil
	}
	return chat.Posted{}, chat.Absent, nil
}

func (c *Sink) Message(ctx context.Context, chatFrom, id string) (text string, gone bool, err error) {
	if !chatID.MatchString(chatFrom) || !messageID.MatchString(id) {
		return "", true, nil
	}
	self, err := c.me(ctx)
	if err != nil {
		return "", false, sysexit.With(sysexit.Unavailable, err)
	}
	m, there, err := c.fetch(ctx, id)
	switch {
	case err != nil:
		return "", false, sysexit.Errorf(sysexit.Unavailable, "lark: message %s: %w", id, err)
	case !there || m.Gone || m.Chat != chatFrom:
		return "", true, nil
	}
	text, _, _ = m.readable(self.OpenID, c.o.ID)
	return text, false, nil
}

// React implements chat.Signaler. To remove a reaction, its own id is looked up.
func (c *Sink) React(ctx context.Context, _, id, char string, on bool) error {
	name, ok := emojiName(char)
	if !ok {
		return fmt.Errorf("lark: emoji %q: %w", char, chat.ErrUnsupported)
	}
	if !messageID.MatchString(id) {
		return fmt.Errorf("lark: message %q: not a message id", id)
	}
	path := "im/v1/messages/" + url.PathEscape(id) + "/reactions"
	if on {
		in := map[string]any{"reaction_type": map[string]string{"emoji_type": name}}
		_, err := c.once(ctx, httpapi.Request{Method: http.MethodPost, Path: "open-apis/" + path, JSON: in})
		return c.explain(err)
	}
	ours := ""
	err := c.pages(ctx, path, url.Values{"reaction_type": {name}, "page_size": {"50"}},
		func(r gjson.Result) bool {
			if str(r, "operator.operator_type") == "app" && str(r, "operator.operator_id") == c.o.ID {
				ours = str(r, "reaction_id")
			}
			return ours == ""
		})
	if err != nil || ours == "" {
		return err
	}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodDelete,
		Path: "open-apis/" + path + "/" + url.PathEscape(ours)})
	return c.explain(err)
}

// Edit implements chat.Signaler. The platform allows twenty edits of a message.
func (c *Sink) Edit(ctx context.Context, chatTo, id, text string) error {
	content, err := sent(text)
	if err == nil && !messageID.MatchString(id) {
		err = fmt.Errorf("message %q: not a message id", id)
	}
	if err := c.check(chatTo, text, content, err); err != nil {
		return err
	}
	in := map[string]string{"msg_type": "post", "content": content}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodPut,
		Path: "open-apis/im/v1/messages/" + url.PathEscape(id), JSON: in})
	return c.explain(err)
}

// Sizes of a card's parts, in characters; chosen here.
const (
	maxTitle   = 200
	maxElement = 2000
	maxLabel   = 60
)

func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	content, err := cardJSON(card)
	if err != nil {
		return chat.Posted{}, err
	}
	if !chatID.MatchString(card.ChatID) || card.ThreadID != "" && !messageID.MatchString(card.ThreadID) {
		return chat.Posted{}, fmt.Errorf("lark: card in %q, thread %q: %w", card.ChatID, card.ThreadID,
			chat.ErrRefused)
	}
	return c.post(ctx, card.ChatID, card.ThreadID, "interactive", content, card.Key)
}

func (c *Sink) UpdateCard(ctx context.Context, id string, card chat.Card) error {
	content, err := cardJSON(card)
	if err != nil {
		return err
	}
	if !messageID.MatchString(id) {
		return fmt.Errorf("lark: card %q: is not a message: %w", id, chat.ErrRefused)
	}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodPatch,
		Path: "open-apis/im/v1/messages/" + url.PathEscape(id), JSON: map[string]string{"content": content}})
	return c.explain(err)
}

// cardJSON returns a card's JSON
// (https://open.larksuite.com/document/feishu-cards/card-json-structure): plain text only, so that
// nothing notifies or links, and shared, because only a card that is the same for everybody can be
// updated.
func cardJSON(card chat.Card) (string, error) {
	if err := sink.CheckButtons(card.Buttons); err != nil {
		return "", fmt.Errorf("lark: %w", err)
	}
	elements := []any{}
	for rest := text.Cut(shown(card.Text), 2*maxElement); strings.TrimSpace(rest) != ""; {
		part := sink.First(rest, maxElement)
		elements = append(elements, map[string]any{"tag": "div", "text": plain(part)})
		rest = rest[len(part):]
	}
	var row []any
	for _, b := range card.Buttons {
		row = append(row, map[string]any{
			"tag": "button", "text": plain(text.Cut(b.Label, maxLabel)), "type": cmp.Or(b.Style, "default"),
			"value": map[string]string{"name": b.Name, "value": b.Value},
		})
	}
	if len(row) > 0 {
		elements = append(elements, map[string]any{"tag": "action", "actions": row})
	}
	all := map[string]any{"config": map[string]any{"wide_screen_mode": true, "update_multi": true},
		"elements": elements}
	if card.Title != "" {
		all["header"] = map[string]any{"title": plain(text.Cut(card.Title, maxTitle))}
	}
	b, err := json.Marshal(all)
	return string(b), err
}

func plain(text string) map[string]string {
	return map[string]string{"tag": "plain_text", "content": shown(text)}
}

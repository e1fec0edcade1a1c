package lark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/sink"
)

// Sink posts as the bot. It is apart from Client so that a watcher, which has only
// that, holds no code that can post.
type Sink struct {
	*Client
	frame sink.Frame
}

// NewSink returns the sink of an app. It does not reach out.
func NewSink(o Options) (*Sink, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	return &Sink{c, sink.Frame{
		Platform: platform, Limit: 4000, Explain: c.explain, Settled: settled, Now: c.api.Now, Sleep: c.api.Sleep,
	}}, nil
}

// maxContent is what a rich text or a card may take, in bytes of its JSON: 30 KB.
const maxContent = 30 << 10

// Limit implements chat.Sink: the most whose JSON is sure to be taken, with a few
// hundred lines in it.
func (c *Sink) Limit() int { return c.frame.Limit }

// Post implements chat.Sink: it answers the thread's first message, in its topic.
// Of posts with one uuid the platform takes one within an hour; nobody can read
// the uuid back.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	content, err := sent(p.Text)
	if err == nil && !messageID.MatchString(p.ThreadID) {
		err = fmt.Errorf("thread %q: is no message", p.ThreadID)
	}
	if err := c.check(p.ChatID, p.Text, content, err); err != nil {
		return chat.Posted{}, err
	}
	return c.post(ctx, p.ChatID, p.ThreadID, "post", content, p.Key)
}

// post sends a message into a thread, or into the chat itself where that is "".
func (c *Sink) post(ctx context.Context, chatTo, thread, kind, content, key string) (chat.Posted, error) {
	sum := sha256.Sum256([]byte(key))
	in := map[string]any{"msg_type": kind, "content": content, "uuid": "tri-" + hex.EncodeToString(sum[:22])} // at most 50 characters
	r := httpapi.Request{Method: http.MethodPost, Path: "open-apis/im/v1/messages", Query: url.Values{"receive_id_type": {"chat_id"}}, JSON: in}
	if thread != "" {
		in["reply_in_thread"] = true
		r.Path, r.Query = r.Path+"/"+url.PathEscape(thread)+"/reply", nil
	} else {
		in["receive_id"] = chatTo
	}
	return c.frame.Send(chatTo, func() (chat.Posted, error) {
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

// check refuses what cannot be posted, before anything is sent.
func (c *Sink) check(chatTo, text, content string, invalid error) error {
	switch {
	case invalid != nil:
	case !chatID.MatchString(chatTo):
		invalid = errors.New("a chat's id begins with oc_")
	case len(content) > maxContent:
		invalid = fmt.Errorf("its lines make %d bytes; the platform takes %d", len(content), maxContent)
	}
	return c.frame.Check(chatTo, text, invalid)
}

// settled is how old a try is when none of it can still be under way: its
// connection was cut when its program died or gave up after 30 s. The platform
// names no bound for how long it works on what it has read; this is ours.
const settled = 2 * time.Minute

// margin is how far the platform's clock may be from what we take it for.
const margin = 5 * time.Second

// Find implements chat.Sink. A message does not show the uuid that it was posted
// with, so that an earlier try is known by what it says: one message of the bot's,
// in the thread, with the very text, of no earlier than the try. What only seems
// to be it is not said to be: two such, one whose try nobody knows of, or one of
// the bot's that was recalled. Where there is none, and none can still be on its
// way, a post was not made; and within the hour its uuid keeps it from being made
// twice even so.
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !chatID.MatchString(p.ChatID) || !messageID.MatchString(p.ThreadID) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused unsent
	}
	return c.frame.Find(ctx, p, func(ctx context.Context) (chat.Posted, chat.Proof, error) { return c.find(ctx, p) })
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
		return chat.Posted{}, chat.Absent, nil // nothing was answered there in a topic
	}
	var since time.Time
	if !p.Tried.IsZero() {
		since = c.api.ServerTime(p.Tried).Add(-margin)
	}
	var same []message
	recalled, want := false, shown(p.Text)
	in := url.Values{"container_id_type": {"thread"}, "container_id": {root.Topic}, "sort_type": {"ByCreateTimeDesc"}}
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

// Message implements chat.Sink.
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
		return "", false, sysexit.With(sysexit.Unavailable, fmt.Errorf("lark: message %s: %w", id, err))
	case !there || m.Gone || m.Chat != chatFrom:
		return "", true, nil
	}
	text, _, _ = m.readable(self.OpenID, c.o.ID)
	return text, false, nil
}

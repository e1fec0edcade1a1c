package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

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

// NewSink returns the sink of a bot. It makes no network calls.
func NewSink(o Options) (*Sink, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return newSink(c), nil
}

func newSink(c *Client) *Sink {
	// 2,000: resources/message#create-message.
	return &Sink{c, sink.Frame{
		Platform: platform, Max: chat.Limits[platform], Outcome: outcome, Joined: remembered,
		Settled: abandoned,
		Now:     c.api.Now, Sleep: c.api.Sleep,
	}}
}

// Post implements chat.Sink. The answer goes into the thread of the question, which is created if
// it does not exist. If the bot may not create one, or the chat has no threads, the answer is a
// reply to the question in the chat itself.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	if err := c.check(p.ChatID, p.ThreadID, p.Text); err != nil {
		return chat.Posted{}, err
	}
	where, err := c.thread(ctx, p, true)
	if err != nil {
		return c.Frame.Send(p.ChatID, func() (chat.Posted, error) {
			if refused(err) {
				return chat.Posted{}, fmt.Errorf("thread of %s: %w: %w", p.ThreadID, err, chat.ErrRefused)
			}
			return chat.Posted{}, fmt.Errorf("thread of %s: %w: %w", p.ThreadID, sink.ErrUnsent, err)
		})
	}
	return c.send(ctx, where, p.ChatID, answered(p), p.Key, body(p.Text))
}

// answered returns the id of the message that a reply in the chat itself refers to.
func answered(p chat.Post) string {
	if validID(p.ReplyToID) {
		return p.ReplyToID
	}
	return p.ThreadID
}

// body returns the fields of a message without notifications or previews.
func body(text string) map[string]any {
	return map[string]any{
		"content": shown(text), "flags": flagSuppressEmbed,
		"allowed_mentions": map[string]any{"parse": []string{}, "replied_user": false},
	}
}

// send posts once: Discord answers a second request with the same key with the message of the
// first, for as long as it keeps the key, a few minutes.
func (c *Sink) send(ctx context.Context, where, chatID, replyTo, key string,
	in map[string]any) (chat.Posted, error) {
	// A nonce has at most 25 characters.
	in["nonce"], in["enforce_nonce"] = text.SHA256("tri " + key)[:25], true
	if where == chatID && validID(replyTo) {
		in["message_reference"] = map[string]any{"message_id": replyTo, "channel_id": chatID,
			"fail_if_not_exists": true}
	}
	return c.Frame.Send(where, func() (chat.Posted, error) {
		var made message
		err := c.once(ctx, http.MethodPost, "channels/"+where+"/messages", in, &made)
		if err != nil || !validID(made.ID) {
			return chat.Posted{}, err
		}
		return posted(made.ID), nil
	})
}

func posted(id string) chat.Posted { return chat.Posted{MessageID: id, At: createdAt(id)} }

// check refuses a post that would be rejected, before anything is sent.
func (c *Sink) check(chatID, threadID, text string) error {
	var invalid error
	switch {
	case !validID(chatID) || !validID(threadID):
		invalid = fmt.Errorf("thread %q: an id is a number", threadID)
	case shown(text) == "":
		invalid = errors.New("it has no visible character")
	}
	return c.Frame.Check(chatID, text, invalid)
}

// thread returns where an answer goes: the thread of the question, or the chat. With begin, a
// missing thread is created.
func (c *Sink) thread(ctx context.Context, p chat.Post, begin bool) (string, error) {
	var t place
	err := c.get(ctx, "channels/"+p.ThreadID, nil, &t)
	switch {
	case err == nil && t.isThread() && t.Parent == p.ChatID:
		return t.ID, nil
	case err == nil && t.ID == p.ThreadID:
		return "", fmt.Errorf("it is not a thread of the chat: %w", errElsewhere)
	case err != nil && !httpapi.IsUnreadable(err):
		return "", err
	case !begin:
		return p.ChatID, nil
	}
	m := new(message)
	if err := c.get(ctx, "channels/"+p.ChatID+"/messages/"+p.ThreadID, nil, m); err != nil {
		return "", err
	}
	err = c.once(ctx, http.MethodPost, "channels/"+p.ChatID+"/messages/"+p.ThreadID+"/threads",
		map[string]any{"name": c.title(ctx, m), "auto_archive_duration": 1440}, &t)
	switch {
	case err == nil && validID(t.ID), httpapi.CodeOf(err) == threadExists:
		return p.ThreadID, nil // a thread has the id of its first message
	case err != nil && refused(err):
		return p.ChatID, nil // the chat has no threads, too many of them, or the bot lacks the permission
	case err == nil:
		err = errors.New("answer has no id")
	}
	return "", err
}

// threadExists is the error code if the thread was created in the meantime.
const threadExists = "160004"

// errElsewhere means that the thread belongs to another chat.
var errElsewhere = errors.New("another chat's")

// title returns the name of a new thread: the beginning of its question.
func (c *Sink) title(ctx context.Context, m *message) string {
	said, err := c.text(ctx, m, "")
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if err != nil || line == "" {
		return "Question"
	}
	return text.Cut(line, 80)
}

// refused reports whether the same request will never be accepted: Discord rejected it with an
// error code of its own, and neither the token nor the rate is the cause.
func refused(err error) bool {
	if errors.Is(err, errElsewhere) {
		return true
	}
	switch httpapi.StatusOf(err) {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		switch httpapi.CodeOf(err) {
		case "", "0", "20028", "40062": // no code of Discord's, or too many requests
			return false
		}
		return true
	}
	return false
}

// outcome classifies an error response of Discord.
func outcome(e *httpapi.Error) sink.Outcome {
	switch {
	case refused(e):
		return sink.Refused
	case e.Status == http.StatusTooManyRequests:
		return sink.Busy
	case e.Status >= 300 && e.Status < 500:
		return sink.Blocked // the cause is the token, the address or the network
	}
	return sink.Unknown
}

const (
	// remembered is less than the "few minutes" for which Discord keeps a nonce, to leave time for the
	// next attempt to arrive.
	remembered = time.Minute
	// abandoned is the age at which an attempt is over: its connection was cut after 30 s.
	abandoned = 2 * time.Minute
	// tolerance is the maximum clock difference.
	tolerance = time.Minute
	// maxLooked is the number of pages after which Find gives up.
	maxLooked = 100
)

// Find implements chat.Sink. Discord does not return the key with a message, so the post is
// recognized by its text: a message of the bot in the thread, since the last attempt began, with
// the same text. Replies in one thread are sent one after the other, so it cannot be another reply;
// and if it were, the thread would have its answer.
//
// If there is none, no attempt has landed so far. That none still will is proved by the time: if
// the attempt began within the last minute, Discord still knows its nonce and answers a second
// request with the first message; if it began earlier, Find waits until it is too old to be in
// progress, and reads again. A post that was deleted before Find saw it is not recognized and would
// be posted again.
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !validID(p.ChatID) || !validID(p.ThreadID) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused before it is sent
	}
	return c.Frame.Find(ctx, p, c.find)
}

// find reads the thread, and the chat after the question, for the post.
func (c *Sink) find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	thread, err := c.thread(ctx, p, false)
	if errors.Is(err, errElsewhere) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused before it is sent
	}
	if err != nil {
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("discord: thread %s: %w", p.ThreadID, err)
	}
	begin := number(p.ThreadID)
	if !p.Tried.IsZero() {
		begin = max(begin, after(c.api.ServerTime(p.Tried).Add(-tolerance)))
	}
	for _, where := range slices.Compact([]string{thread, p.ChatID}) {
		id, whole, err := c.look(ctx, where, begin, func(m *message) bool {
			return m.Author != nil && m.Author.ID == self.ID && len(m.Components) == 0 &&
				same(m.Content, p.Text) &&
				(where == thread && thread != p.ChatID ||
					m.Reference != nil && m.Reference.MessageID == answered(p))
		})
		switch {
		case err != nil:
			return chat.Posted{}, chat.Unprovable, fmt.Errorf("discord: read %s: %w", where, err)
		case id != "":
			return posted(id), chat.Found, nil
		case !whole:
			return chat.Posted{}, chat.Unprovable, nil
		}
		if shown, err := c.showsHistory(ctx, where); err != nil || !shown {
			return chat.Posted{}, chat.Unprovable, err
		}
	}
	return chat.Posted{}, chat.Absent, nil
}

// showsHistory reports whether a place that has messages returns any: without the permission to
// read the history the list is empty, which proves nothing
// (resources/message#get-channel-messages). A place that the bot cannot see at all accepts no post
// either.
func (c *Sink) showsHistory(ctx context.Context, where string) (bool, error) {
	var ms []message
	err := c.get(ctx, "channels/"+where+"/messages", url.Values{"limit": {"1"}}, &ms)
	if refused(err) {
		return true, nil
	}
	return len(ms) > 0, err
}

// same reports whether two texts are equal except for invisible differences.
func same(a, b string) bool {
	seen := func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}
	return strings.Map(seen, shown(a)) == strings.Map(seen, shown(b))
}

// look reads a place from an id on for the first message that satisfies is. whole is false if there
// was too much to read.
func (c *Sink) look(ctx context.Context, where string, begin uint64,
	is func(*message) bool) (id string, whole bool, err error) {
	for range maxLooked {
		ms, ends, err := c.messages(ctx, where, "after", begin)
		if refused(err) {
			// a deleted place, with its messages; or one where a post will be refused; or a forum
			return "", true, nil
		}
		if err != nil {
			return "", false, err
		}
		for i := range ms {
			if is(&ms[i]) {
				return ms[i].ID, true, nil
			}
			begin = max(begin, number(ms[i].ID))
		}
		if ends {
			return "", true, nil
		}
	}
	return "", false, nil
}

func (c *Sink) Message(ctx context.Context, chatID, messageID string) (text string, gone bool, err error) {
	where, m, err := c.where(ctx, chatID, messageID)
	switch {
	case httpapi.StatusOf(err) == http.StatusForbidden || err != nil:
		return "", false, sysexit.Errorf(sysexit.Unavailable, "discord: message %s: %w", messageID, err)
	case m == nil:
		return "", true, nil
	}
	p, err := c.place(ctx, where)
	if err == nil {
		text, err = c.text(ctx, m, p.Guild)
	}
	return text, false, err
}

package slack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/emoji"
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
	// 4,000 characters are the maximum that Slack shows as one message and accepts as an edit. (It cuts
	// texts at 40,000, counted after & < > are escaped.)
	return &Sink{c, sink.Frame{
		Platform: platform, Max: chat.Limits[platform], Outcome: outcome, Explain: c.explain,
		Settled: settled,
		Now:     c.api.Now, Sleep: c.api.Sleep,
	}}, nil
}

// replyType is the type of the metadata that contains the key. Everybody in the chat can read it
// through the API; clients do not show it.
const replyType = "tri_reply"

// Post implements chat.Sink. Slack has no idempotency keys: the key is in the message's metadata,
// where Find looks for it.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	if !stampID.MatchString(p.ThreadID) {
		return chat.Posted{}, c.Frame.Refuse(p.ChatID, fmt.Errorf("thread %q: no ts", p.ThreadID))
	}
	return c.send(ctx, p.ChatID, p.Text, map[string]any{"thread_ts": p.ThreadID, "metadata": metadata(p.Key)})
}

func metadata(key string) map[string]any {
	return map[string]any{"event_type": replyType, "event_payload": map[string]any{"key": key}}
}

// contents returns the fields of a message's contents: nothing in the text notifies, links or
// unfurls.
func contents(text string) map[string]any {
	return map[string]any{"text": sent(text), "parse": "none", "link_names": false}
}

func (c *Sink) send(ctx context.Context, chatTo, text string, more map[string]any) (chat.Posted, error) {
	if err := c.check(chatTo, text); err != nil {
		return chat.Posted{}, err
	}
	in := contents(text)
	in["channel"], in["mrkdwn"], in["unfurl_links"], in["unfurl_media"] = chatTo, true, false, false
	maps.Copy(in, more)
	return c.Frame.Send(chatTo, func() (chat.Posted, error) {
		r, err := c.write(ctx, "chat.postMessage", in)
		made := str(r, "ts")
		if err != nil || !stampID.MatchString(made) {
			return chat.Posted{}, err
		}
		return chat.Posted{MessageID: made, At: at(made)}, nil
	})
}

// write makes a call that changes something, without retries.
func (c *Sink) write(ctx context.Context, method string, in any) (gjson.Result, error) {
	var b []byte
	err := c.api.Once(ctx, httpapi.Request{Method: http.MethodPost, Path: method, JSON: in}, &b)
	return gjson.ParseBytes(b), err
}

// check refuses a post that would be rejected, before anything is sent.
func (c *Sink) check(chatTo, text string) error {
	var invalid error
	if !chatID.MatchString(chatTo) {
		invalid = errors.New("a channel's id is like C024BE91L")
	}
	return c.Frame.Check(chatTo, text, invalid)
}

// outcome classifies an error of chat.postMessage.
func outcome(e *httpapi.Error) sink.Outcome {
	if e.Code == "request_timeout" {
		return sink.Blocked // Slack did not receive the whole request
	}
	return sink.ByStatus(e.Status)
}

// settled is the age at which no attempt can still be in progress: its connection was cut when its
// program died or gave up after 30 s. Slack documents no limit for the processing of a received
// request; this one is chosen here.
const settled = 90 * time.Second

// Find implements chat.Sink: it reads the whole thread for a message of the bot that has the key.
// If an earlier attempt may still be in progress, it waits and reads again. Slack does not show
// deleted messages: a post that was deleted counts as never posted.
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !chatID.MatchString(p.ChatID) || !stampID.MatchString(p.ThreadID) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused before it is sent
	}
	return c.Frame.Find(ctx, p, c.find)
}

func (c *Sink) find(ctx context.Context, p chat.Post) (found chat.Posted, proof chat.Proof, err error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	proof = chat.Absent
	in := url.Values{"channel": {p.ChatID}, "ts": {p.ThreadID}, "limit": {page},
		"include_all_metadata": {"true"}}
	err = c.pages(ctx, "conversations.replies", in, "messages", func(r gjson.Result) {
		m, ok := parse(p.ChatID, r)
		ours := m.Bot != "" && m.Bot == self.Bot || m.User == self.User
		if ok && ours && str(r, "metadata.event_type") == replyType &&
			str(r, "metadata.event_payload.key") == p.Key {
			found, proof = chat.Posted{MessageID: m.TS, At: at(m.TS)}, chat.Found
		}
	})
	switch {
	case httpapi.StatusOf(err) == http.StatusNotFound:
		return chat.Posted{}, chat.Absent, nil // no such chat or thread
	case err != nil:
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("slack: thread %s: %w", p.ThreadID, err)
	}
	return found, proof, nil
}

// Message implements chat.Sink. conversations.replies returns the first message of a thread, a
// reply, and a message outside threads.
func (c *Sink) Message(ctx context.Context, chatFrom, messageID string) (text string, gone bool, err error) {
	if !chatID.MatchString(chatFrom) || !stampID.MatchString(messageID) {
		return "", true, nil
	}
	in := url.Values{"channel": {chatFrom}, "ts": {messageID}, "oldest": {messageID}, "latest": {messageID},
		"inclusive": {"true"}, "limit": {"2"}}
	r, err := c.read(ctx, "conversations.replies", in)
	switch {
	case httpapi.StatusOf(err) == http.StatusNotFound:
		return "", true, nil
	case err != nil:
		return "", false, sysexit.Errorf(sysexit.Unavailable, "slack: message %s: %w", messageID, err)
	}
	for _, is := range list(r, "messages") {
		if m, ok := parse(chatFrom, is); ok && m.TS == messageID && m.Gone == "" {
			text, _, err = c.readable(ctx, m.Raw)
			return text, false, err
		}
	}
	return "", true, nil
}

func (c *Sink) React(ctx context.Context, chatTo, messageID, char string, on bool) error {
	name, ok := emoji.Name(char)
	if !ok {
		return fmt.Errorf("slack: emoji %q: %w", char, chat.ErrUnsupported)
	}
	method, already := "reactions.add", "already_reacted"
	if !on {
		method, already = "reactions.remove", "no_reaction"
	}
	_, err := c.write(ctx, method, map[string]any{"channel": chatTo, "timestamp": messageID, "name": name})
	if httpapi.CodeOf(err) == already {
		return nil
	}
	return err
}

func (c *Sink) Edit(ctx context.Context, chatTo, messageID, text string) error {
	if err := c.check(chatTo, text); err != nil {
		return err
	}
	in := contents(text)
	in["channel"], in["ts"] = chatTo, messageID
	_, err := c.write(ctx, "chat.update", in)
	return err
}

// Sizes of a card's blocks (https://docs.slack.dev/reference/block-kit/blocks).
const (
	maxHeader  = 150
	maxSection = 3000
)

func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	all, err := blocks(card)
	if err != nil {
		return chat.Posted{}, err
	}
	more := map[string]any{"blocks": all, "metadata": metadata(card.Key)}
	if card.ThreadID != "" {
		more["thread_ts"] = card.ThreadID
	}
	return c.send(ctx, card.ChatID, text.Cut(sink.CardText(card), c.Limit()), more)
}

func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	all, err := blocks(card)
	if err != nil {
		return err
	}
	in := contents(text.Cut(sink.CardText(card), c.Limit()))
	in["channel"], in["ts"], in["blocks"] = card.ChatID, messageID, all
	_, err = c.write(ctx, "chat.update", in)
	return err
}

// blocks returns a card's blocks: its text as plain text, so that nothing in it notifies or links,
// and a row of buttons.
func blocks(card chat.Card) ([]any, error) {
	if err := sink.CheckButtons(card.Buttons); err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	var all []any
	if strings.TrimSpace(card.Title) != "" {
		all = append(all, map[string]any{"type": "header", "text": plain(text.Cut(card.Title, maxHeader))})
	}
	for rest := sink.Pictures(card.Text); strings.TrimSpace(rest) != ""; {
		part := sink.First(rest, maxSection)
		all = append(all, map[string]any{"type": "section", "text": plain(part)})
		rest = rest[len(part):]
	}
	var row []any
	for _, b := range card.Buttons {
		button := map[string]any{"type": "button", "action_id": b.Name, "value": b.Value,
			"text": plain(text.Cut(b.Label, 75))}
		if b.Style != "" {
			button["style"] = b.Style
		}
		row = append(row, button)
	}
	if len(row) > 0 {
		all = append(all, map[string]any{"type": "actions", "block_id": "tri", "elements": row})
	}
	return all, nil
}

func plain(text string) map[string]any {
	return map[string]any{"type": "plain_text", "emoji": false, "text": sink.Pictures(text)}
}

package teams

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
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
	// A message has at most 28 KB in UTF-16, in which a character takes at most four bytes; for bots 100 KB,
	// cards included, are documented (https://learn.microsoft.com/microsoftteams/limits-specifications-teams).
	return &Sink{c, sink.Frame{
		Platform: platform, Max: 7000, Outcome: c.outcome, Settled: abandoned, Now: c.o.Now,
		Sleep: c.graph.api.Sleep,
	}}, nil
}

const (
	// abandoned is how long after its start an attempt can still land: a request is given up after 30
	// s, and the rest is for Graph to show the message.
	abandoned = 2 * time.Minute
	// drift is how much later than its message Tried may be: clocks are compared by the Date header of
	// a response, which has no fractions.
	drift = 2 * time.Second
)

// unstored are characters that Teams cannot store, beside control characters.
var unstored = strings.NewReplacer("\ufffe", "\ufffd", "\uffff", "\ufffd")

// shown returns text as Teams can store it: control characters are replaced by visible symbols.
func shown(text string) string { return unstored.Replace(sink.Pictures(text)) }

// conversationOf returns the path of a thread: in a channel the root is part of the conversation's
// id.
func conversationOf(chatID, root string) string {
	if root != "" && channel(chatID) {
		chatID += ";messageid=" + root
	}
	return "v3/conversations/" + place(chatID) + "/activities"
}

// messageActivity returns a text as an activity: plain, so that it has no markup, and without entities, so
// that it mentions nobody.
func (s *Sink) messageActivity(text string) map[string]any {
	return map[string]any{"type": "message", "textFormat": "plain", "text": shown(text),
		"from": map[string]any{"id": s.botID()}}
}

// Post implements chat.Sink. The Bot Connector has no idempotency keys and stores no metadata with
// a message: see Find.
func (s *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	if err := s.postable(p.ChatID, p.ThreadID, p.Text); err != nil {
		return chat.Posted{}, err
	}
	in := s.messageActivity(p.Text)
	if !channel(p.ChatID) && messageWord.MatchString(p.ReplyToID) {
		in["replyToId"] = p.ReplyToID
	}
	return s.send(ctx, p.ChatID, http.MethodPost, conversationOf(p.ChatID, p.ThreadID), in)
}

// postable returns why a text cannot be sent, or nil.
func (s *Sink) postable(chatID, id, text string) error {
	var invalid error
	switch {
	case !chatWord.MatchString(chatID) || !strings.Contains(chatID, ":"):
		invalid = errors.New("that is not a chat's id")
	case id != "" && !messageWord.MatchString(id):
		invalid = fmt.Errorf("%q is not a message's id", id)
	}
	return s.Frame.Check(chatID, text, invalid)
}

// send sends an activity once and classifies its error.
func (s *Sink) send(ctx context.Context, chatID, method, path string, in any) (chat.Posted, error) {
	return s.Frame.Send(chatID, func() (chat.Posted, error) {
		if err := s.service.signIn(ctx); err != nil {
			return chat.Posted{}, fmt.Errorf("%w: %w", sink.ErrUnsent, err)
		}
		var made struct {
			ID string `json:"id"`
		}
		err := s.service.api.Once(ctx, httpapi.Request{Method: method, Path: path, JSON: in}, &made)
		if err != nil || !messageWord.MatchString(made.ID) {
			return chat.Posted{}, err
		}
		return chat.Posted{MessageID: made.ID, At: createdAt(made.ID, s.o.Now()).UTC()}, nil
	})
}

// outcome classifies an error response of the Bot Connector.
// https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/send-proactive-messages
func (c *Client) outcome(e *httpapi.Error) sink.Outcome {
	switch e.Status {
	case http.StatusRequestTimeout:
		return sink.Unknown
	case http.StatusPreconditionFailed: // a concurrent write to the same conversation
		return sink.Soon
	case http.StatusForbidden: // the bot is not in the conversation
		return sink.Refused
	case http.StatusUnauthorized:
		c.service.forget()
	}
	return sink.ByStatus(e.Status)
}

// Find implements chat.Sink. Teams stores no key with a message, so Find looks for a message of the
// bot in the thread with exactly this text, written since the last attempt began. Without the time
// of that attempt, or without Graph, nothing can be proved.
func (s *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !s.remote() || !messageWord.MatchString(p.ThreadID) || !chatWord.MatchString(p.ChatID) {
		return chat.Posted{}, chat.Unprovable, nil
	}
	return s.Frame.Find(ctx, p, s.find)
}

func (s *Sink) find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	msgs, err := s.around(ctx, p)
	switch status := httpapi.StatusOf(err); {
	case errors.Is(err, errUnknownTeam) || status == http.StatusForbidden || status == http.StatusNotFound ||
		status == http.StatusPaymentRequired:
		return chat.Posted{}, chat.Unprovable, nil
	case err != nil:
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("teams: thread %s: %w", p.ThreadID, err)
	}
	since := s.graph.api.ServerTime(p.Tried).Add(-drift)
	want := folded(shown(p.Text))
	for _, m := range msgs {
		from, ok := s.sender(m)
		if !ok || from.ID != s.botID() || !p.Tried.IsZero() && m.Created.Before(since) {
			continue
		}
		if m.Deleted != nil && !p.Tried.IsZero() {
			return chat.Posted{}, chat.Unprovable, nil // it may be the post, and its text is gone
		}
		if m.Deleted == nil && folded(m.text()) == want {
			if p.Tried.IsZero() {
				return chat.Posted{}, chat.Unprovable, nil // the same text, at an unknown time
			}
			return chat.Posted{MessageID: m.ID, At: m.Created.UTC()}, chat.Found, nil
		}
	}
	return chat.Posted{}, chat.Absent, nil
}

// folded returns a text without the white space that HTML changes.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

// around returns the messages among which a post would be: those of the thread, in a channel, or of
// the chat since the attempt.
func (s *Sink) around(ctx context.Context, p chat.Post) (msgs []*message, err error) {
	path, q := "", url.Values{"$top": {fmt.Sprint(pageSize)}}
	if channel(p.ChatID) {
		if path, err = s.messagePath(ctx, p.ChatID, "", p.ThreadID); err != nil {
			return nil, err
		}
		path += "/replies"
	} else {
		from := p.Tried
		if from.IsZero() {
			from = createdAt(p.ThreadID, s.o.Now().Add(-24*time.Hour))
		}
		all, err := s.history(ctx, p.ChatID, s.graph.api.ServerTime(from).Add(-drift))
		for _, m := range all {
			msgs = append(msgs, m.message)
		}
		return msgs, err
	}
	err = pages(ctx, s.graph, path, q, func(page []message) (bool, error) {
		for i := range page {
			msgs = append(msgs, &page[i])
		}
		return true, nil
	})
	return msgs, err
}

// Message implements chat.Sink. Graph has a reply only below its root, which is not known here: a
// message that is not the first of a thread is looked for in the recently active threads. If it is
// not found there, it may still exist.
func (s *Sink) Message(ctx context.Context, chatID, messageID string) (text string, gone bool, err error) {
	if !s.remote() {
		return "", false, chat.ErrUnsupported
	}
	if !messageWord.MatchString(messageID) || !chatWord.MatchString(chatID) {
		return "", true, nil
	}
	m, err := s.read(ctx, chatID, messageID)
	switch status := httpapi.StatusOf(err); {
	case errors.Is(err, chat.ErrUnsupported) || errors.Is(err, errUnknownTeam) ||
		status == http.StatusForbidden || status == http.StatusPaymentRequired:
		return "", false, chat.ErrUnsupported
	case err != nil:
		return "", false, sysexit.Errorf(sysexit.Unavailable, "teams: message %s: %w", messageID, err)
	case m == nil || m.Deleted != nil:
		return "", true, nil
	}
	return m.text(), false, nil
}

// read returns a message, nil if there is none.
func (s *Sink) read(ctx context.Context, chatID, id string) (*message, error) {
	at, err := s.messagePath(ctx, chatID, "", id)
	if err != nil {
		return nil, err
	}
	m := new(message)
	err = s.graph.read(ctx, at, nil, m)
	if httpapi.StatusOf(err) != http.StatusNotFound {
		return m, err
	}
	if !channel(chatID) {
		return nil, nil
	}
	all, err := s.history(ctx, chatID, createdAt(id, s.o.Now().Add(-24*time.Hour)))
	for _, x := range all {
		if x.ID == id {
			return x.message, err
		}
	}
	if err == nil {
		err = chat.ErrUnsupported
	}
	return nil, err
}

var _ chat.Signaler = (*Sink)(nil)

// React implements chat.Signaler: a bot cannot react in Teams.
func (s *Sink) React(context.Context, string, string, string, bool) error {
	return chat.ErrUnsupported
}

// Typing implements chat.Signaler: the indicator is shown for a few seconds.
func (s *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	if err := s.postable(chatID, threadID, "typing"); err != nil {
		return err
	}
	in := map[string]any{"type": "typing", "from": map[string]any{"id": s.botID()}}
	return s.service.do(ctx, httpapi.Request{Method: http.MethodPost, Path: conversationOf(chatID, threadID),
		JSON: in}, nil, s.service.api.Once)
}

func (s *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	if err := s.postable(chatID, messageID, text); err != nil {
		return err
	}
	_, err := s.send(ctx, chatID, http.MethodPut, conversationOf(chatID, "")+"/"+place(messageID),
		s.messageActivity(text))
	return err
}

// PostCard implements chat.Signaler, with an Adaptive Card.
// https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/universal-actions-for-adaptive-cards/overview
func (s *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	if err := s.postable(card.ChatID, card.ThreadID, card.Title+card.Text); err != nil {
		return chat.Posted{}, err
	}
	return s.send(ctx, card.ChatID, http.MethodPost, conversationOf(card.ChatID, card.ThreadID),
		s.cardActivity(card))
}

func (s *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	if err := s.postable(card.ChatID, messageID, card.Title+card.Text); err != nil {
		return err
	}
	_, err := s.send(ctx, card.ChatID, http.MethodPut, conversationOf(card.ChatID, "")+"/"+place(messageID),
		s.cardActivity(card))
	if err != nil {
		return fmt.Errorf("teams: card %s: %w", messageID, err)
	}
	return nil
}

// cardActivity returns a card as an activity. A TextRun, unlike a TextBlock, is never interpreted as
// Markdown.
func (s *Sink) cardActivity(card chat.Card) map[string]any {
	type m = map[string]any
	block := func(text string, bold bool) m {
		run := m{"type": "TextRun", "text": text}
		if bold {
			run["weight"] = "Bolder"
		}
		return m{"type": "RichTextBlock", "inlines": []m{run}}
	}
	var body, actions []m
	if card.Title != "" {
		body = append(body, block(shown(card.Title), true))
	}
	for line := range strings.SplitSeq(shown(card.Text), "\n") {
		if line != "" {
			body = append(body, block(line, false))
		}
	}
	for _, b := range card.Buttons {
		style := "default"
		switch b.Style {
		case "primary":
			style = "positive"
		case "danger":
			style = "destructive"
		}
		actions = append(actions, m{"type": "Action.Execute", "title": shown(b.Label), "verb": b.Name,
			"style": style, "data": m{"tri": b.Value}})
	}
	content := m{"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"version": "1.4", "body": body}
	if actions != nil {
		content["actions"] = actions
	}
	return m{
		"type": "message", "from": m{"id": s.botID()}, "summary": shown(card.Title),
		"attachments": []m{{"contentType": "application/vnd.microsoft.card.adaptive", "content": content}},
	}
}

package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
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
	// Telegram counts 4,096 UTF-16 units, and a character has at most two.
	return &Sink{c, sink.Frame{Platform: platform, Max: chat.Limits[platform], Outcome: outcome}}, nil
}

// outcome classifies an error response of Telegram.
func outcome(e *httpapi.Error) sink.Outcome {
	switch e.Status {
	case http.StatusNotFound, http.StatusConflict: // the cause is the token, or another program that uses it
		return sink.Blocked
	case http.StatusForbidden: // the bot was removed from the chat
		return sink.Refused
	}
	return sink.ByStatus(e.Status)
}

// Post implements chat.Sink. Telegram has no idempotency keys and does not let a bot read what it
// sent: the result of a post without a response cannot be determined.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	answered, err := strconv.ParseInt(p.ReplyToID, 10, 64)
	if err != nil {
		return chat.Posted{}, c.Frame.Refuse(p.ChatID, fmt.Errorf("message %q is not a number", p.ReplyToID))
	}
	return c.send(ctx, p.ChatID, p.Text, map[string]any{
		"reply_parameters": map[string]any{"message_id": answered},
	})
}

// send posts text verbatim: no markup is interpreted, and no link preview is shown.
func (c *Sink) send(ctx context.Context, chatID, text string, more map[string]any) (chat.Posted, error) {
	_, invalid := strconv.ParseInt(chatID, 10, 64)
	if err := c.Frame.Check(chatID, text, invalid); err != nil {
		return chat.Posted{}, err
	}
	in := map[string]any{"chat_id": chatID, "text": text,
		"link_preview_options": map[string]any{"is_disabled": true}}
	if e := code(text); len(e) > 0 {
		in["entities"] = e
	}
	maps.Copy(in, more)
	return c.Frame.Send(chatID, func() (chat.Posted, error) {
		var made message
		if err := c.call(ctx, "sendMessage", in, &made, 0); err != nil || made.ID == 0 {
			return chat.Posted{}, err
		}
		return chat.Posted{MessageID: id(made.ID), At: time.Unix(made.Date, 0).UTC()}, nil
	})
}

// codeSpan matches the parts that are shown as code, including their markers, because the text must
// be shown as approved.
var codeSpan = lazyregexp.New("(?s)```.+?```|`[^`\n]+`")

// code returns the code entities of a text.
func code(text string) (all []map[string]any) {
	for _, m := range codeSpan.FindAllStringIndex(text, 100) {
		kind := "code"
		if strings.HasPrefix(text[m[0]:], "```") {
			kind = "pre"
		}
		all = append(all, map[string]any{
			"type": kind, "offset": units(text[:m[0]]), "length": units(text[m[0]:m[1]]),
		})
	}
	return all
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// Find implements chat.Sink: a bot cannot read its messages, so nothing can be proved.
func (c *Sink) Find(context.Context, chat.Post) (chat.Posted, chat.Proof, error) {
	return chat.Posted{}, chat.Unprovable, nil
}

// Message implements chat.Sink: a bot cannot read messages.
func (c *Sink) Message(context.Context, string, string) (string, bool, error) {
	return "", false, fmt.Errorf("telegram: read a message: %w", chat.ErrUnsupported)
}

// nearest are reactions that Telegram has, for some that it does not have
// (https://core.telegram.org/bots/api#reactiontypeemoji).
var nearest = map[string]string{"✅": "👍", "❌": "😢", "🔔": "🙏", "📝": "✍", "⏩": "🕊"}

// React implements chat.Signaler. A bot has one reaction per message, of those that the chat
// allows.
func (c *Sink) React(ctx context.Context, chatID, messageID, emoji string, on bool) error {
	n, err := strconv.ParseInt(messageID, 10, 64)
	if err != nil {
		return fmt.Errorf("telegram: react: message %q is not a number: %w", messageID, chat.ErrRefused)
	}
	set := []map[string]any{}
	if on {
		set = append(set, map[string]any{"type": "emoji", "emoji": cmp.Or(nearest[emoji], emoji)})
	}
	var ok bool
	return c.call(ctx, "setMessageReaction",
		map[string]any{"chat_id": chatID, "message_id": n, "reaction": set}, &ok, 0)
}

// Typing implements chat.Signaler: the indicator is shown for five seconds.
func (c *Sink) Typing(ctx context.Context, chatID, _ string) error {
	var ok bool
	return c.call(ctx, "sendChatAction", map[string]any{"chat_id": chatID, "action": "typing"}, &ok, 0)
}

func (c *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	return c.edit(ctx, chatID, messageID, text, nil)
}

func (c *Sink) edit(ctx context.Context, chatID, messageID, text string, markup any) error {
	n, err := strconv.ParseInt(messageID, 10, 64)
	if err != nil {
		return fmt.Errorf("telegram: edit: message %q is not a number: %w", messageID, chat.ErrRefused)
	}
	in := map[string]any{"chat_id": chatID, "message_id": n, "text": text,
		"link_preview_options": map[string]any{"is_disabled": true}}
	if e := code(text); len(e) > 0 {
		in["entities"] = e
	}
	if markup != nil {
		in["reply_markup"] = markup
	}
	var made message
	err = c.call(ctx, "editMessageText", in, &made, 0)
	if e, ok := errors.AsType[*httpapi.Error](err); ok && strings.Contains(e.Text, "message is not modified") {
		return nil
	}
	return err
}

func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	keys, err := keyboard(card.Buttons)
	if err != nil {
		return chat.Posted{}, err
	}
	more := map[string]any{"reply_markup": keys}
	if n, err := strconv.ParseInt(card.ThreadID, 10, 64); err == nil {
		more["reply_parameters"] = map[string]any{"message_id": n}
	}
	return c.send(ctx, card.ChatID, sink.CardText(card), more)
}

func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	keys, err := keyboard(card.Buttons)
	if err != nil {
		return err
	}
	return c.edit(ctx, card.ChatID, messageID, sink.CardText(card), keys)
}

// keyboard returns one row of buttons. The value of a button has at most 64 bytes.
func keyboard(buttons []chat.Button) (map[string]any, error) {
	row := []map[string]any{}
	for _, b := range buttons {
		data := b.Name + ":" + b.Value
		if len(data) > 64 {
			return nil, sysexit.Errorf(sysexit.Software,
				"telegram: button %s carries %d bytes, at most 64 can be", b.Name, len(data))
		}
		row = append(row, map[string]any{"text": b.Label, "callback_data": data})
	}
	rows := [][]map[string]any{}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	return map[string]any{"inline_keyboard": rows}, nil
}

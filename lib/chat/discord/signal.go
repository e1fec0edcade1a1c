package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

func (c *Sink) React(ctx context.Context, chatID, messageID, emoji string, on bool) error {
	where, m, err := c.where(ctx, chatID, messageID)
	if err == nil && m == nil {
		err = chat.ErrRefused
	}
	if err != nil {
		return fmt.Errorf("discord: react to %q: %w", messageID, err)
	}
	method := http.MethodPut
	if !on {
		method = http.MethodDelete
	}
	return c.once(ctx, method, "channels/"+where+"/messages/"+m.ID+"/reactions/"+url.PathEscape(emoji)+"/@me",
		nil, nil)
}

// Typing implements chat.Signaler: the indicator is shown for ten seconds.
func (c *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	if !validID(chatID) || !validID(threadID) {
		return fmt.Errorf("discord: typing in %q: an id is a number: %w", chatID, chat.ErrRefused)
	}
	where, err := c.thread(ctx, chat.Post{ChatID: chatID, ThreadID: threadID}, false)
	if err != nil {
		return err
	}
	return c.once(ctx, http.MethodPost, "channels/"+where+"/typing", nil, nil)
}

func (c *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	return c.change(ctx, chatID, messageID, text, nil)
}

func (c *Sink) change(ctx context.Context, chatID, messageID, text string, rows any) error {
	if err := c.check(chatID, messageID, text); err != nil {
		return err
	}
	where, m, err := c.where(ctx, chatID, messageID)
	if err == nil && m == nil {
		err = chat.ErrRefused
	}
	if err != nil {
		return fmt.Errorf("discord: edit %s: %w", messageID, err)
	}
	in := body(text)
	if rows != nil {
		in["components"] = rows
	}
	return c.once(ctx, http.MethodPatch, "channels/"+where+"/messages/"+messageID, in, nil)
}

// PostCard implements chat.Signaler. The card goes into the thread, if there is one, else it is a
// reply in the chat.
func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	rows, err := buttons(card.Buttons)
	if err != nil {
		return chat.Posted{}, err
	}
	if err := c.check(card.ChatID, cmp.Or(card.ThreadID, card.ChatID), cardText(card)); err != nil {
		return chat.Posted{}, err
	}
	where := card.ChatID
	if card.ThreadID != "" {
		if where, err = c.thread(ctx, chat.Post{ChatID: card.ChatID, ThreadID: card.ThreadID},
			false); err != nil {
			return chat.Posted{}, err
		}
	}
	in := body(cardText(card))
	in["components"] = rows
	return c.send(ctx, where, card.ChatID, card.ThreadID, card.Key, in)
}

func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	rows, err := buttons(card.Buttons)
	if err != nil {
		return err
	}
	return c.change(ctx, card.ChatID, messageID, cardText(card), rows)
}

func cardText(card chat.Card) string {
	if card.Title == "" {
		return strings.TrimSpace(card.Text)
	}
	return strings.TrimSpace("**" + card.Title + "**\n" + card.Text)
}

// buttons arranges buttons in rows of at most five; the value of a button has at most 100
// characters (components/reference#button).
func buttons(all []chat.Button) ([]map[string]any, error) {
	row := []map[string]any{}
	styles := map[string]int{"": 2, "primary": 1, "danger": 4}
	for _, b := range all {
		id := b.Name + ":" + b.Value
		if len(id) > 100 || styles[b.Style] == 0 {
			return nil, sysexit.Errorf(sysexit.Software,
				"discord: button %s, style %q, carries %d bytes: at most 100 can be", b.Name, b.Style,
				len(id))
		}
		row = append(row, map[string]any{"type": 2, "style": styles[b.Style], "label": b.Label,
			"custom_id": id})
	}
	rows := []map[string]any{}
	for part := range slices.Chunk(row, 5) {
		rows = append(rows, map[string]any{"type": 1, "components": part})
	}
	return rows, nil
}

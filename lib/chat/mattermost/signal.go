package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"tri/lib/chat"
	"tri/lib/chat/emoji"
)

var _ chat.Signaler = (*Sink)(nil)

// React implements chat.Signaler.
func (c *Sink) React(ctx context.Context, _, messageID, char string, on bool) error {
	name, ok := emoji.Name(char)
	if !ok || !validID(messageID) {
		return fmt.Errorf("mattermost: react with %q to %q: %w", char, messageID, chat.ErrUnsupported)
	}
	self, err := c.me(ctx)
	if err != nil {
		return err
	}
	if on {
		in := map[string]any{"user_id": self.ID, "post_id": messageID, "emoji_name": name}
		return c.once(ctx, http.MethodPost, "reactions", nil, in, &struct{}{})
	}
	return c.once(ctx, http.MethodDelete, "users/"+self.ID+"/posts/"+messageID+"/reactions/"+name, nil, nil, &struct{}{})
}

// Typing implements chat.Signaler: for about five seconds.
func (c *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	return c.once(ctx, http.MethodPost, "users/me/typing", nil, map[string]any{"channel_id": chatID, "parent_id": threadID}, &struct{}{})
}

// Edit implements chat.Signaler.
func (c *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	if err := c.postable(chat.Post{ChatID: chatID, ThreadID: messageID, Text: text}); err != nil {
		return fmt.Errorf("mattermost: edit in %q: %w: %w", chatID, err, chat.ErrRefused)
	}
	return c.once(ctx, http.MethodPut, "posts/"+messageID+"/patch", nil, map[string]any{"message": shown(text)}, &post{})
}

// PostCard implements chat.Signaler: the bot's own reactions are what people click on.
func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	text := card.WithReactions()
	thread := card.ThreadID
	if thread == "" {
		thread = strings.Repeat("0", 26) // only looked at
	}
	if err := c.postable(chat.Post{ChatID: card.ChatID, ThreadID: thread, Text: text}); err != nil {
		return chat.Posted{}, fmt.Errorf("mattermost: card in %q: %w: %w", card.ChatID, err, chat.ErrRefused)
	}
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, err
	}
	var made post
	err = c.once(ctx, http.MethodPost, "posts", nil, map[string]any{
		"channel_id": card.ChatID, "root_id": card.ThreadID, "message": shown(text), "pending_post_id": self.ID + ":" + card.Key,
		"props": map[string]any{keyProp: card.Key, "attachments": []any{}},
	}, &made)
	if err != nil {
		return chat.Posted{}, fmt.Errorf("mattermost: card in %s: %w", card.ChatID, err)
	}
	return posted(made), c.mark(ctx, made.ID, card)
}

// mark sets the reactions that stand for a card's buttons. One that stands already
// stays.
func (c *Sink) mark(ctx context.Context, messageID string, card chat.Card) error {
	for _, b := range card.Buttons {
		if mark := chat.ButtonReactions[b.Name]; mark != "" {
			if err := c.React(ctx, card.ChatID, messageID, mark, true); err != nil {
				return fmt.Errorf("mattermost: card in %s: %w", card.ChatID, err)
			}
		}
	}
	return nil
}

// UpdateCard implements chat.Signaler. Reactions of buttons that are gone stay: what is
// clicked there means nothing any more.
func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	if err := c.Edit(ctx, card.ChatID, messageID, card.WithReactions()); err != nil {
		return err
	}
	return c.mark(ctx, messageID, card)
}

package mattermost

import (
	"context"
	"fmt"
	"net/http"

	"tri/lib/chat"
	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
)

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
		return c.once(ctx, http.MethodPost, "reactions", in, &struct{}{})
	}
	return c.once(ctx, http.MethodDelete, "users/"+self.ID+"/posts/"+messageID+"/reactions/"+name,
		nil, &struct{}{})
}

// Typing implements chat.Signaler: the indicator is shown for about five seconds.
func (c *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	return c.once(ctx, http.MethodPost, "users/me/typing",
		map[string]any{"channel_id": chatID, "parent_id": threadID}, &struct{}{})
}

func (c *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	if err := c.check(chatID, messageID, text); err != nil {
		return err
	}
	return c.once(ctx, http.MethodPut, "posts/"+messageID+"/patch",
		map[string]any{"message": shown(text)}, &post{})
}

// PostCard implements chat.Signaler: the bot adds the reactions for people to click on.
func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	text := card.WithReactions()
	if err := c.check(card.ChatID, card.ThreadID, text); err != nil {
		return chat.Posted{}, err
	}
	made, err := c.send(ctx, card.ChatID, card.ThreadID, text, card.Key)
	if err != nil {
		return chat.Posted{}, err
	}
	return made, sink.React(ctx, c, made.MessageID, card)
}

// UpdateCard implements chat.Signaler. Reactions of removed buttons stay; clicks on them have no
// effect.
func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	if err := c.Edit(ctx, card.ChatID, messageID, card.WithReactions()); err != nil {
		return err
	}
	return sink.React(ctx, c, messageID, card)
}

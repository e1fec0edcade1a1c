package slack

import (
	"context"
	"fmt"
	"strings"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/sink"
)

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

package slack

import (
	"context"
	"fmt"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
)

// Sizes of a card's blocks (https://docs.slack.dev/reference/block-kit/blocks).
const (
	maxHeader  = 150
	maxSection = 3000
)

// Deal implements chat.Signaler.
func (c *Sink) Deal(ctx context.Context, card chat.Card) (chat.Posted, error) {
	all, err := blocks(card)
	if err != nil {
		return chat.Posted{}, err
	}
	more := map[string]any{"blocks": all, "metadata": metadata(card.Key)}
	if card.ThreadID != "" {
		more["thread_ts"] = card.ThreadID
	}
	return c.send(ctx, card.ChatID, text.Cut(cardText(card), c.Limit()), more)
}

// Redeal implements chat.Signaler.
func (c *Sink) Redeal(ctx context.Context, messageID string, card chat.Card) error {
	all, err := blocks(card)
	if err != nil {
		return err
	}
	in := contents(text.Cut(cardText(card), c.Limit()))
	in["channel"], in["ts"], in["blocks"] = card.ChatID, messageID, all
	_, err = c.write(ctx, "chat.update", in)
	return err
}

// cardText is what notifications show.
func cardText(card chat.Card) string { return strings.TrimSpace(card.Title + "\n\n" + card.Text) }

// blocks are what a card shows: its text as plain text, so that nothing in it
// alerts or links, and a row of buttons.
func blocks(card chat.Card) ([]any, error) {
	var all []any
	if strings.TrimSpace(card.Title) != "" {
		all = append(all, map[string]any{"type": "header", "text": plain(text.Cut(card.Title, maxHeader))})
	}
	for text := shown(card.Text); strings.TrimSpace(text) != ""; {
		part := cutAt(text, maxSection)
		all = append(all, map[string]any{"type": "section", "text": plain(part)})
		text = text[len(part):]
	}
	var row []any
	for _, b := range card.Buttons {
		if !buttonName.MatchString(b.Name) || !buttonValue.MatchString(b.Value) {
			return nil, sysexit.With(sysexit.Software, fmt.Errorf("slack: button %q carries %q", b.Name, b.Value))
		}
		button := map[string]any{"type": "button", "action_id": b.Name, "value": b.Value, "text": plain(text.Cut(b.Label, 75))}
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
	return map[string]any{"type": "plain_text", "emoji": false, "text": shown(text)}
}

// cutAt is the first n characters of text.
func cutAt(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

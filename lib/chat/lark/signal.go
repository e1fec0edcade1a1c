package lark

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/sink"
)

// React implements chat.Signaler. To remove a reaction, its own id is looked up.
func (c *Sink) React(ctx context.Context, _, id, char string, on bool) error {
	name, ok := emojiName(char)
	if !ok {
		return fmt.Errorf("lark: emoji %q: %w", char, chat.ErrUnsupported)
	}
	if !messageID.MatchString(id) {
		return fmt.Errorf("lark: message %q: not a message id", id)
	}
	path := "im/v1/messages/" + url.PathEscape(id) + "/reactions"
	if on {
		in := map[string]any{"reaction_type": map[string]string{"emoji_type": name}}
		_, err := c.once(ctx, httpapi.Request{Method: http.MethodPost, Path: "open-apis/" + path, JSON: in})
		return c.explain(err)
	}
	ours := ""
	err := c.pages(ctx, path, url.Values{"reaction_type": {name}, "page_size": {"50"}},
		func(r gjson.Result) bool {
			if str(r, "operator.operator_type") == "app" && str(r, "operator.operator_id") == c.o.ID {
				ours = str(r, "reaction_id")
			}
			return ours == ""
		})
	if err != nil || ours == "" {
		return err
	}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodDelete,
		Path: "open-apis/" + path + "/" + url.PathEscape(ours)})
	return c.explain(err)
}

// Edit implements chat.Signaler. The platform allows twenty edits of a message.
func (c *Sink) Edit(ctx context.Context, chatTo, id, text string) error {
	content, err := sent(text)
	if err == nil && !messageID.MatchString(id) {
		err = fmt.Errorf("message %q: not a message id", id)
	}
	if err := c.check(chatTo, text, content, err); err != nil {
		return err
	}
	in := map[string]string{"msg_type": "post", "content": content}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodPut,
		Path: "open-apis/im/v1/messages/" + url.PathEscape(id), JSON: in})
	return c.explain(err)
}

// Sizes of a card's parts, in characters; chosen here.
const (
	maxTitle   = 200
	maxElement = 2000
	maxLabel   = 60
)

func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	content, err := cardJSON(card)
	if err != nil {
		return chat.Posted{}, err
	}
	if !chatID.MatchString(card.ChatID) || card.ThreadID != "" && !messageID.MatchString(card.ThreadID) {
		return chat.Posted{}, fmt.Errorf("lark: card in %q, thread %q: %w", card.ChatID, card.ThreadID,
			chat.ErrRefused)
	}
	return c.post(ctx, card.ChatID, card.ThreadID, "interactive", content, card.Key)
}

func (c *Sink) UpdateCard(ctx context.Context, id string, card chat.Card) error {
	content, err := cardJSON(card)
	if err != nil {
		return err
	}
	if !messageID.MatchString(id) {
		return fmt.Errorf("lark: card %q: is no message: %w", id, chat.ErrRefused)
	}
	_, err = c.once(ctx, httpapi.Request{Method: http.MethodPatch,
		Path: "open-apis/im/v1/messages/" + url.PathEscape(id), JSON: map[string]string{"content": content}})
	return c.explain(err)
}

// cardJSON returns a card's JSON
// (https://open.larksuite.com/document/feishu-cards/card-json-structure): plain text only, so that
// nothing notifies or links, and shared, because only a card that is the same for everybody can be
// updated.
func cardJSON(card chat.Card) (string, error) {
	if err := sink.CheckButtons(card.Buttons); err != nil {
		return "", fmt.Errorf("lark: %w", err)
	}
	elements := []any{}
	for rest := text.Cut(shown(card.Text), 2*maxElement); strings.TrimSpace(rest) != ""; {
		part := sink.First(rest, maxElement)
		elements = append(elements, map[string]any{"tag": "div", "text": plain(part)})
		rest = rest[len(part):]
	}
	var row []any
	for _, b := range card.Buttons {
		row = append(row, map[string]any{
			"tag": "button", "text": plain(text.Cut(b.Label, maxLabel)), "type": cmp.Or(b.Style, "default"),
			"value": map[string]string{"name": b.Name, "value": b.Value},
		})
	}
	if len(row) > 0 {
		elements = append(elements, map[string]any{"tag": "action", "actions": row})
	}
	all := map[string]any{"config": map[string]any{"wide_screen_mode": true, "update_multi": true},
		"elements": elements}
	if card.Title != "" {
		all["header"] = map[string]any{"title": plain(text.Cut(card.Title, maxTitle))}
	}
	b, err := json.Marshal(all)
	return string(b), err
}

func plain(text string) map[string]string {
	return map[string]string{"tag": "plain_text", "content": shown(text)}
}

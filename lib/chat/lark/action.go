package lark

import (
	"context"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// reaction parses a reaction event: a reaction by another account to a message of the bot, or to a message of
// that account's own. The event contains neither the chat nor the message's author; the history has them.
func (c *Client) reaction(ctx context.Context, r gjson.Result, removed bool) (event.Action, bool, error) {
	id, by, kind, when := str(r, "message_id"), str(r, "user_id.open_id"), str(r, "reaction_type.emoji_type"),
		millis(str(r, "action_time"))
	if !messageID.MatchString(id) || !userID.MatchString(by) || kind == "" || when.IsZero() {
		return event.Action{}, false, nil // a reaction of an app has no user
	}
	self, err := c.me(ctx)
	if err != nil {
		return event.Action{}, false, err
	}
	m, there, err := c.lookup(ctx, id)
	if err != nil || !there || m.Sender != c.o.ID && m.Sender != self.OpenID && m.Sender != by ||
		by == self.OpenID {
		return event.Action{}, false, err
	}
	_, heard, err := c.watches(ctx, m.Chat)
	if err != nil || !heard {
		return event.Action{}, false, err
	}
	return event.Action{
		ID:       fmt.Sprintf("reaction %s %s %s %v %d", id, by, kind, removed, when.UnixMilli()),
		Platform: platform, ChatID: m.Chat, MessageID: id, At: stamp(when),
		Sender: event.Sender{ID: by, Type: "user", Name: c.name(ctx, m.Chat, by)}, Name: emojiOf(kind),
		Removed: removed,
	}, true, nil
}

// click parses the callback card.action.trigger: a click on a button with the form of a card's
// (https://open.larksuite.com/document/feishu-cards/card-callback-communication).
func click(r gjson.Result) (event.Action, bool) {
	in := r.Get("event")
	when, id := millis(str(r, "header.create_time")), str(r, "header.event_id")
	a := event.Action{
		ID: "click " + id, Platform: platform, ChatID: str(in, "context.open_chat_id"),
		MessageID: str(in, "context.open_message_id"), At: stamp(when),
		Sender: event.Sender{ID: str(in, "operator.open_id"), Type: "user"},
		Name:   str(in, "action.value.name"), Value: str(in, "action.value.value"),
	}
	return a, id != "" && len(id) <= 128 && !when.Equal(time.Time{}) && chatID.MatchString(a.ChatID) &&
		messageID.MatchString(a.MessageID) &&
		userID.MatchString(a.Sender.ID) && sink.IsButton(a.Name, a.Value)
}

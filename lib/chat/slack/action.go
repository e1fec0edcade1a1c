package slack

import (
	"cmp"
	"fmt"

	"github.com/tidwall/gjson"

	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// reaction parses a reaction event: a reaction by another account to a message of the bot, or to a message of
// that account's own.
func reaction(r gjson.Result, self account) (event.Action, bool) {
	a := event.Action{
		Platform: platform, ChatID: str(r, "item.channel"), MessageID: str(r, "item.ts"),
		At:     stamp(stampOf(r)),
		Sender: event.Sender{ID: str(r, "user"), Type: "user"}, Name: emoji.Char(str(r, "reaction")),
		Removed: str(r, "type") == "reaction_removed",
	}
	a.ID = fmt.Sprintf("%s %s:%s %s %s %s", str(r, "type"), a.ChatID, a.MessageID, a.Sender.ID,
		str(r, "reaction"), stampOf(r))
	author := str(r, "item_user")
	return a, str(r, "item.type") == "message" && (author == self.User || author == a.Sender.ID) &&
		a.Sender.ID != self.User &&
		chatID.MatchString(a.ChatID) && stampID.MatchString(a.MessageID) && anyID.MatchString(a.Sender.ID) &&
		stampOf(r) != "" && str(r, "reaction") != ""
}

// clicks returns the clicks of an interaction on buttons with the form of a card's.
func clicks(r gjson.Result) (all []event.Action) {
	if str(r, "type") != "block_actions" {
		return nil
	}
	chat, message := cmp.Or(str(r, "channel.id"), str(r, "container.channel_id")),
		cmp.Or(str(r, "container.message_ts"), str(r, "message.ts"))
	user := str(r, "user.id")
	if !chatID.MatchString(chat) || !stampID.MatchString(message) || !anyID.MatchString(user) {
		return nil
	}
	for _, b := range list(r, "actions") {
		a := event.Action{
			Platform: platform, ChatID: chat, MessageID: message, At: stamp(str(b, "action_ts")),
			Name: str(b, "action_id"), Value: str(b, "value"),
			Sender: event.Sender{ID: user, Type: "user",
				Name: cmp.Or(str(r, "user.name"), str(r, "user.username"))},
		}
		if !stampID.MatchString(str(b, "action_ts")) || !sink.IsButton(a.Name, a.Value) {
			continue
		}
		a.ID = fmt.Sprintf("click %s:%s %s %s %s", chat, message, user, a.Name, str(b, "action_ts"))
		all = append(all, a)
	}
	return all
}

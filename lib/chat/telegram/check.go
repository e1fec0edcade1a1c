package telegram

import (
	"context"
	"fmt"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Guide describes how to set up a bot.
var Guide = chat.Guide{
	Steps: `1. In Telegram, talk to @BotFather: /newbot. It gives the token.
2. /setprivacy, choose the bot, Disable: else it hears only commands and replies
   to itself. (Or make it an administrator of each group.)
3. Add the bot to each group. If it was a member already, take it out and add it
   again: privacy changes only then.
4. Put the token into $TELEGRAM_TOKEN, or a file of mode 0600.
5. tri-watch telegram --no-log prints what it hears, with the chat_id of each
   group for watched_chats. A private chat is heard only when it is named there.
No webhook may be set, and no other program may ask for this bot's updates.
`,
	Config: `  telegram:
    enabled: true
    token_env: TELEGRAM_TOKEN
`,
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	me, err := c.me(ctx)
	if err != nil {
		return self, []chat.Finding{{Name: "token", Text: fmt.Sprintf("identify the bot: %v", err), Fix: sysexit.HintOf(err, "is api.telegram.org reached from here?")}}
	}
	self = event.Sender{ID: id(me.ID), Type: "bot", Name: me.Username}
	say(chat.Finding{Name: "token", OK: true, Text: "@" + me.Username})
	if me.ReadsAll {
		say(chat.Finding{Name: "privacy", OK: true, Text: "the bot receives all messages of its groups"})
	} else {
		say(chat.Finding{Name: "privacy", Warn: true,
			Text: "privacy mode is on: unless it is an administrator, the bot receives only commands and replies to itself",
			Fix:  "@BotFather: /setprivacy, Disable; then take the bot out of each group and add it again"})
	}
	var hook struct {
		URL     string `json:"url"`
		Pending int    `json:"pending_update_count"`
	}
	switch err := c.call(ctx, "getWebhookInfo", nil, &hook, 0); {
	case err != nil:
		say(chat.Finding{Name: "updates", Text: fmt.Sprintf("ask for the webhook: %v", err),
			Fix: "try again"})
	case hook.URL != "":
		say(chat.Finding{Name: "updates", Text: "a webhook is set, so that updates cannot be polled",
			Fix: "call deleteWebhook, or make another bot"})
	default:
		say(chat.Finding{Name: "updates", OK: true, Text: fmt.Sprintf("%d updates wait", hook.Pending)})
	}
	for _, chatID := range c.chats {
		say(c.checkChat(ctx, chatID, me))
	}
	return self, append(findings, chat.Clock("Telegram's", c.api.Skew())...)
}

// checkChat reports whether the bot is a member of a watched chat.
func (c *Client) checkChat(ctx context.Context, chatID string, me user) chat.Finding {
	var r room
	if err := c.call(ctx, "getChat", map[string]any{"chat_id": chatID}, &r, 0); err != nil {
		return chat.Finding{Name: "chat", Text: fmt.Sprintf("%s: %v", chatID, err),
			Fix: "add the bot to that group, or remove it from watched_chats"}
	}
	if r.Type == "private" {
		return chat.Finding{Name: "chat", OK: true, Text: "private chat " + chatID}
	}
	var member struct {
		Status string `json:"status"`
	}
	if err := c.call(ctx, "getChatMember", map[string]any{"chat_id": chatID, "user_id": me.ID}, &member,
		0); err != nil {
		return chat.Finding{Name: "chat", Text: fmt.Sprintf("%s: %v", chatID, err),
			Fix: "add the bot to that group"}
	}
	switch member.Status {
	case "member", "administrator", "creator", "restricted":
		return chat.Finding{Name: "chat", OK: true,
			Text: fmt.Sprintf("%s of %s %s", member.Status, r.Title, chatID)}
	}
	return chat.Finding{Name: "chat", Text: fmt.Sprintf("the bot is %q in %s %s", member.Status, r.Title,
		chatID), Fix: "add the bot to that group"}
}

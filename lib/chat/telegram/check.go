package telegram

import (
	"context"

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
		return self, []chat.Finding{chat.Bad("token",
			sysexit.HintOf(err, "is api.telegram.org reached from here?"), "identify the bot: %v", err)}
	}
	self = event.Sender{ID: id(me.ID), Type: "bot", Name: me.Username}
	say(chat.Good("token", "@%s", me.Username))
	if me.ReadsAll {
		say(chat.Good("privacy", "the bot receives all messages of its groups"))
	} else {
		say(chat.Warning("privacy", "@BotFather: /setprivacy, Disable; then take the bot out of each group and add it again", "privacy mode is on: unless it is an administrator, the bot receives only commands and replies to itself"))
	}
	var hook struct {
		URL     string `json:"url"`
		Pending int    `json:"pending_update_count"`
	}
	switch err := c.call(ctx, "getWebhookInfo", nil, &hook, 0); {
	case err != nil:
		say(chat.Bad("updates", "try again", "ask for the webhook: %v", err))
	case hook.URL != "":
		say(chat.Bad("updates", "call deleteWebhook, or make another bot",
			"a webhook is set, so that updates cannot be polled"))
	default:
		say(chat.Good("updates", "%d updates wait", hook.Pending))
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
		return chat.Bad("chat", "add the bot to that group, or remove it from watched_chats", "%s: %v",
			chatID, err)
	}
	if r.Type == "private" {
		return chat.Good("chat", "private chat %s", chatID)
	}
	var member struct {
		Status string `json:"status"`
	}
	if err := c.call(ctx, "getChatMember", map[string]any{"chat_id": chatID, "user_id": me.ID}, &member,
		0); err != nil {
		return chat.Bad("chat", "add the bot to that group", "%s: %v", chatID, err)
	}
	switch member.Status {
	case "member", "administrator", "creator", "restricted":
		return chat.Good("chat", "%s of %s %s", member.Status, r.Title, chatID)
	}
	return chat.Bad("chat", "add the bot to that group", "the bot is %q in %s %s", member.Status, r.Title,
		chatID)
}

package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Guide describes how to set up a bot; tri init prints it.
var Guide = chat.Guide{
	Steps: `1. System Console > Integrations > Bot Accounts: allow bot accounts.
2. Integrations > Bot Accounts > Add: name it (tri), role Member. Copy the token.
3. Add the bot to the team and to each channel that it is to watch.
4. Take "Use channel mentions" and "Use group mentions" from its role, so that
   nothing it posts can alert everybody.
5. Put the token into $MATTERMOST_TOKEN, or a file of mode 0600.
`,
	Config: `  mattermost:
    url: https://chat.example.com
    token_env: MATTERMOST_TOKEN
`,
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	me, err := c.me(ctx)
	if err != nil {
		fix := sysexit.HintOf(err, "is the server up, and its address right?")
		if httpapi.StatusOf(err) == http.StatusUnauthorized {
			fix = "make a new token for the bot account"
		}
		return self, []chat.Finding{{Name: "token",
			Text: fmt.Sprintf("identify the bot at %s: %v", c.base.Host, err), Fix: fix}}
	}
	self = event.Sender{ID: me.ID, Type: "user", Name: me.Username}
	account := chat.Finding{Name: "token", OK: true, Text: fmt.Sprintf("%s as %s", c.base, me.Username)}
	if me.IsBot {
		self.Type = "bot"
	} else {
		account = chat.Finding{Name: "token", Warn: true, Text: me.Username + " is a person's account",
			Fix: "make a bot account"}
	}
	findings = append(findings, account)
	findings = append(findings, c.checkChats(ctx)...)
	return self, append(findings, chat.Clock("the server's", c.api.Skew())...)
}

// checkChats reports which watched chats the bot is a member of.
func (c *Client) checkChats(ctx context.Context) (findings []chat.Finding) {
	var mine []room
	if err := c.get(ctx, "users/me/channels", nil, &mine); err != nil {
		return []chat.Finding{{Name: "chat", Text: fmt.Sprintf("list the bot's channels: %v", err),
			Fix: "add the bot to a team"}}
	}
	names := map[string]string{}
	for _, r := range mine {
		names[r.ID] = r.DisplayName
	}
	if c.chats == nil {
		if len(mine) == 0 {
			return []chat.Finding{{Name: "chat", Text: "the bot is a member of no channel",
				Fix: "add it to those that it is to watch"}}
		}
		return []chat.Finding{{Name: "chat", OK: true,
			Text: fmt.Sprintf("watches all %d channels that the bot is a member of", len(mine))}}
	}
	for id := range c.chats {
		name, ok := names[id]
		switch {
		case ok:
			findings = append(findings, chat.Finding{Name: "chat", OK: true,
				Text: "member of " + strings.TrimSpace(name+" "+id)})
		default:
			findings = append(findings, chat.Finding{Name: "chat", Text: "not a member of " + id,
				Fix: "add the bot to that channel, or remove it from watched_chats"})
		}
	}
	return findings
}

package mattermost

import (
	"context"
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
		return self, []chat.Finding{chat.Bad("token", fix, "identify the bot at %s: %v", c.base.Host, err)}
	}
	self = event.Sender{ID: me.ID, Type: "user", Name: me.Username}
	account := chat.Good("token", "%s as %s", c.base, me.Username)
	if me.IsBot {
		self.Type = "bot"
	} else {
		account = chat.Warning("token", "make a bot account", "%s is a person's account", me.Username)
	}
	findings = append(findings, account)
	findings = append(findings, c.checkChats(ctx)...)
	return self, append(findings, chat.Clock("the server's", c.api.Skew())...)
}

// checkChats reports which watched chats the bot is a member of.
func (c *Client) checkChats(ctx context.Context) (findings []chat.Finding) {
	var mine []room
	if err := c.get(ctx, "users/me/channels", nil, &mine); err != nil {
		return []chat.Finding{chat.Bad("chat", "add the bot to a team", "list the bot's channels: %v", err)}
	}
	names := map[string]string{}
	for _, r := range mine {
		names[r.ID] = r.DisplayName
	}
	if c.chats == nil {
		if len(mine) == 0 {
			return []chat.Finding{chat.Bad("chat", "add it to those that it is to watch",
				"the bot is a member of no channel")}
		}
		return []chat.Finding{chat.Good("chat", "watches all %d channels that the bot is a member of",
			len(mine))}
	}
	for id := range c.chats {
		name, ok := names[id]
		switch {
		case ok:
			findings = append(findings, chat.Good("chat", "member of %s", strings.TrimSpace(name+" "+id)))
		default:
			findings = append(findings, chat.Bad("chat",
				"add the bot to that channel, or remove it from watched_chats", "not a member of %s", id))
		}
	}
	return findings
}

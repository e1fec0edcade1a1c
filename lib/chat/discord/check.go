package discord

import (
	"context"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Permissions (topics/permissions).
const (
	mayAdminister = 1 << 3
	mayReact      = 1 << 6
	mayView       = 1 << 10
	maySend       = 1 << 11
	mayReadBack   = 1 << 16
	mayBegin      = 1 << 35 // public threads
	maySendThread = 1 << 38
)

// needed are the permissions that the bot needs. Their sum, 309237713984, is in the guide.
var needed = []struct {
	bit  uint64
	name string
	must bool
}{
	{mayView, "View Channels", true},
	{mayReadBack, "Read Message History", true},
	{maySend, "Send Messages", true},
	{maySendThread, "Send Messages in Threads", true},
	{mayBegin, "Create Public Threads", false},
	{mayReact, "Add Reactions", false},
}

// Guide describes how to set up a bot.
var Guide = chat.Guide{
	Steps: `1. https://discord.com/developers/applications: New Application, name it (tri).
2. Bot: Reset Token, copy it. Below, Privileged Gateway Intents: switch on
   MESSAGE CONTENT INTENT, and nothing else.
3. Open this address, with the Application ID of General Information for APP_ID,
   and add the bot to your server (View Channels, Send Messages, Read Message
   History, Add Reactions, Create Public Threads, Send Messages in Threads):
   https://discord.com/oauth2/authorize?client_id=APP_ID&scope=bot&permissions=309237713984
4. Private channels: add the bot's role under Edit Channel > Permissions.
5. Take "Mention @everyone, @here, and All Roles" from the bot's role.
6. Put the token into $DISCORD_TOKEN, or a file of mode 0600.
7. Settings > Advanced > Developer Mode; then Copy Channel ID of each channel gives
   the chat_id for watched_chats.
Clicks come over the gateway. To have them by webhook instead, set listen and
public_key (General Information), and then Interactions Endpoint URL there.
`,
	Config: `  discord:
    enabled: true
    token_env: DISCORD_TOKEN
`,
}

// Flags of an application: the access to message contents.
const flagContent, flagContentLimited = 1 << 18, 1 << 19

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	me, err := c.me(ctx)
	if err != nil {
		return self, []chat.Finding{chat.Bad("token",
			sysexit.HintOf(err, "is discord.com reached from here?"), "identify the bot: %v", err)}
	}
	self = event.Sender{ID: me.ID, Type: "bot", Name: me.Username}
	say(chat.Good("token", "%s %s", me.Username, me.ID))
	say(c.checkIntents(ctx))
	guilds, chats, err := c.watchedChats(ctx)
	switch {
	case err != nil:
		say(chat.Bad("chat", "try again", "list the chats: %v", err))
	case c.chats == nil && len(guilds) == 0:
		say(chat.Bad("chat", "open the address of tri init discord, and add it", "the bot is in no server"))
	case c.chats == nil:
		say(chat.Good("chat", "watches what it may read of %d channels in %d servers", len(chats),
			len(guilds)))
	default:
		slices.SortFunc(chats, func(a, b place) int { return compareID(a.ID, b.ID) })
		for _, p := range chats {
			say(c.checkChat(ctx, &p, me))
		}
	}
	return self, append(findings, chat.Clock("Discord's", c.api.Skew())...)
}

func (c *Client) checkIntents(ctx context.Context) chat.Finding {
	var app struct {
		Flags int64 `json:"flags"`
	}
	if err := c.get(ctx, "applications/@me", nil, &app); err != nil {
		return chat.Bad("intents", "try again", "ask for the application: %v", err)
	}
	if app.Flags&(flagContent|flagContentLimited) == 0 {
		return chat.Bad("intents",
			"Developer Portal > Bot > Privileged Gateway Intents: switch on MESSAGE CONTENT INTENT",
			"the bot may not read what messages say")
	}
	return chat.Good("intents", "message content")
}

// checkChat reports whether the bot is in a watched chat and has the permissions that it needs
// there.
func (c *Client) checkChat(ctx context.Context, p *place, me user) chat.Finding {
	if p.Guild == "" && !p.isPrivate() {
		return chat.Bad("chat", "add it to that server and, if the channel is private, to the channel; "+
			"or remove it from watched_chats", "the bot cannot see %s", p.ID)
	}
	title := strings.TrimSpace("#" + p.Name + " " + p.ID)
	if p.isPrivate() {
		return chat.Good("chat", "private %s", strings.TrimPrefix(title, "# "))
	}
	room := p
	if p.isThread() { // it has the permissions of its chat
		parent, err := c.place(ctx, p.Parent)
		if err != nil {
			return chat.Bad("chat", "try again", "%s: %v", title, err)
		}
		room = &parent
	}
	may, err := c.permissions(ctx, room, me)
	if err != nil {
		return chat.Bad("chat", "try again", "%s: permissions: %v", title, err)
	}
	var missing []string
	warn := true
	for _, n := range needed {
		if may&n.bit == 0 {
			missing = append(missing, n.name)
			warn = warn && !n.must
		}
	}
	if len(missing) == 0 {
		return chat.Good("chat", "member of %s", title)
	}
	return chat.Finding{Name: "chat", Warn: warn,
		Text: "in " + title + " the bot may not: " + strings.Join(missing, ", "),
		Fix:  "Edit Channel > Permissions: allow that to the bot's role"}
}

// permissions returns the bot's permissions in a channel: those of its roles, then the channel's
// overwrites for everyone, for the roles and for the bot
// (topics/permissions#permission-overwrites).
func (c *Client) permissions(ctx context.Context, p *place, me user) (uint64, error) {
	var guild struct {
		Owner string `json:"owner_id"`
	}
	var member struct {
		Roles []string `json:"roles"`
	}
	if err := c.get(ctx, "guilds/"+p.Guild, nil, &guild); err != nil {
		return 0, err
	}
	if err := c.get(ctx, "guilds/"+p.Guild+"/members/"+me.ID, nil, &member); err != nil {
		return 0, err
	}
	everyone, err := c.role(ctx, p.Guild, p.Guild)
	if err != nil {
		return 0, err
	}
	may := number(everyone.Permissions)
	for _, id := range member.Roles {
		r, err := c.role(ctx, p.Guild, id)
		if err != nil {
			return 0, err
		}
		may |= number(r.Permissions)
	}
	if guild.Owner == me.ID || may&mayAdminister != 0 {
		return ^uint64(0), nil
	}
	var deny, allow uint64
	for _, o := range p.Overwrites {
		if o.ID == p.Guild {
			may = may&^number(o.Deny) | number(o.Allow)
		} else if slices.Contains(member.Roles, o.ID) {
			deny, allow = deny|number(o.Deny), allow|number(o.Allow)
		}
	}
	may = may&^deny | allow
	for _, o := range p.Overwrites {
		if o.ID == me.ID {
			may = may&^number(o.Deny) | number(o.Allow)
		}
	}
	if may&mayView == 0 { // without it no other permission applies
		return 0, nil
	}
	return may, nil
}

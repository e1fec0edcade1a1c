package lark

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Guide describes how to set up an app.
var Guide = chat.Guide{
	Steps: `1. open.larksuite.com/app (Feishu: open.feishu.cn/app): Create Custom App.
   Credentials & Basic Info: the App ID goes into app_id below, the App Secret into
   $LARK_APP_SECRET, or a file of mode 0600.
2. Add Features: Bot.
3. Permissions & Scopes, for the tenant: im:message, im:message.group_msg,
   im:message:send_as_bot, im:chat:readonly, im:message.reactions:read,
   im:message.reactions:write_only. (im:message:readonly does for reading alone.)
4. Events & Callbacks > Event Configuration: subscription mode "long connection"
   (tri-watch lark must run when it is saved); events im.message.receive_v1,
   im.message.recalled_v1, im.message.reaction.created_v1,
   im.message.reaction.deleted_v1, im.chat.updated_v1.
   Callback Configuration: long connection too; callback card.action.trigger.
5. Version Management: create a version, publish it, have it approved. Every later
   change of 2 to 4 needs another version.
6. In each group that it is to watch: Settings > Bots > Add Bot. The id (oc_…) stands
   at the end of the group's settings.
Instead of the long connection, by webhook: in Encryption Strategy set an Encrypt
Key; put it into $LARK_ENCRYPT_KEY and the Verification Token into
$LARK_VERIFICATION_TOKEN. As request URL, of events and of callbacks, give the one
where a proxy with TLS leads to listen:. It is asked when it is saved: start
tri-watch lark first.
`,
	Config: `  lark:
    app_id: cli_a1b2c3d4e5f60708
    # api_url: https://open.feishu.cn    (Feishu)
`,
}

// scopes are the scopes that the app needs; of those in one line any one is enough.
var scopes = [][]string{
	{"im:message", "im:message:readonly"}, {"im:message.group_msg"},
	{"im:message:send_as_bot", "im:message:send", "im:message"},
	{"im:chat:readonly", "im:chat:read", "im:chat"},
	{"im:message.reactions:read", "im:message"}, {"im:message.reactions:write_only", "im:message"},
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	me, err := c.me(ctx)
	if err != nil {
		return self, []chat.Finding{chat.Bad("token",
			sysexit.HintOf(err, "is "+c.o.URL+" reached from here?"), "identify the bot: %v", err)}
	}
	self = event.Sender{ID: me.OpenID, Type: "bot", Name: me.Name}
	say(chat.Good("token", "%s, %s", me.Name, c.o.ID))
	say(c.checkScopes(ctx))
	if c.o.Listen == "" && c.o.Listener == nil {
		say(c.checkSocket(ctx))
	}
	if c.chats == nil {
		say(c.checkAll(ctx))
	}
	for _, id := range slices.Sorted(maps.Keys(c.chats)) {
		say(c.checkChat(ctx, id))
	}
	return self, append(findings, chat.Clock("the platform's", c.api.Skew())...)
}

// checkSocket requests the address of a connection but does not connect.
func (c *Client) checkSocket(ctx context.Context) chat.Finding {
	if _, _, err := c.endpoint(ctx); err != nil {
		return chat.Bad("socket", sysexit.HintOf(err, "Events & Callbacks: choose the long connection"),
			"ask for a connection: %v", err)
	}
	return chat.Good("socket", "the long connection is open to the app")
}

// checkScopes lists the scopes that the organization has not granted
// (https://open.larksuite.com/document/server-docs/application-v6/scope/list).
func (c *Client) checkScopes(ctx context.Context) chat.Finding {
	const fix = "Permissions & Scopes: add them, publish a version, have it approved"
	r, err := c.read(ctx, "application/v6/scopes", nil)
	if err != nil {
		return chat.Warning("scopes", "compare them with tri init lark",
			"which scopes the app has is not told: %v", err)
	}
	have := map[string]bool{}
	for _, s := range list(r, "scopes") {
		if s.Get("grant_status").Int() == 1 && str(s, "scope_type") != "user" {
			have[str(s, "scope_name")] = true
		}
	}
	var missing []string
	for _, any := range scopes {
		if !slices.ContainsFunc(any, func(s string) bool { return have[s] }) {
			missing = append(missing, any[0])
		}
	}
	if len(missing) > 0 {
		return chat.Bad("scopes", fix, "missing: %s", strings.Join(missing, ", "))
	}
	return chat.Good("scopes", "the app has all scopes")
}

func (c *Client) checkAll(ctx context.Context) chat.Finding {
	ids, err := c.watched(ctx)
	switch {
	case err != nil:
		return chat.Bad("chat", sysexit.HintOf(err, "try again"), "list the bot's groups: %v", err)
	case len(ids) == 0:
		return chat.Bad("chat", "Settings > Bots > Add Bot, in those that it is to watch",
			"the bot is in no group")
	}
	return chat.Good("chat", "watches all %d groups that the bot is in", len(ids))
}

// checkChat reports whether the bot can read a watched chat.
func (c *Client) checkChat(ctx context.Context, id string) chat.Finding {
	in, err := c.read(ctx, "im/v1/chats/"+url.PathEscape(id)+"/members/is_in_chat", nil)
	if err != nil || !in.Get("is_in_chat").Bool() {
		text := "the bot is not in " + id
		if err != nil {
			text = fmt.Sprintf("%s: %v", id, err)
		}
		return chat.Bad("chat", "Settings > Bots > Add Bot there, or remove it from watched_chats", "%s",
			text)
	}
	c.rooms.Forget(id)
	r, err := c.room(ctx, id)
	switch {
	case err != nil:
		return chat.Bad("chat", sysexit.HintOf(err, "try again"), "%s: %v", id, err)
	case r.External && !c.o.AllowExternal:
		return chat.Bad("chat", "chat.allow_external: true, or remove it from watched_chats",
			"people of other organizations are in %s %s: not read", r.Name, id)
	}
	return chat.Good("chat", "the bot is in %s", r.Name)
}

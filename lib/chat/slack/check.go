package slack

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

//go:embed manifest.yaml
var manifest string

// Guide describes how to set up an app.
var Guide = chat.Guide{
	Steps: `1. tri-watch slack --print-manifest prints the app. On api.slack.com/apps: Create
   New App, From a manifest, choose the workspace, paste it as YAML.
2. Basic Information > App-Level Tokens: make one with the scope connections:write.
   Put it (xapp-) into $SLACK_APP_TOKEN, or a file of mode 0600.
3. Install App. Put the Bot User OAuth Token (xoxb-) into $SLACK_BOT_TOKEN, or a
   file of mode 0600.
4. In each channel that it is to watch: /invite @tri. Private channels and direct
   messages are heard only where watched_chats names them (View channel details
   shows the id).
Instead of 2, by webhook: in the manifest, socket_mode_enabled: false, and a
request_url below event_subscriptions and below interactivity, both where a proxy
with TLS leads to listen:. Put the Signing Secret into $SLACK_SIGNING_SECRET.
Slack asks the address before it takes it: start tri-watch slack first.
`,
	Config: `  slack:
    enabled: true
    token_env: SLACK_BOT_TOKEN
    app_token_env: SLACK_APP_TOKEN
`,
	Manifest: manifest,
}

// scopes are the scopes that the bot's token always needs. Conversations that are
// read only if they are watched by id need further scopes.
var scopes = []string{
	"channels:history", "channels:read", "chat:write", "metadata.message:read", "reactions:read",
	"reactions:write", "users:read",
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	me, err := c.me(ctx)
	if err != nil {
		return self, []chat.Finding{chat.Bad("token", sysexit.HintOf(err, "is slack.com reached from here?"),
			"identify the bot: %v", err)}
	}
	self = event.Sender{ID: me.User, Type: "bot", Name: me.Name}
	say(chat.Good("token", "%s in %s", me.Name, me.TeamName))
	if me.Bot == "" {
		say(chat.Bad("token", "use the Bot User OAuth Token", "%s is a person", me.Name))
	}
	if c.app != nil {
		say(c.checkSocket(ctx))
	}
	say(c.checkScopes())
	if c.chats == nil {
		say(c.checkAll(ctx))
	}
	for _, id := range slices.Sorted(maps.Keys(c.chats)) {
		say(c.checkChat(ctx, id))
	}
	return self, append(findings, chat.Clock("Slack's", c.api.Skew())...)
}

// checkSocket requests the address of a connection but does not connect.
func (c *Client) checkSocket(ctx context.Context) chat.Finding {
	if _, err := c.open(ctx); err != nil {
		return chat.Bad("socket", sysexit.HintOf(err,
			"switch Socket Mode on, and give the app-level token connections:write"),
			"ask for a connection: %v", err)
	}
	return chat.Good("socket", "Socket Mode is on")
}

// checkScopes lists the scopes that the token lacks.
func (c *Client) checkScopes() chat.Finding {
	said, ok := c.scopes.Get("")
	if !ok {
		return chat.Warning("scopes", "is api_url Slack's?",
			"Slack does not say which scopes the token has")
	}
	have := map[string]bool{}
	for s := range strings.SplitSeq(said, ",") {
		have[strings.TrimSpace(s)] = true
	}
	need := slices.Clone(scopes)
	for id := range c.chats {
		switch id[0] {
		case 'G':
			need = append(need, "groups:history", "groups:read")
		case 'D':
			need = append(need, "im:history", "im:read")
		}
	}
	var missing []string
	for _, s := range need {
		if !have[s] && !slices.Contains(missing, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return chat.Bad("scopes", "OAuth & Permissions > Bot Token Scopes: add them, and install the app again", "missing: %s", strings.Join(missing, ", "))
	}
	return chat.Good("scopes", "the token has all scopes")
}

func (c *Client) checkAll(ctx context.Context) chat.Finding {
	ids, err := c.watched(ctx)
	switch {
	case err != nil:
		return chat.Bad("chat", sysexit.HintOf(err, "try again"), "list the bot's channels: %v", err)
	case len(ids) == 0:
		return chat.Bad("chat", "/invite it to those that it is to watch",
			"the bot is a member of no public channel")
	}
	return chat.Good("chat", "watches all %d public channels that the bot is a member of", len(ids))
}

// checkChat reports whether the bot can read a watched chat.
func (c *Client) checkChat(ctx context.Context, id string) chat.Finding {
	c.rooms.Forget(id)
	r, err := c.room(ctx, id)
	switch {
	case err != nil:
		return chat.Bad("chat", sysexit.HintOf(err, "try again"), "%s: %v", id, err)
	case !r.Member:
		return chat.Bad("chat", "/invite the bot there, or remove it from watched_chats", "%s",
			strings.TrimSpace("not a member of "+r.Name+" "+id))
	case r.Shared && !c.o.AllowExternal:
		return chat.Bad("chat", "chat.allow_external: true, or remove it from watched_chats",
			"%s %s is shared with another organization: not read", r.Name, id)
	case r.Private:
		return chat.Good("chat", "member of %s %s, which is private", r.Name, id)
	}
	return chat.Good("chat", "member of %s %s", r.Name, id)
}

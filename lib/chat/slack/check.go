package slack

import (
	"context"
	_ "embed"
	"fmt"
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
		return self, []chat.Finding{{Name: "token", Text: fmt.Sprintf("identify the bot: %v", err),
			Fix: sysexit.HintOf(err, "is slack.com reached from here?")}}
	}
	self = event.Sender{ID: me.User, Type: "bot", Name: me.Name}
	say(chat.Finding{Name: "token", OK: true, Text: fmt.Sprintf("%s in %s", me.Name, me.TeamName)})
	if me.Bot == "" {
		say(chat.Finding{Name: "token", Text: me.Name + " is a person", Fix: "use the Bot User OAuth Token"})
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
		return chat.Finding{Name: "socket", Text: fmt.Sprintf("ask for a connection: %v", err),
			Fix: sysexit.HintOf(err, "switch Socket Mode on, and give the app-level token connections:write")}
	}
	return chat.Finding{Name: "socket", OK: true, Text: "Socket Mode is on"}
}

// checkScopes lists the scopes that the token lacks.
func (c *Client) checkScopes() chat.Finding {
	said, ok := c.scopes.Get("")
	if !ok {
		return chat.Finding{Name: "scopes", Warn: true, Text: "Slack does not say which scopes the token has",
			Fix: "is api_url Slack's?"}
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
		return chat.Finding{Name: "scopes", Text: "missing: " + strings.Join(missing, ", "),
			Fix: "OAuth & Permissions > Bot Token Scopes: add them, and install the app again"}
	}
	return chat.Finding{Name: "scopes", OK: true, Text: "the token has all scopes"}
}

func (c *Client) checkAll(ctx context.Context) chat.Finding {
	ids, err := c.watched(ctx)
	switch {
	case err != nil:
		return chat.Finding{Name: "chat", Text: fmt.Sprintf("list the bot's channels: %v", err),
			Fix: sysexit.HintOf(err, "try again")}
	case len(ids) == 0:
		return chat.Finding{Name: "chat", Text: "the bot is a member of no public channel",
			Fix: "/invite it to those that it is to watch"}
	}
	return chat.Finding{Name: "chat", OK: true,
		Text: fmt.Sprintf("watches all %d public channels that the bot is a member of", len(ids))}
}

// checkChat reports whether the bot can read a watched chat.
func (c *Client) checkChat(ctx context.Context, id string) chat.Finding {
	c.rooms.Forget(id)
	r, err := c.room(ctx, id)
	switch {
	case err != nil:
		return chat.Finding{Name: "chat", Text: fmt.Sprintf("%s: %v", id, err), Fix: sysexit.HintOf(err, "try again")}
	case !r.Member:
		return chat.Finding{Name: "chat", Text: strings.TrimSpace("not a member of " + r.Name + " " + id),
			Fix: "/invite the bot there, or remove it from watched_chats"}
	case r.Shared && !c.o.AllowExternal:
		return chat.Finding{Name: "chat",
			Text: fmt.Sprintf("%s %s is shared with another organization: not read", r.Name, id),
			Fix:  "chat.allow_external: true, or remove it from watched_chats"}
	case r.Private:
		return chat.Finding{Name: "chat", OK: true,
			Text: fmt.Sprintf("member of %s %s, which is private", r.Name, id)}
	}
	return chat.Finding{Name: "chat", OK: true, Text: fmt.Sprintf("member of %s %s", r.Name, id)}
}

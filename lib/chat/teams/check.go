package teams

import (
	"context"
	_ "embed"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

//go:embed manifest.json
var manifest string

// Guide describes how to set up a bot.
var Guide = chat.Guide{
	Steps: `1. entra.microsoft.com > App registrations > New: single tenant. Note the
   Application (client) ID and the Directory (tenant) ID. Certificates & secrets >
   New client secret: put it into $TEAMS_APP_SECRET, or a file of mode 0600.
2. portal.azure.com > Azure Bot > Create: type Single Tenant, that application.
   Configuration > Messaging endpoint: https://HOST/api/messages, where a proxy with
   TLS leads to listen:. Channels > Microsoft Teams.
3. tri-watch teams --print-manifest prints the app: put the application's id in
   place of APP-ID, zip it as manifest.json with two icons (color.png 192x192,
   outline.png 32x32), and upload it in admin.teams.microsoft.com > Manage apps.
4. Add the app to each team and group chat that it is to watch. Its owner consents
   to ChannelMessage.Read.Group, ChannelSettings.Read.Group and
   ChatMessage.Read.Chat: without them it hears only what mentions it, and cannot
   read what it missed.
5. groups: the id of each such team (Get link to team: groupId=...).
Also by change notifications of Graph, where public_url: is set: Graph then calls
https://HOST/api/graph and https://HOST/api/graph/lifecycle.
`,
	Config: `  teams:
    app_id: 00000000-0000-0000-0000-000000000000
    tenant: 00000000-0000-0000-0000-000000000000
    secret_env: TEAMS_APP_SECRET
    listen: 127.0.0.1:3978
    groups: [00000000-0000-0000-0000-000000000000]
`,
	Manifest: manifest,
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	self = event.Sender{ID: c.botID(), Type: "bot"}
	if !c.remote() {
		say(chat.Warning("token", "set tenant and the secret, and remove insecure",
			"insecure, without a secret: for the playground only"))
		return self, findings
	}
	if err := c.service.signIn(ctx); err != nil {
		return self, []chat.Finding{chat.Bad("token",
			sysexit.HintOf(err, "is "+c.o.LoginURL+" reached from here?"), "sign in: %v", err)}
	}
	say(chat.Good("token", "signed in as application %s", c.o.AppID))
	if _, err := c.bot.fetch(ctx); err != nil {
		say(chat.Bad("keys", "let this machine reach "+c.o.OpenIDURL, "keys of the Bot Framework: %v",
			err))
	}
	say(c.checkEndpoint(ctx))
	if err := c.readChannels(ctx); err != nil {
		say(chat.Bad("permission", "consent to ChannelSettings.Read.Group by adding the app to the team",
			"%s", err.Error()))
	}
	for _, id := range slices.Sorted(maps.Keys(c.chats)) {
		say(c.checkChat(ctx, id))
	}
	if c.o.PublicURL != "" {
		say(c.checkSubscriptions(ctx))
	}
	return self, append(findings, chat.Clock("Microsoft's", c.service.login.Skew())...)
}

// checkEndpoint calls the bot's own endpoint, by its public address if that is known. A running
// watcher rejects the call for the missing token.
func (c *Client) checkEndpoint(ctx context.Context) chat.Finding {
	base := strings.TrimRight(c.o.PublicURL, "/")
	if base == "" {
		base = "http://" + c.o.Listen
	}
	f := chat.Bad("endpoint", "start tri-watch teams, and point the proxy to listen:", "no answer at %s%s",
		base, pathMessages)
	api, err := c.web(base, nil)
	if err != nil {
		f.Text = err.Error()
		return f
	}
	err = api.Once(ctx, httpapi.Request{Method: http.MethodPost, Path: pathMessages,
		JSON: map[string]any{"type": "ping"}}, nil)
	switch httpapi.StatusOf(err) {
	case http.StatusBadRequest, http.StatusUnauthorized:
		return chat.Good("endpoint", "%s%s answers, and refuses calls without a token", base, pathMessages)
	case 0:
		f.Warn = true // the watcher may not be running
	}
	return f
}

// checkChat reads one message.
func (c *Client) checkChat(ctx context.Context, id string) chat.Finding {
	path, err := c.messages(ctx, id)
	if err == nil {
		err = c.graph.read(ctx, path, url.Values{"$top": {"1"}}, nil)
	}
	if err == nil {
		return chat.Good("chat", "can read %s %s", c.name(id), id)
	}
	permission := "ChatMessage.Read.Chat"
	if channel(id) {
		permission = "ChannelMessage.Read.Group"
	}
	return chat.Warning("chat", "add the app there, with "+permission+", and name its team under groups",
		"missed messages in %s cannot be read: %v", id, err)
}

// checkSubscriptions reports how many of the requested change notifications exist.
func (c *Client) checkSubscriptions(ctx context.Context) chat.Finding {
	var got struct {
		Value []subscription `json:"value"`
	}
	if err := c.graph.read(ctx, "subscriptions", nil, &got); err != nil {
		return chat.Warning("subscription", "is Graph reached from here?", "list subscriptions: %v", err)
	}
	n := 0
	for _, s := range got.Value {
		if s.At == strings.TrimRight(c.o.PublicURL, "/")+pathNotices && s.Expires.After(c.o.Now()) {
			n++
		}
	}
	if n == 0 {
		return chat.Warning("subscription", "start tri-watch teams; it makes them",
			"Graph sends no change notifications to %s", c.o.PublicURL)
	}
	return chat.Good("subscription", "%d chats send change notifications", n)
}

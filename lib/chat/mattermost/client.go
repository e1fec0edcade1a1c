// Package mattermost reads and posts as a bot account on a Mattermost server: posts, edits and
// deletions as events, and replies in threads. It implements the server's REST and WebSocket API,
// version 4, itself; it was checked against the source of server 9.9 and against a running one
// (scripts/peers).
package mattermost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
)

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// platform is the name of this platform in events.
const platform = "mattermost"

// Options identify the server, the account and what it watches.
type Options struct {
	URL   string   // https://chat.example.com, with the server's path if it has one
	Token string   // access token of the bot account
	Chats []string // channel ids to watch; none: all channels that the bot is a member of
	// AllowExternal accepts messages of guests and of people of other servers.
	AllowExternal bool
	// Listen is the address for outgoing webhooks, authenticated by HookToken; "": none.
	Listen, HookToken string

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	// Pulse is the interval of pings. Default 30 s.
	Pulse time.Duration
}

// Client is the connection of one bot account to one server.
type Client struct {
	o     Options
	api   *httpapi.Client
	base  *url.URL
	chats map[string]bool // nil: all

	self   cache.Map[user]
	people cache.Map[user]
	names  cache.Map[string] // ids by user name; "": no such user
	rooms  cache.Map[room]
}

// New returns the client of a server. It makes no network calls.
func New(o Options) (*Client, error) {
	if err := httpapi.Word("mattermost token", o.Token); err != nil {
		return nil, err
	}
	if o.Listen != "" && len(o.HookToken) < 16 {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"mattermost: listen without the webhook's token"),
			"put it into $MATTERMOST_WEBHOOK_TOKEN: the server shows it when the webhook is made")
	}
	o.Pulse = cmp.Or(o.Pulse, 30*time.Second)
	c := &Client{o: o}
	var err error
	if c.chats, err = session.Chats(platform, o.Chats, validID,
		"a channel id has 26 letters and digits", ""); err != nil {
		return nil, err
	}
	c.api, err = httpapi.New(httpapi.Options{
		Base: o.URL, HTTP: o.HTTP, Now: o.Now, Sleep: o.Sleep, Chance: o.Chance,
		Sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+o.Token) },
	})
	if err == nil {
		c.base, err = url.Parse(strings.TrimRight(o.URL, "/"))
	}
	if err != nil {
		return nil, fmt.Errorf("mattermost: %w", err)
	}
	return c, nil
}

// validID reports whether id has the form of the server's ids (model.IsValidId): 26 letters and
// digits. No other string is used in a URL path.
func validID(id string) bool {
	return len(id) == 26 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// get reads path into out, within the server's rate limits.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return named(c.api.Read(ctx, httpapi.Request{Method: http.MethodGet, Path: "api/v4/" + path,
		Query: query}, out))
}

// ask makes a POST request that changes nothing.
func (c *Client) ask(ctx context.Context, path string, in, out any) error {
	return named(c.api.Read(ctx, httpapi.Request{Method: http.MethodPost, Path: "api/v4/" + path, JSON: in},
		out))
}

// once makes one request and decodes the response into out.
func (c *Client) once(ctx context.Context, method, path string, in, out any) error {
	return named(c.api.Once(ctx, httpapi.Request{Method: method, Path: "api/v4/" + path, JSON: in}, out))
}

// named adds the server's message to an error.
func named(err error) error {
	var said struct{ ID, Message string }
	if e, ok := errors.AsType[*httpapi.Error](err); ok && json.Unmarshal(e.Body, &said) == nil {
		e.Code, e.Text = said.ID, said.Message
	}
	return err
}

// serverNow returns the server's time, to within about a second.
func (c *Client) serverNow() time.Time { return c.api.ServerTime(c.api.Now()) }

// me returns the bot's own account.
func (c *Client) me(ctx context.Context) (user, error) {
	return c.self.Ask("", func() (user, error) {
		var self user
		if err := c.get(ctx, "users/me", nil, &self); err != nil {
			return user{}, c.explain(err)
		}
		if !validID(self.ID) || self.Username == "" {
			return user{}, sysexit.Errorf(sysexit.Unavailable, "%s: is not a Mattermost server", c.base)
		}
		return c.learn(self), nil
	})
}

// explain adds a status and a hint to an error that a person can resolve.
func (c *Client) explain(err error) error {
	switch s := httpapi.StatusOf(err); {
	case s == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token is not, or no longer, one of "+c.base.Host)
	case s == http.StatusNotFound || s >= 300 && s < 400:
		return sysexit.Errorf(sysexit.Config, "%s is not where the server answers: %w", c.base, err)
	}
	return err
}

// Package slack reads and posts as the bot user of a Slack app: messages, edits, deletions, clicks,
// reactions; replies in threads. It implements the Web API and Socket Mode (or the Events API by
// webhook) itself, after https://docs.slack.dev.
//
// Slack-go (v0.34.0) leaves acknowledgement to its caller and passes the conformance suite. It is
// not used for three reasons: its socket embeds its client (socketmode/client.go:47), so that every
// program that listens links all methods that post; it decodes the history as one value, which a
// single field of an unexpected type makes unreadable (misc.go:597); and it drops the reason for
// which Slack ends a connection (socketmode/socket_mode_managed_conn.go:397). It would save 10
// lines and link 2 MB.
package slack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
)

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.App      = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// platform is the name of this platform in events.
const platform = "slack"

// Options identify the workspace, the app and what it watches.
type Options struct {
	URL      string   // default https://slack.com/api/
	Token    string   // xoxb-: the bot's
	AppToken string   // xapp-: the app's, for Socket Mode
	Secret   string   // the app's signing secret, for Listen
	Listen   string   // host:port for calls of the Events API; "": Socket Mode
	Chats    []string // channel ids to watch; none: all public channels that the bot is in

	// AllowExternal accepts messages of guests, of people of other organizations, and from channels
	// shared with other organizations.
	AllowExternal bool

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	// Pulse is the interval of pings on a socket. Default 30 s.
	Pulse time.Duration
	// Sweep is the interval at which the history is read for events that did not arrive. Default 10
	// min.
	Sweep time.Duration
	// Listener is used instead of Listen.
	Listener net.Listener
}

// Client is the connection of one app in one workspace.
type Client struct {
	o     Options
	api   *httpapi.Client // with the bot's token
	app   *httpapi.Client // with the app's token; nil without Socket Mode
	chats map[string]bool

	self   cache.Map[account]
	people cache.Map[person]
	rooms  cache.Map[room]
	scopes cache.Map[string] // of the bot's token, from the last response
}

// account is the bot's account.
type account struct {
	User, Bot, Name        string
	Team, TeamName, Domain string // Domain is the workspace's address, https://….slack.com/
	Enterprise             string
}

// New returns the client of an app. It makes no network calls.
func New(o Options) (*Client, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	switch hooked := o.Listen != "" || o.Listener != nil; {
	case hooked && o.Secret == "":
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "slack: no signing secret"),
			"Basic Information > App Credentials > Signing Secret; without listen, Socket Mode needs none")
	case !hooked:
		if err := kind(o.AppToken, "app token", "xapp-"); err != nil {
			return nil, err
		}
		if c.app, err = httpapi.New(c.webOptions(o.AppToken)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func newClient(o Options) (*Client, error) {
	o.URL, o.Pulse, o.Sweep = cmp.Or(o.URL, "https://slack.com/api/"), cmp.Or(o.Pulse, 30*time.Second),
		cmp.Or(o.Sweep, 10*time.Minute)
	if err := kind(o.Token, "bot token", "xoxb-"); err != nil {
		return nil, err
	}
	c := &Client{o: o}
	c.people.Life, c.rooms.Life = personTime, roomTime
	c.people.Now, c.rooms.Now = c.now, c.now
	var err error
	if c.chats, err = session.Chats(platform, o.Chats, chatID.MatchString,
		"a channel's id is like C024BE91L", ""); err != nil {
		return nil, err
	}
	c.api, err = httpapi.New(c.webOptions(o.Token))
	return c, err
}

func (c *Client) webOptions(token string) httpapi.Options {
	return httpapi.Options{
		Base: c.o.URL, Judge: c.apiError, HTTP: c.o.HTTP, Now: c.o.Now, Sleep: c.o.Sleep, Chance: c.o.Chance,
		Sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
	}
}

// kind refuses a token of the wrong kind: they are easily swapped.
func kind(token, what, prefix string) error {
	if err := httpapi.Word("slack "+what, token); err != nil {
		return err
	}
	if !strings.HasPrefix(token, prefix) {
		return sysexit.Errorf(sysexit.Config, "slack %s: does not begin with %s", what, prefix)
	}
	return nil
}

// The forms of Slack's ids; a string of another form is not accepted as one.
var (
	chatID  = lazyregexp.New(`^[CDG][A-Z0-9]{2,20}$`)
	anyID   = lazyregexp.New(`^[A-Z][A-Z0-9]{1,20}$`)
	stampID = lazyregexp.New(`^[0-9]{9,11}\.[0-9]{6}$`)
	appPart = lazyregexp.New(`^xapp-\d+-(A[A-Z0-9]+)-`)
)

// AppID implements chat.App: an app's connections share its events.
func (c *Client) AppID() string {
	if m := appPart.FindStringSubmatch(c.o.AppToken); m != nil {
		return platform + " " + m[1]
	}
	return fmt.Sprintf("%s %x", platform, sha256.Sum256([]byte(c.o.Token)))
}

// apiError finds the error in a response: Slack reports errors with status 200.
func (c *Client) apiError(h http.Header, body []byte) error {
	if s := h.Get("X-Oauth-Scopes"); s != "" {
		c.scopes.Put("", s)
	}
	if !json.Valid(body) {
		return &httpapi.Error{Status: http.StatusBadGateway, Text: "is not Slack's"}
	}
	r := gjson.ParseBytes(body)
	if r.Get("ok").Bool() {
		return nil
	}
	code := r.Get("error").String()
	e := &httpapi.Error{Status: status(code), Code: code, After: httpapi.RetryAfter(h)}
	if needed := r.Get("needed").String(); needed != "" {
		e.Text = "needs " + needed
	}
	return e
}

// status maps Slack's error codes to HTTP statuses.
func status(code string) int {
	switch code {
	case "ratelimited", "rate_limited":
		return http.StatusTooManyRequests
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired",
		"not_allowed_token_type":
		return http.StatusUnauthorized
	case "missing_scope", "no_permission", "access_denied", "ekm_access_denied", "org_login_required",
		"team_access_not_granted":
		return http.StatusForbidden
	case "channel_not_found", "not_in_channel", "thread_not_found", "message_not_found", "user_not_found",
		"users_not_found", "user_not_visible":
		return http.StatusNotFound
	case "internal_error", "fatal_error", "service_unavailable", "team_added_to_org", "":
		return http.StatusServiceUnavailable // it may have been done in part
	}
	return http.StatusBadRequest
}

// maxAgain is how often a read that Slack could not answer is repeated.
const maxAgain = 4

// read calls a method that changes nothing.
func (c *Client) read(ctx context.Context, method string, in url.Values) (gjson.Result, error) {
	for try := 1; ; try++ {
		var b []byte
		err := c.api.Read(ctx, httpapi.Request{Method: http.MethodPost, Path: method, Form: in}, &b)
		if err == nil {
			return gjson.ParseBytes(b), nil
		}
		if httpapi.StatusOf(err) < 500 || try == maxAgain {
			return gjson.Result{}, c.explain(err)
		}
		if err := c.api.Sleep(ctx, c.api.Backoff(try)); err != nil {
			return gjson.Result{}, err
		}
	}
}

// pages reads all pages of a list and calls each for the items at path.
func (c *Client) pages(ctx context.Context, method string, in url.Values, path string,
	each func(gjson.Result)) error {
	for {
		r, err := c.read(ctx, method, in)
		if err != nil {
			return err
		}
		for _, item := range r.Get(path).Array() {
			each(item)
		}
		next := r.Get("response_metadata.next_cursor").String()
		switch {
		case next == "" && r.Get("has_more").Bool():
			return fmt.Errorf("%s: there is more, but no cursor", method)
		case next == "":
			return nil
		case next == in.Get("cursor"):
			return fmt.Errorf("%s: its pages do not advance", method)
		}
		in.Set("cursor", next)
	}
}

// me returns the bot's own account.
func (c *Client) me(ctx context.Context) (account, error) {
	return c.self.Ask("", func() (account, error) {
		r, err := c.read(ctx, "auth.test", nil)
		if err != nil {
			return account{}, err
		}
		self := account{
			User: r.Get("user_id").String(), Bot: r.Get("bot_id").String(), Name: r.Get("user").String(),
			Team:     r.Get("team_id").String(),
			TeamName: r.Get("team").String(), Domain: r.Get("url").String(),
			Enterprise: r.Get("enterprise_id").String(),
		}
		if !anyID.MatchString(self.User) {
			return account{}, sysexit.Errorf(sysexit.Unavailable, "auth.test: is not Slack's answer")
		}
		return self, nil
	})
}

func (c *Client) now() time.Time { return c.api.Now() }

// explain adds a status and a hint to an error that a person can resolve.
func (c *Client) explain(err error) error {
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return err
	}
	switch {
	case e.Code == "not_allowed_token_type":
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"Socket Mode takes the app's token (xapp-), all else the bot's (xoxb-)")
	case e.Status == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token is not, or no longer, good: install the app again and copy its token")
	case e.Code == "missing_scope":
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"add the scope (tri-watch slack --print-manifest has all) and install the app again")
	case e.Status >= 300 && e.Status < 400:
		return sysexit.With(sysexit.Config, err)
	}
	return err
}

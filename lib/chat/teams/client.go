// Package teams reads and posts on Microsoft Teams: a bot of the Bot Framework, and Microsoft Graph
// for missed messages. Activities and, if configured, Graph's change notifications arrive at one
// address; a message has the same identity in both.
package teams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat/cache"
)

const platform = config.PlatformTeams

// Microsoft's addresses, for the public cloud.
const (
	ServiceURL = "https://smba.trafficmanager.net/teams/" // for every region
	GraphURL   = "https://graph.microsoft.com/v1.0"
	LoginURL   = "https://login.microsoftonline.com"
	OpenIDURL  = "https://login.botframework.com/v1/.well-known/openidconfiguration"
)

// Options identify the bot and what it watches.
type Options struct {
	AppID, Tenant, Secret string

	// ServiceURL is where the bot posts. Each activity contains one too; the configured one works for
	// all regions, and the token is sent nowhere else.
	ServiceURL string
	GraphURL   string
	LoginURL   string
	OpenIDURL  string // the keys that sign activities

	Groups        []string // ids of the teams whose channels are read through Graph
	Chats         []string // chats to watch; none: all that the bot is in
	AllowExternal bool

	Listen    string
	PublicURL string // where Graph reaches Listen; "": no change notifications
	Insecure  bool   // no tokens at all; on a loopback address only

	Listener net.Listener // for tests, instead of Listen
	Sweep    time.Duration
	HTTP     *http.Client
	Now      func() time.Time
	Sleep    func(context.Context, time.Duration) error
	Chance   func() float64
}

// Client reads, and receives, as one bot.
type Client struct {
	o       Options
	chats   map[string]bool // nil: all
	graph   *service
	service *service
	bot     *keys // the keys that sign activities
	notices *keys // the keys that sign change notifications

	outside cache.Map[bool]   // whether a person is a guest, by chat and id
	ids     cache.Map[string] // "29:…" to the directory id

	mu    sync.Mutex
	rooms map[string]room
}

// room is the cached information about a chat.
type room struct {
	Name  string `json:"name,omitempty"`
	Group string `json:"group,omitempty"` // id of the team, for a channel
}

// FromConfig returns the options of the configuration.
func FromConfig(cfg *config.Config) (Options, error) {
	t := cfg.Chat.Teams
	o := Options{
		AppID: t.AppID, Tenant: t.Tenant, ServiceURL: t.ServiceURL, GraphURL: t.GraphURL,
		LoginURL: t.LoginURL, OpenIDURL: t.OpenIDURL,
		Groups: t.Groups, Chats: cfg.Chats(config.PlatformTeams), AllowExternal: cfg.Chat.AllowExternal,
		Listen: t.Listen, PublicURL: t.PublicURL, Insecure: t.Insecure,
	}
	if t.Insecure && t.Tenant == "" {
		return o, nil // the playground has no secret
	}
	var err error
	o.Secret, err = cfg.Secret(t.SecretEnv, t.SecretFile)
	return o, err
}

// New returns a client. It makes no network calls.
func New(o Options) (*Client, error) {
	o.ServiceURL, o.GraphURL = cmp.Or(o.ServiceURL, ServiceURL), cmp.Or(o.GraphURL, GraphURL)
	o.LoginURL, o.OpenIDURL = cmp.Or(o.LoginURL, LoginURL), cmp.Or(o.OpenIDURL, OpenIDURL)
	o.Sweep = cmp.Or(o.Sweep, 5*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.check(); err != nil {
		return nil, sysexit.Errorf(sysexit.Config, "chat.teams: %w", err)
	}
	c := &Client{o: o, rooms: map[string]room{}, outside: cache.Map[bool]{Life: personLife, Now: o.Now}}
	if len(o.Chats) > 0 {
		c.chats = map[string]bool{}
		for _, id := range o.Chats {
			c.chats[id] = true
		}
	}
	login, err := c.web(o.LoginURL, nil)
	if err != nil {
		return nil, err
	}
	if c.graph, err = c.newService(login, o.GraphURL, origin(o.GraphURL)+"/.default"); err != nil {
		return nil, err
	}
	if c.service, err = c.newService(login, o.ServiceURL,
		"https://api.botframework.com/.default"); err != nil {
		return nil, err
	}
	if c.bot, err = c.newKeys(o.OpenIDURL); err != nil {
		return nil, err
	}
	c.notices, err = c.newKeys(strings.TrimRight(o.LoginURL, "/") + "/" + url.PathEscape(o.Tenant) +
		"/v2.0/.well-known/openid-configuration")
	return c, err
}

func (c *Client) web(base string, sign func(*http.Request)) (*httpapi.Client, error) {
	return httpapi.New(httpapi.Options{Base: base, Sign: sign, HTTP: c.o.HTTP, Now: c.o.Now, Sleep: c.o.Sleep,
		Chance: c.o.Chance})
}

// word matches an id of Microsoft's: not empty, and without characters that are special in a URL
// path.
var word = lazyregexp.New(`^[A-Za-z0-9-]{1,64}$`)

func (o *Options) check() error {
	switch {
	case !word.MatchString(o.AppID):
		return fmt.Errorf("app_id %q: want the bot's application id", o.AppID)
	case o.Insecure && o.Tenant == "" && o.Secret == "":
	case !word.MatchString(o.Tenant):
		return fmt.Errorf("tenant %q: want the directory's id", o.Tenant)
	case httpapi.Word("secret", o.Secret) != nil:
		return httpapi.Word("secret", o.Secret)
	}
	for _, id := range o.Groups {
		if !word.MatchString(id) {
			return fmt.Errorf("groups: %q: want the id of a team", id)
		}
	}
	if o.Insecure && o.Listener == nil && o.Listen != "" {
		host, _, err := net.SplitHostPort(o.Listen)
		if err != nil || !config.IsLoopback(host) {
			return fmt.Errorf("insecure: only with listen: on 127.0.0.1, not %q", o.Listen)
		}
	}
	if o.PublicURL != "" && !strings.HasPrefix(o.PublicURL, "https://") &&
		!strings.HasPrefix(o.PublicURL, "http://127.0.0.1:") {
		return fmt.Errorf("public_url %q: want https://", o.PublicURL)
	}
	return nil
}

func (c *Client) AppID() string { return c.o.AppID }

// botID returns the bot's id in senders and mentions.
func (c *Client) botID() string { return "28:" + c.o.AppID }

// remote reports whether there is a service to read from; the playground has none.
func (c *Client) remote() bool { return c.o.Secret != "" }

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// service is one of Microsoft's services, and the token for it.
type service struct {
	api, login *httpapi.Client
	base       string
	form       url.Values
	path       string // of the token request
	now        func() time.Time

	mu      sync.Mutex
	token   string
	expires time.Time
}

func (c *Client) newService(login *httpapi.Client, base, scope string) (*service, error) {
	s := &service{login: login, base: strings.TrimRight(base, "/"), now: c.o.Now,
		path: url.PathEscape(c.o.Tenant) + "/oauth2/v2.0/token"}
	if c.remote() {
		s.form = url.Values{"grant_type": {"client_credentials"}, "client_id": {c.o.AppID},
			"client_secret": {c.o.Secret}, "scope": {scope}}
	}
	var err error
	s.api, err = c.web(base, func(r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.token != "" {
			r.Header.Set("Authorization", "Bearer "+s.token)
		}
	})
	return s, err
}

// signIn requests a token if there is none or it expires soon.
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
func (s *service) signIn(ctx context.Context) error {
	s.mu.Lock()
	good := s.form == nil || s.token != "" && s.now().Before(s.expires)
	s.mu.Unlock()
	if good {
		return nil
	}
	var got struct {
		Token   string `json:"access_token"`
		Seconds int    `json:"expires_in"`
	}
	err := s.login.Read(ctx, httpapi.Request{Method: http.MethodPost, Path: s.path, Form: s.form}, &got)
	switch status := httpapi.StatusOf(err); {
	case status == http.StatusBadRequest || status == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.Errorf(sysexit.NoPerm, "token: %w", err),
			"the app's secret is wrong or has expired: make a new one under Certificates & secrets")
	case err != nil:
		return fmt.Errorf("token: %w", err)
	case httpapi.Word("token", got.Token) != nil:
		return errors.New("token: the answer has none")
	}
	s.mu.Lock()
	s.token, s.expires = got.Token,
		s.now().Add(time.Duration(min(max(got.Seconds-300, 30), 86400))*time.Second)
	s.mu.Unlock()
	return nil
}

func (s *service) forget() {
	s.mu.Lock()
	s.token = ""
	s.mu.Unlock()
}

// read makes a request that changes nothing. If the token is rejected, it is renewed once.
func (s *service) read(ctx context.Context, path string, q url.Values, out any) error {
	return s.do(ctx, httpapi.Request{Method: http.MethodGet, Path: path, Query: q}, out, s.api.Read)
}

func (s *service) do(ctx context.Context, r httpapi.Request, out any,
	send func(context.Context, httpapi.Request, any) error) error {
	for again := true; ; again = false {
		if err := s.signIn(ctx); err != nil {
			return err
		}
		err := send(ctx, r, out)
		if httpapi.StatusOf(err) != http.StatusUnauthorized || s.form == nil {
			return err
		}
		if s.forget(); !again {
			return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
				"the token is not accepted: is the app the bot's, and of this tenant?")
		}
	}
}

// place joins strings from outside to a URL path.
func place(words ...string) string {
	for i, w := range words {
		words[i] = url.PathEscape(w)
	}
	return strings.Join(words, "/")
}

// next returns the path and query of a page's @odata.nextLink, which must point to the service
// itself: the token is sent nowhere else.
func (s *service) next(link string) (path string, q url.Values, err error) {
	rest, ok := strings.CutPrefix(link, s.base+"/")
	if !ok {
		return "", nil, fmt.Errorf("the next page is elsewhere: %q", link)
	}
	path, query, _ := strings.Cut(rest, "?")
	q, err = url.ParseQuery(query)
	return path, q, err
}

// Package teams reads and posts on Microsoft Teams: a bot of the Bot Framework, and
// Microsoft Graph for missed messages. Activities and, where they are asked for, Graph's
// change notifications come to one address of ours; the same message has the same
// identity on each way.
package teams

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

const platform = config.PlatformTeams

// Where Microsoft is, for the public cloud.
const (
	ServiceURL = "https://smba.trafficmanager.net/teams/" // of every region
	GraphURL   = "https://graph.microsoft.com/v1.0"
	LoginURL   = "https://login.microsoftonline.com"
	OpenIDURL  = "https://login.botframework.com/v1/.well-known/openidconfiguration"
)

// Options say which bot.
type Options struct {
	AppID, Tenant, Secret string

	// ServiceURL is where the bot posts. Each activity names one too; that of the
	// configuration holds for all regions, and the token goes nowhere else.
	ServiceURL string
	GraphURL   string
	LoginURL   string
	OpenIDURL  string // the keys of those who send activities

	Groups        []string // ids of the teams whose channels are read through Graph
	Chats         []string // watched; none: all that the bot is in
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

// Client is a bot that listens and reads.
type Client struct {
	o       Options
	chats   map[string]bool // nil: all
	graph   *service
	service *service
	bot     *keys // who may send activities
	notices *keys // who may send change notifications

	mu     sync.Mutex
	rooms  map[string]room
	people map[string]person // chat and id
	ids    map[string]string // "29:…" to the directory's id
}

// room is what is known of a chat.
type room struct {
	Name  string `json:"name,omitempty"`
	Group string `json:"group,omitempty"` // of the team, for a channel
}

// FromConfig are the options of the configuration.
func FromConfig(cfg *config.Config) (Options, error) {
	t := cfg.Chat.Teams
	o := Options{
		AppID: t.AppID, Tenant: t.Tenant, ServiceURL: t.ServiceURL, GraphURL: t.GraphURL, LoginURL: t.LoginURL, OpenIDURL: t.OpenIDURL,
		Groups: t.Groups, Chats: cfg.Chats(config.PlatformTeams), AllowExternal: cfg.Chat.AllowExternal,
		Listen: t.Listen, PublicURL: t.PublicURL, Insecure: t.Insecure,
	}
	if t.Insecure && t.Tenant == "" {
		return o, nil // the playground gives no secret
	}
	var err error
	o.Secret, err = cfg.Secret(t.SecretEnv, t.SecretFile)
	return o, err
}

// New returns a client. It does not reach out.
func New(o Options) (*Client, error) {
	for field, value := range map[*string]string{&o.ServiceURL: ServiceURL, &o.GraphURL: GraphURL, &o.LoginURL: LoginURL, &o.OpenIDURL: OpenIDURL} {
		if *field == "" {
			*field = value
		}
	}
	if o.Sweep <= 0 {
		o.Sweep = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.check(); err != nil {
		return nil, sysexit.With(sysexit.Config, fmt.Errorf("chat.teams: %w", err))
	}
	c := &Client{o: o, rooms: map[string]room{}, people: map[string]person{}, ids: map[string]string{}}
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
	if c.service, err = c.newService(login, o.ServiceURL, "https://api.botframework.com/.default"); err != nil {
		return nil, err
	}
	if c.bot, err = c.newKeys(o.OpenIDURL); err != nil {
		return nil, err
	}
	c.notices, err = c.newKeys(strings.TrimRight(o.LoginURL, "/") + "/" + url.PathEscape(o.Tenant) + "/v2.0/.well-known/openid-configuration")
	return c, err
}

func (c *Client) web(base string, sign func(*http.Request)) (*httpapi.Client, error) {
	return httpapi.New(httpapi.Options{Base: base, Sign: sign, HTTP: c.o.HTTP, Now: c.o.Now, Sleep: c.o.Sleep, Chance: c.o.Chance})
}

// word is an id of Microsoft's: never empty, nothing in it that means something
// in a path.
var word = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

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
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("insecure: only with listen: on 127.0.0.1, not %q", o.Listen)
		}
	}
	if o.PublicURL != "" && !strings.HasPrefix(o.PublicURL, "https://") && !strings.HasPrefix(o.PublicURL, "http://127.0.0.1:") {
		return fmt.Errorf("public_url %q: want https://", o.PublicURL)
	}
	return nil
}

// AppID implements chat.App.
func (c *Client) AppID() string { return c.o.AppID }

// botID is the bot as it stands in senders and mentions.
func (c *Client) botID() string { return "28:" + c.o.AppID }

// remote reports whether there is anything to read from: not in the playground.
func (c *Client) remote() bool { return c.o.Secret != "" }

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// service is one of Microsoft's, and our token for it.
type service struct {
	api, login *httpapi.Client
	base       string
	form       url.Values
	path       string // of the token
	now        func() time.Time

	mu      sync.Mutex
	token   string
	expires time.Time
}

func (c *Client) newService(login *httpapi.Client, base, scope string) (*service, error) {
	s := &service{login: login, base: strings.TrimRight(base, "/"), now: c.o.Now, path: url.PathEscape(c.o.Tenant) + "/oauth2/v2.0/token"}
	if c.remote() {
		s.form = url.Values{"grant_type": {"client_credentials"}, "client_id": {c.o.AppID}, "client_secret": {c.o.Secret}, "scope": {scope}}
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

// enter gets a token where there is none, or soon will not be.
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
func (s *service) enter(ctx context.Context) error {
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
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("token: %w", err)), "the app's secret is wrong or has expired: make a new one under Certificates & secrets")
	case err != nil:
		return fmt.Errorf("token: %w", err)
	case httpapi.Word("token", got.Token) != nil:
		return errors.New("token: the answer has none")
	}
	s.mu.Lock()
	s.token, s.expires = got.Token, s.now().Add(time.Duration(min(max(got.Seconds-300, 30), 86400))*time.Second)
	s.mu.Unlock()
	return nil
}

func (s *service) forget() {
	s.mu.Lock()
	s.token = ""
	s.mu.Unlock()
}

// read is a request that changes nothing. A token that is refused is asked for
// once more.
func (s *service) read(ctx context.Context, path string, q url.Values, out any) error {
	return s.do(ctx, httpapi.Request{Method: http.MethodGet, Path: path, Query: q}, out, s.api.Read)
}

func (s *service) do(ctx context.Context, r httpapi.Request, out any, send func(context.Context, httpapi.Request, any) error) error {
	for again := true; ; again = false {
		if err := s.enter(ctx); err != nil {
			return err
		}
		err := send(ctx, r, out)
		if httpapi.StatusOf(err) != http.StatusUnauthorized || s.form == nil {
			return err
		}
		if s.forget(); !again {
			return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), "the token is not accepted: is the app the bot's, and of this tenant?")
		}
	}
}

// place makes a path of words that come from outside.
func place(words ...string) string {
	for i, w := range words {
		words[i] = url.PathEscape(w)
	}
	return strings.Join(words, "/")
}

// next is the path and query of a page's @odata.nextLink, which must stay with
// the service: our token goes nowhere else.
func (s *service) next(link string) (path string, q url.Values, err error) {
	rest, ok := strings.CutPrefix(link, s.base+"/")
	if !ok {
		return "", nil, fmt.Errorf("the next page is elsewhere: %q", link)
	}
	path, query, _ := strings.Cut(rest, "?")
	q, err = url.ParseQuery(query)
	return path, q, err
}

// self is the bot as a sender.
func (c *Client) self() event.Sender { return event.Sender{ID: c.botID(), Type: "bot"} }

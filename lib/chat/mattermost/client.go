// Package mattermost reads and posts as a bot account on a Mattermost server. It speaks
// the server's REST and WebSocket API, version 4, itself; it was checked against the
// source of server 9.9 and against a running one (scripts/peers).
package mattermost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

var (
	_ chat.Source = (*Client)(nil)
	_ chat.Sink   = (*Sink)(nil)
)

// Options say which server, as whom, and what of it.
type Options struct {
	URL   string   // https://chat.example.com, with the server's path if it has one
	Token string   // access token of the bot account
	Chats []string // channel ids to watch; none: all channels that the bot is a member of
	// AllowExternal lets in what guests and people of other servers say.
	AllowExternal bool
	// Listen is where outgoing webhooks come to, with HookToken; "": nowhere.
	Listen, HookToken string

	HTTP *http.Client     // default http.DefaultClient; its redirects are not followed
	Now  func() time.Time // default time.Now
	// Sleep waits for d or until ctx ends. Default: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Pulse is how often the server is asked for a sign of life. Default 30 s.
	Pulse time.Duration
	// Chance is in [0, 1) and spreads the reconnects of many clients. Default: random.
	Chance func() float64
}

// Client is one bot account on one server.
type Client struct {
	base   *url.URL
	token  string
	chats  map[string]bool // nil: all
	http   *http.Client
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	chance func() float64
	pulse  time.Duration

	external          bool
	listen, hookToken string

	mu     sync.Mutex
	self   *user         // the bot, once it is known
	ahead  time.Duration // how far the server's clock is before ours
	people people
	rooms  map[string]room
}

// Times and sizes of one request.
const (
	requestTime = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes of one answer
	maxRetry    = 10       // times that a read is repeated when the server is busy
)

// New returns the client of a server. It does not reach out.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, sysexit.With(sysexit.Config, fmt.Errorf("mattermost url %q: want https://host[/path]", o.URL))
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, sysexit.With(sysexit.Config, errors.New("mattermost token: empty, or not one word"))
	}
	c := &Client{
		base: base, token: o.Token, now: o.Now, sleep: o.Sleep, chance: o.Chance, pulse: cmp.Or(o.Pulse, 30*time.Second),
		external: o.AllowExternal, listen: o.Listen, hookToken: o.HookToken,
		people: people{byID: map[string]user{}, byName: map[string]string{}}, rooms: map[string]room{},
	}
	if o.Listen != "" && len(o.HookToken) < 16 {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, errors.New("mattermost: listen without the webhook's token")), "put it into $MATTERMOST_WEBHOOK_TOKEN: the server shows it when the webhook is made")
	}
	for _, id := range o.Chats {
		if !validID(id) {
			return nil, sysexit.With(sysexit.Config, fmt.Errorf("mattermost chat %q: a channel id has 26 letters and digits", id))
		}
		if c.chats == nil {
			c.chats = map[string]bool{}
		}
		c.chats[id] = true
	}
	plain := http.Client{}
	if o.HTTP != nil {
		plain = *o.HTTP
	}
	// A redirected POST would become a GET that succeeds and posts nothing.
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &plain
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	if c.chance == nil {
		c.chance = rand.Float64
	}
	return c, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// validID reports whether id can be one of the server's (model.IsValidId): 26
// letters and digits. Nothing else is put into a path.
func validID(id string) bool {
	return len(id) == 26 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// apiError is an answer other than success.
type apiError struct {
	status int
	id     string // the server's name of the error
	text   string
	after  time.Duration // of a 429
}

func (e *apiError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("status %d %s", e.status, http.StatusText(e.status))
	}
	return fmt.Sprintf("status %d: %q", e.status, e.text)
}

func statusOf(err error) int {
	if e := (*apiError)(nil); errors.As(err, &e) {
		return e.status
	}
	return 0
}

// get reads path into out, waiting as long as the server says when it is asked
// too often.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.patiently(ctx, http.MethodGet, path, query, nil, out)
}

// ask is a POST that changes nothing.
func (c *Client) ask(ctx context.Context, path string, in, out any) error {
	return c.patiently(ctx, http.MethodPost, path, nil, in, out)
}

func (c *Client) patiently(ctx context.Context, method, path string, query url.Values, in, out any) error {
	for try := 1; ; try++ {
		err := c.once(ctx, method, path, query, in, out)
		limited := (*apiError)(nil)
		if !errors.As(err, &limited) || limited.status != http.StatusTooManyRequests || try == maxRetry {
			return err
		}
		if err := c.sleep(ctx, limited.after+time.Duration(c.chance()*float64(time.Second))); err != nil {
			return err
		}
	}
}

// once sends one request and reads the answer into out.
func (c *Client) once(ctx context.Context, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	body := io.Reader(http.NoBody)
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	u := c.base.JoinPath("api/v4", path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tri")
	resp, err := c.http.Do(req)
	if err != nil {
		return err // names method and address
	}
	defer resp.Body.Close()
	c.seeClock(resp.Header.Get("Date"))
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("%s %s: %w", method, path, refusal(resp, b))
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s %s: answer: %w", method, path, err)
	}
	return nil
}

func refusal(resp *http.Response, body []byte) error {
	e := &apiError{status: resp.StatusCode, after: retryAfter(resp.Header)}
	var said struct{ ID, Message string }
	if json.Unmarshal(body, &said) == nil {
		e.id, e.text = said.ID, said.Message
	}
	if to := resp.Header.Get("Location"); to != "" {
		return sysexit.Hint(e, fmt.Sprintf("the server sends us to %q: write that address in the configuration", to))
	}
	return e
}

// retryAfter reads how long a busy server wants to be left alone, between one
// second and five minutes.
func retryAfter(h http.Header) time.Duration {
	d := time.Second
	for _, name := range []string{"Retry-After", "X-Ratelimit-Reset"} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil {
			d = time.Duration(min(n, 300)) * time.Second
			break
		}
	}
	return max(d, time.Second)
}

// seeClock learns the server's clock from the Date of an answer: times of posts
// are the server's, and a time of ours among them could hide missed posts.
func (c *Client) seeClock(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.ahead = at.Sub(c.now())
	c.mu.Unlock()
}

// serverNow is the server's time, within about a second.
func (c *Client) serverNow() time.Time { return c.toServer(c.now()) }

// toServer is what the server's clock showed when ours showed at.
func (c *Client) toServer(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return at.Add(c.ahead)
}

// me is the bot's own account.
func (c *Client) me(ctx context.Context) (user, error) {
	c.mu.Lock()
	self := c.self
	c.mu.Unlock()
	if self != nil {
		return *self, nil
	}
	self = new(user)
	if err := c.get(ctx, "users/me", nil, self); err != nil {
		return user{}, c.explain(err)
	}
	if !validID(self.ID) || self.Username == "" {
		return user{}, sysexit.With(sysexit.Unavailable, fmt.Errorf("%s: is no Mattermost server", c.base))
	}
	self.Username = strings.ToLower(self.Username)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = self
	c.people.keep(*self)
	return *self, nil
}

// explain gives what can be mended by a person its status and a hint.
func (c *Client) explain(err error) error {
	switch s := statusOf(err); {
	case s == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), "the token is not, or no longer, one of "+c.base.Host)
	case s == http.StatusNotFound || s >= 300 && s < 400:
		return sysexit.With(sysexit.Config, fmt.Errorf("%s is not where the server answers: %w", c.base, err))
	}
	return err
}

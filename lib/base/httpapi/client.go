// Package httpapi sends requests to HTTP APIs: time limits, bounded answers,
// Retry-After, no redirects, and errors that say whether the request was sent.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tri/lib/base/sysexit"
)

// Limits of one request.
const (
	RequestTime = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes of one answer
	maxRetry    = 10       // how often a read is repeated while the server is busy
	maxAfter    = 5 * time.Minute
)

// Options configure a client.
type Options struct {
	Base string                // https://slack.com/api/
	Sign func(r *http.Request) // adds the credential to a request; it never appears in an error
	// Judge inspects an answer of status 2xx, for platforms that report errors in the body. Nil:
	// every 2xx is a success.
	Judge func(h http.Header, body []byte) error

	HTTP   *http.Client     // default http.DefaultClient
	Now    func() time.Time // default time.Now
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64 // in [0, 1): spreads the retries of many clients; default random
}

// Client calls one API as one bot.
type Client struct {
	o    Options
	base *url.URL
	http *http.Client

	mu    sync.Mutex
	date  time.Time // the server's clock at its last answer
	dated time.Time // ours then
}

// New returns a client. It opens no connection.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(o.Base, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, sysexit.Errorf(sysexit.Config, "address %q: want https://host[/path]", o.Base)
	}
	c := &Client{o: o, base: base}
	plain := http.Client{}
	if o.HTTP != nil {
		plain = *o.HTTP
	}
	// A redirected POST would become a GET that succeeds without posting, and the token would be
	// sent to another host.
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &plain
	if c.o.Now == nil {
		c.o.Now = time.Now
	}
	if c.o.Sleep == nil {
		c.o.Sleep = Sleep
	}
	if c.o.Chance == nil {
		c.o.Chance = rand.Float64
	}
	return c, nil
}

// Word returns an error if a token is empty or is not one printable word.
func Word(what, token string) error {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return sysexit.Errorf(sysexit.Config, "%s: empty, or not one word", what)
	}
	return nil
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sleep waits as the client does.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error { return c.o.Sleep(ctx, d) }

// Now returns the client's time.
func (c *Client) Now() time.Time { return c.o.Now() }

// Backoff returns the wait before try (from 1): it doubles from one second to a minute, and half
// of it is random.
func (c *Client) Backoff(try int) time.Duration {
	d := time.Second << min(max(try-1, 0), 6)
	d = min(d, time.Minute)
	return d/2 + time.Duration(c.o.Chance()*float64(d/2))
}

// Wait returns how long to wait before try (from 1) after err: Backoff, or longer if a busy server
// asked for it.
func (c *Client) Wait(try int, err error) time.Duration {
	wait := c.Backoff(try)
	if busy, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, busy.After)
	}
	return wait
}

// Request is one call. Path is appended to the base unchanged: apply url.PathEscape to outside
// text first.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	JSON   any        // the body, encoded as JSON
	Form   url.Values // or as a form
	Time   time.Duration
}

// Error is an answer that reports an error.
type Error struct {
	Status int
	Code   string // the platform's name for the error
	Text   string
	After  time.Duration // how long the server asks to wait
	Body   []byte        // at most 64 KiB
}

func (e *Error) Error() string {
	said := e.Code
	if e.Text != "" && e.Text != e.Code {
		said = strings.TrimSpace(said + " " + e.Text)
	}
	if said == "" {
		return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("status %d: %q", e.Status, said)
}

// StatusOf returns the status of an Error, 0 for other errors.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// IsUnreadable reports whether err means that the caller may not see an object, or that it does not exist.
func IsUnreadable(err error) bool {
	s := StatusOf(err)
	return s == http.StatusForbidden || s == http.StatusNotFound
}

// CodeOf returns the platform's name for an error, "" if there is none.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// NotSent reports whether err means that no byte of the request was sent.
func NotSent(err error) bool {
	dialing := (*net.OpError)(nil)
	return errors.As(err, &dialing) && dialing.Op == "dial"
}

// Read sends a request that changes nothing. If the server is busy (429) it repeats the request
// after the time that the server asks for.
func (c *Client) Read(ctx context.Context, r Request, out any) error {
	for try := 1; ; try++ {
		err := c.Once(ctx, r, out)
		busy, ok := errors.AsType[*Error](err)
		if !ok || busy.Status != http.StatusTooManyRequests || try == maxRetry {
			return err
		}
		if err := c.o.Sleep(ctx, busy.After+time.Duration(c.o.Chance()*float64(time.Second))); err != nil {
			return err
		}
	}
}

// Once sends one request and decodes the answer into out, which may be nil or a *[]byte.
func (c *Client) Once(ctx context.Context, r Request, out any) error {
	limit := RequestTime
	if r.Time > 0 {
		limit = r.Time
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := c.request(ctx, r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.Path, bare(err))
	}
	defer resp.Body.Close()
	c.seeClock(resp.Header.Get("Date"))
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	case len(b) > maxAnswer:
		return fmt.Errorf("%s %s: answer over %d bytes", r.Method, r.Path, maxAnswer)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("%s %s: %w", r.Method, r.Path, refusal(resp, b))
	}
	if c.o.Judge != nil {
		if err := c.o.Judge(resp.Header, b); err != nil {
			return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = b
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s %s: answer: %w", r.Method, r.Path, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	body, kind := io.Reader(http.NoBody), ""
	switch {
	case r.JSON != nil:
		b, err := json.Marshal(r.JSON)
		if err != nil {
			return nil, err
		}
		body, kind = bytes.NewReader(b), "application/json; charset=utf-8"
	case r.Form != nil:
		body, kind = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	}
	u, err := url.Parse(c.base.String() + "/" + strings.TrimPrefix(r.Path, "/"))
	if err != nil {
		return nil, err
	}
	if len(r.Query) > 0 {
		u.RawQuery = r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "tri")
	if c.o.Sign != nil {
		c.o.Sign(req)
	}
	return req, nil
}

// bare removes the URL from a transport error: with some platforms it contains the token.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func refusal(resp *http.Response, body []byte) error {
	e := &Error{Status: resp.StatusCode, After: RetryAfter(resp.Header), Body: body[:min(len(body), 64<<10)]}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return sysexit.Hint(e, "the server redirects: write the final address into the configuration")
	}
	return e
}

// RetryAfter returns how long a busy server asks to wait, from the headers that most platforms
// send, limited to between one second and five minutes.
func RetryAfter(h http.Header) time.Duration {
	for _, name := range []string{"Retry-After", "X-Ratelimit-Reset-After", "X-Ratelimit-Reset",
		"X-Ogw-Ratelimit-Reset"} {
		n, err := strconv.ParseFloat(h.Get(name), 64)
		if at, none := http.ParseTime(h.Get(name)); none == nil {
			now, _ := http.ParseTime(h.Get("Date")) // without one: the longest
			n, err = at.Sub(now).Seconds(), nil
		}
		if err == nil && n >= 0 {
			return time.Duration(min(max(n, 1), maxAfter.Seconds()) * float64(time.Second))
		}
	}
	return time.Second
}

// seeClock learns the server's clock from the Date of an answer.
func (c *Client) seeClock(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.date, c.dated = at, c.o.Now()
	c.mu.Unlock()
}

// Skew returns the server's clock minus ours, within about a second; 0 if no answer has given it yet.
func (c *Client) Skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.date.Sub(c.dated)
}

// ServerTime is what the server's clock showed at a time here, within about a second. A time before
// the last answer that has a monotonic reading is exact or earlier, however our clock was set since.
func (c *Client) ServerTime(at time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return at
	}
	since := at.Round(0).Sub(c.dated.Round(0))
	if exact := at.Sub(c.dated); exact < 0 {
		since = min(since, exact)
	}
	return c.date.Add(since)
}

// Package lark reads and posts as a bot of Lark or Feishu: messages, edits, recalls, clicks,
// reactions; replies in threads. It implements the Open API and the long connection (or webhooks)
// itself, after https://open.larksuite.com/document and, for the frames of the long connection,
// larksuite/oapi-sdk-go.
//
// That SDK (v3.12.0) is not used: it decodes each frame in a goroutine of its own
// (ws/client_message.go:34) and joins the parts of an event without a lock (:141), so that of 2,000
// events in parts 1 to 13 were never delivered; and its ws imports the root package, which compiles
// 143 packages for 79 s.
package lark

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
	"tri/lib/chat/sink"
)

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.App      = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// platform is the name of this platform in events.
const platform = "lark"

// Options identify the app and what it watches.
type Options struct {
	URL        string // default https://open.larksuite.com; Feishu's is https://open.feishu.cn
	ID         string // app id: cli_…
	Secret     string // app secret
	EncryptKey string // for Listen; it also signs calls
	Token      string // verification token, for Listen
	Listen     string // host:port for event calls; "": the long connection
	Chats      []string

	// AllowExternal accepts messages of groups with members of other organizations.
	AllowExternal bool

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	// Pulse is the interval of pings on the connection. Default: the server's, which is two minutes.
	Pulse time.Duration
	// Sweep is the interval at which the history is read for events that do not arrive: the bot's own
	// messages, edits, and lost events. Default 5 min.
	Sweep time.Duration
	// Listener is used instead of Listen.
	Listener net.Listener
}

// Client is the connection of one app.
type Client struct {
	o     Options
	api   *httpapi.Client
	chats map[string]bool

	self   cache.Map[account]
	people cache.Map[string] // names
	rooms  cache.Map[room]
	roots  cache.Map[string] // first message of a topic, by the topic's id

	mu    sync.Mutex
	token string
	until time.Time // when token expires
}

// account is the bot's account.
type account struct{ OpenID, Name string }

// New returns the client of an app. It makes no network calls.
func New(o Options) (*Client, error) {
	if (o.Listen != "" || o.Listener != nil) && (o.EncryptKey == "" || o.Token == "") {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"lark: listen needs the encrypt key and the verification token"),
			"Events & Callbacks > Encryption Strategy; without listen, the long connection needs neither")
	}
	return newClient(o)
}

func newClient(o Options) (*Client, error) {
	o.URL, o.Sweep = cmp.Or(o.URL, "https://open.larksuite.com"), cmp.Or(o.Sweep, 5*time.Minute)
	if !appID.MatchString(o.ID) {
		return nil, sysexit.Errorf(sysexit.Config, "lark: app_id %q: is like cli_a1b2c3d4e5f60708", o.ID)
	}
	if err := httpapi.Word("lark app secret", o.Secret); err != nil {
		return nil, err
	}
	c := &Client{o: o}
	c.people.Life, c.rooms.Life = personTime, roomTime
	c.people.Now, c.rooms.Now = c.now, c.now
	var err error
	if c.chats, err = session.Chats(platform, o.Chats, chatID.MatchString,
		"a chat's id is like oc_a0553eda9014c201e6969b478895c230", ""); err != nil {
		return nil, err
	}
	c.api, err = httpapi.New(httpapi.Options{Base: o.URL, Sign: c.sign, Judge: apiError, HTTP: o.HTTP,
		Now: o.Now, Sleep: o.Sleep, Chance: o.Chance})
	return c, err
}

// The forms of the platform's ids; a string of another form is not accepted as one.
var (
	appID     = lazyregexp.New(`^cli_[a-zA-Z0-9]{1,40}$`)
	chatID    = lazyregexp.New(`^oc_[a-zA-Z0-9_-]{1,64}$`)
	messageID = lazyregexp.New(`^om_[a-zA-Z0-9_-]{1,64}$`)
	topicID   = lazyregexp.New(`^omt_[a-zA-Z0-9_-]{1,64}$`)
	userID    = lazyregexp.New(`^ou_[a-zA-Z0-9_-]{1,64}$`)
)

// AppID implements chat.App: each event is sent to only one of an app's connections, chosen at
// random.
func (c *Client) AppID() string { return platform + " " + c.o.ID }

// apiError finds the error in a response with status 200.
func apiError(h http.Header, body []byte) error {
	if !json.Valid(body) {
		return &httpapi.Error{Status: http.StatusBadGateway, Text: "is not Lark's"}
	}
	r := gjson.ParseBytes(body)
	code := r.Get("code")
	if code.Type != gjson.Number {
		return &httpapi.Error{Status: http.StatusBadGateway, Text: "has no code"}
	}
	if code.Int() == 0 {
		return nil
	}
	return &httpapi.Error{Status: status(code.Int(), 0), Code: code.Raw, Text: str(r, "msg"),
		After: httpapi.RetryAfter(h)}
}

// status maps the platform's error codes to HTTP statuses; said is the status of the response
// (https://open.larksuite.com/document/server-docs/api-call-guide/generic-error-code).
func status(code int64, said int) int {
	switch code {
	case 99991400, 11232, 11233, 11247, 230020:
		return http.StatusTooManyRequests
	case 99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 10003, 10014, 514:
		return http.StatusUnauthorized
	case 99991662, 99991672, 99991679, 403, 230006, 230027, 1000040345:
		return http.StatusForbidden
	case 230002, 230011, 230110, 231003, 232006, 232009, 232011:
		return http.StatusNotFound // not, or no longer, accessible for the bot
	case 1, 2200, 230049, 1000040343, 55001, 90235:
		return http.StatusServiceUnavailable // it may have been done in part
	}
	return max(said, http.StatusBadRequest)
}

// once makes one call with the app's token. An error is recognized by its code, whatever the HTTP
// status. An expired token is renewed once.
func (c *Client) once(ctx context.Context, r httpapi.Request) (gjson.Result, error) {
	for fresh := false; ; fresh = true {
		token, err := c.tenantToken(ctx, fresh)
		if err != nil {
			return gjson.Result{}, err
		}
		got, err := c.send(context.WithValue(ctx, bearer{}, token), r)
		if httpapi.StatusOf(err) != http.StatusUnauthorized || fresh {
			return got.Get("data"), err
		}
	}
}

type bearer struct{}

func (c *Client) sign(r *http.Request) {
	if token, ok := r.Context().Value(bearer{}).(string); ok {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// send makes one call. If the status is not 200, the error code is in the body.
func (c *Client) send(ctx context.Context, r httpapi.Request) (gjson.Result, error) {
	var b []byte
	err := c.api.Once(ctx, r, &b)
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok || e.Code != "" || !json.Valid(e.Body) {
		return gjson.ParseBytes(b), err
	}
	said := gjson.ParseBytes(e.Body)
	code := said.Get("code")
	if code.Type != gjson.Number || code.Int() == 0 {
		return gjson.Result{}, err
	}
	told := &httpapi.Error{Status: status(code.Int(), e.Status), Code: code.Raw, Text: str(said, "msg"),
		After: e.After}
	return gjson.Result{}, fmt.Errorf("%s %s: %w", r.Method, r.Path, told)
}

// earlier is how long before it expires a token is renewed.
const earlier = 3 * time.Minute

// tenantToken returns the app's token, which is valid for at most two hours
// (https://open.larksuite.com/document/server-docs/authentication-management/access-token/tenant_access_token_internal).
func (c *Client) tenantToken(ctx context.Context, fresh bool) (string, error) {
	c.mu.Lock()
	token, until := c.token, c.until
	c.mu.Unlock()
	if token != "" && !fresh && c.api.Now().Before(until) {
		return token, nil
	}
	in := map[string]string{"app_id": c.o.ID, "app_secret": c.o.Secret}
	asked := c.api.Now()
	r, err := c.repeat(ctx, func() (gjson.Result, error) {
		return c.send(ctx, httpapi.Request{Method: http.MethodPost,
			Path: "open-apis/auth/v3/tenant_access_token/internal", JSON: in})
	})
	if err != nil {
		return "", notAsked{c.explain(err)}
	}
	token = str(r, "tenant_access_token")
	if httpapi.Word("lark token", token) != nil {
		return "", notAsked{errors.New("tenant_access_token/internal: no token in the answer")}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.until = token, asked.Add(min(time.Duration(r.Get("expire").Int())*time.Second,
		2*time.Hour)-earlier)
	return token, nil
}

// notAsked marks an error of the token request: the call itself was never made.
type notAsked struct{ error }

func (e notAsked) Unwrap() []error { return []error{e.error, sink.ErrUnsent} }

// maxAgain is how often a read without an answer is repeated.
const maxAgain = 6

// repeat repeats a call that changes nothing, with the delays that the platform asks for.
func (c *Client) repeat(ctx context.Context, ask func() (gjson.Result, error)) (gjson.Result, error) {
	for try := 1; ; try++ {
		r, err := ask()
		status := httpapi.StatusOf(err)
		if err == nil || status != http.StatusTooManyRequests && status < 500 || try == maxAgain ||
			errors.As(err, new(notAsked)) {
			return r, err
		}
		wait := c.api.Backoff(try)
		if e, ok := errors.AsType[*httpapi.Error](err); ok && status == http.StatusTooManyRequests {
			wait = max(wait, e.After)
		}
		if err := c.api.Sleep(ctx, wait); err != nil {
			return r, err
		}
	}
}

// read makes a call that changes nothing.
func (c *Client) read(ctx context.Context, path string, query url.Values) (gjson.Result, error) {
	r, err := c.repeat(ctx, func() (gjson.Result, error) {
		return c.once(ctx, httpapi.Request{Method: http.MethodGet, Path: "open-apis/" + path, Query: query})
	})
	return r, c.explain(err)
}

// pages reads the pages of a list and calls each for every item, until each returns false.
func (c *Client) pages(ctx context.Context, path string, query url.Values,
	each func(gjson.Result) bool) error {
	for {
		r, err := c.read(ctx, path, query)
		if err != nil {
			return err
		}
		for _, item := range r.Get("items").Array() {
			if !each(item) {
				return nil
			}
		}
		next := str(r, "page_token")
		switch {
		case !r.Get("has_more").Bool():
			return nil
		case next == "" || next == query.Get("page_token"):
			return fmt.Errorf("%s: its pages do not advance", path)
		}
		query.Set("page_token", next)
	}
}

// me returns the bot's own account
// (https://open.larksuite.com/document/client-docs/bot-v3/obtain-bot-info).
func (c *Client) me(ctx context.Context) (account, error) {
	return c.self.Ask("", func() (account, error) {
		// Unlike other responses, this one has the field bot instead of data.
		r, err := c.repeat(ctx, func() (gjson.Result, error) {
			token, err := c.tenantToken(ctx, true)
			if err != nil {
				return gjson.Result{}, err
			}
			return c.send(context.WithValue(ctx, bearer{}, token),
				httpapi.Request{Method: http.MethodGet, Path: "open-apis/bot/v3/info"})
		})
		if err != nil {
			return account{}, c.explain(err)
		}
		self := account{OpenID: str(r, "bot.open_id"), Name: str(r, "bot.app_name")}
		if !userID.MatchString(self.OpenID) {
			return account{}, sysexit.Hint(sysexit.Errorf(sysexit.Config, "bot/v3/info: the app has no bot"),
				"Add Features > Bot, and publish a version")
		}
		return self, nil
	})
}

func (c *Client) now() time.Time { return c.api.Now() }

// forgetMe drops the cached account, so that the secret is tried again.
func (c *Client) forgetMe() {
	c.self.Forget("")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = ""
}

// explain adds a status and a hint to an error that a person can resolve.
func (c *Client) explain(err error) error {
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok || len(sysexit.Hints(err)) > 0 {
		return err
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"app_id and the app secret do not belong together, or not to "+c.o.URL+
				" (Feishu is api_url: https://open.feishu.cn)")
	case e.Code == "99991672" || e.Code == "230027":
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"add the scope (tri init lark has all), and publish a new version of the app")
	case e.Status == http.StatusForbidden:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"switch the bot on (Add Features > Bot), publish a version, and have it approved")
	case e.Status >= 300 && e.Status < 400:
		return sysexit.With(sysexit.Config, err)
	}
	return err
}

func str(r gjson.Result, path string) string {
	if v := r.Get(path); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func list(r gjson.Result, path string) []gjson.Result {
	if v := r.Get(path); v.IsArray() {
		return v.Array()
	}
	return nil
}

// millis parses a time in milliseconds since 1970, or in seconds or microseconds, by the number of
// digits; it is zero if s is no time.
func millis(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n <= 0 || len(s) > 16:
		return time.Time{}
	case len(s) == 16:
		return time.UnixMicro(n).UTC()
	case len(s) <= 10:
		return time.Unix(n, 0).UTC()
	}
	return time.UnixMilli(n).UTC()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

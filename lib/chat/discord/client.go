// Package discord reads and posts as a Discord bot, by the gateway and REST.
//
// It implements the gateway itself (version 10, JSON) over coder/websocket. Discordgo counts an
// event as received before its handlers have run (v0.29.0, wsapi.go:653). Disgo leaves that to its
// caller, but decodes each event into its own types and closes the connection if one does not fit:
// after a channel of an unknown type (v0.19.6, discord/channel.go:225) each new connection ends at
// its GUILD_CREATE (gateway/gateway.go:604), and no chat is received any more.
//
// A session is resumed from the last durable event, also after a restart of the program. If Discord
// no longer has the session, the history of each watched chat and of its threads is read.
//
// A watcher posts nothing. It makes one request that is not a read: a click on a button that
// arrives over the gateway must be answered within three seconds, or Discord shows the user a
// failure. The answer is type 6, deferred update, which posts no message and changes none.
//
// The source of all facts is https://discord.com/developers/docs, API version 10.
package discord

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
)

// platform is the name of this platform in events.
const platform = "discord"

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// Options identify the bot and what it watches.
type Options struct {
	URL   string   // default https://discord.com/api/v10
	Token string   // the bot's, without "Bot "
	Chats []string // channel ids to watch; none: all channels of all servers that the bot is in
	// AllowExternal accepts messages of guests and announcements followed from other servers.
	AllowExternal bool
	// Listen is the address to which Discord sends clicks, signed for PublicKey (hexadecimal); "":
	// clicks arrive over the gateway.
	Listen, PublicKey string

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64 // returns a number in [0, 1): the jitter of reconnects and heartbeats
}

// Client is the connection of one bot.
type Client struct {
	api      *httpapi.Client
	token    string
	chats    map[string]bool // nil: all
	external bool
	bare     bool // the API is used without TLS, so the gateway may be too
	listen   string
	key      ed25519.PublicKey
	http     *http.Client
	chance   func() float64

	self   cache.Map[user]
	places cache.Map[place]
	roles  cache.Map[map[string]role] // by guild and id

	mu    sync.Mutex
	pause time.Duration // wait before the next read
}

// New returns the client of a bot. It makes no network calls.
func New(o Options) (*Client, error) {
	token := strings.TrimPrefix(o.Token, "Bot ")
	if err := httpapi.Word("discord token", token); err != nil {
		return nil, err
	}
	c := &Client{token: token, external: o.AllowExternal, listen: o.Listen, http: o.HTTP, chance: o.Chance}
	var err error
	if c.chats, err = session.Chats(platform, o.Chats, validID, "an id is a number",
		"switch on Settings > Advanced > Developer Mode; then right-click a channel: Copy Channel ID"); err != nil {
		return nil, err
	}
	if o.Listen != "" {
		key, err := hex.DecodeString(o.PublicKey)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config,
				"discord public_key: want 64 hexadecimal digits, since listen is set"),
				"see Developer Portal: General Information, Public Key")
		}
		c.key = key
	}
	c.http, o.URL = cmp.Or(c.http, http.DefaultClient), cmp.Or(o.URL, "https://discord.com/api/v10")
	if c.chance == nil {
		c.chance = rand.Float64
	}
	c.bare = strings.HasPrefix(o.URL, "http://")
	c.api, err = httpapi.New(httpapi.Options{Base: o.URL, HTTP: o.HTTP, Now: o.Now, Sleep: o.Sleep,
		Chance: o.Chance,
		Sign:   func(r *http.Request) { r.Header.Set("Authorization", "Bot "+token) },
		Judge:  c.noteLimits,
	})
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Config, "discord api_url: %w", err)
	}
	return c, nil
}

// validID reports whether id is a snowflake and so safe in a URL path.
func validID(id string) bool {
	_, err := strconv.ParseInt(id, 10, 64) // Discord refuses a larger one
	return err == nil && id[0] >= '0' && id[0] <= '9'
}

// epoch is the first millisecond of Discord's ids, in Unix time.
const epoch = 1420070400000

// number returns a snowflake, or a set of permissions, as a number; 0 if id is none.
func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// createdAt returns when the object with this id was created.
func createdAt(id string) time.Time { return time.UnixMilli(int64(number(id)>>22) + epoch).UTC() }

// after returns the largest id of an object created before at.
func after(at time.Time) uint64 {
	ms := at.UnixMilli() - epoch
	if ms <= 0 {
		return 0
	}
	return uint64(ms)<<22 - 1
}

// noteLimits notes when the next request would exceed the rate limit, so that it is delayed:
// rejected requests count against the bot, and too many of them ban its address
// (topics/rate-limits).
func (c *Client) noteLimits(h http.Header, _ []byte) error {
	if h.Get("X-RateLimit-Remaining") != "0" {
		return nil
	}
	s, err := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	if err != nil || s < 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause = time.Duration(min(s, 60) * float64(time.Second))
	return nil
}

// get reads path into out, within Discord's rate limits.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	c.mu.Lock()
	pause := c.pause
	c.pause = 0
	c.mu.Unlock()
	if pause > 0 {
		if err := c.api.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return c.explain(c.api.Read(ctx, httpapi.Request{Method: http.MethodGet, Path: path, Query: query}, out))
}

// once sends a request without retries.
func (c *Client) once(ctx context.Context, method, path string, in, out any) error {
	return c.explain(c.api.Once(ctx, httpapi.Request{Method: method, Path: path, JSON: in}, out))
}

// explain adds Discord's own message to an error, and a status and a hint where a person can
// resolve it.
func (c *Client) explain(err error) error {
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return err
	}
	var said struct {
		Code    int64   `json:"code"`
		Message string  `json:"message"`
		After   float64 `json:"retry_after"`
	}
	if json.Unmarshal(e.Body, &said) == nil {
		e.Text = said.Message
		if said.Code != 0 {
			e.Code = strconv.FormatInt(said.Code, 10)
		}
		if e.Status == http.StatusTooManyRequests {
			e.After = max(e.After, time.Duration(min(said.After, 300)*float64(time.Second)))
		}
	}
	if e.Status == http.StatusUnauthorized {
		return refusedToken(err)
	}
	return err
}

func refusedToken(err error) error {
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
		"the token is not, or no longer, the bot's: Developer Portal > Bot > Reset Token")
}

// me returns the bot's own account.
func (c *Client) me(ctx context.Context) (user, error) {
	return c.self.Ask("", func() (u user, err error) {
		if err := c.get(ctx, "users/@me", nil, &u); err != nil {
			return user{}, err
		}
		if !validID(u.ID) {
			return user{}, sysexit.Errorf(sysexit.Config,
				"identify the bot: the answer is not Discord's; is api_url right?")
		}
		return u, nil
	})
}

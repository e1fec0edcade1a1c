// Package matrix reads and posts as an account on a Matrix homeserver. It implements the
// client-server API, version 1.11 (https://spec.matrix.org/v1.11/client-server-api), itself.
//
// Encrypted rooms are not read: a bot that holds their keys would be one more place to steal them
// from.
package matrix

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
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

// platform is the name of this platform in events.
const platform = "matrix"

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.App      = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// Options identify the account and what it watches.
type Options struct {
	URL           string
	Token         string
	Chats         []string // room ids to watch; none: all rooms of the account but those of two people
	AllowExternal bool     // accept messages of accounts of other homeservers

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	Wait   time.Duration // long-polling timeout of a sync; default 30 s
}

// Client is the connection of one account.
type Client struct {
	api      *httpapi.Client
	url      string
	chats    map[string]bool // nil: all
	external bool
	wait     time.Duration

	self    cache.Map[string] // the account's user id
	rooms   cache.Map[room]
	people  cache.Map[string] // display names by user id
	threads cache.Map[memo]   // of recent messages, by event id
}

// memo contains what is needed of a message for an edit, a deletion or a reaction.
type memo struct {
	sender, thread string
	at             int64  // Unix ms
	target         string // of a reaction: the message
	key            string // of a reaction: the emoji
}

// room is the cached information about a room.
type room struct {
	name    string
	private bool // a room of two people
}

// New returns the client of an account. It makes no network calls.
func New(o Options) (*Client, error) {
	if err := httpapi.Word("matrix token", o.Token); err != nil {
		return nil, err
	}
	c := &Client{url: strings.TrimRight(o.URL, "/"), external: o.AllowExternal,
		wait: cmp.Or(o.Wait, 30*time.Second)}
	var err error
	if c.chats, err = session.Chats(platform, o.Chats, func(id string) bool {
		return strings.HasPrefix(id, "!") && len(id) <= 255
	}, "a room id begins with '!' and has its server behind a colon",
		"an alias (#dev:…) is not an id: the room's settings show the id"); err != nil {
		return nil, err
	}
	c.api, err = httpapi.New(httpapi.Options{
		Base: c.url + "/_matrix/client", HTTP: o.HTTP, Now: o.Now, Sleep: o.Sleep, Chance: o.Chance,
		Sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+o.Token) },
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	return c, nil
}

// AppID implements chat.App: two syncs of one device would advance each other's position.
func (c *Client) AppID() string { return platform + " " + c.url + " " + c.selfKnown() }

func (c *Client) selfKnown() string {
	self, _ := c.self.Get("")
	return self
}

// path returns an API path with its parts escaped.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("v3")
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}

// get makes a read request, within the server's rate limits.
func (c *Client) get(ctx context.Context, path string, q url.Values, out any, wait time.Duration) error {
	for try := 1; ; try++ {
		err := explain(c.api.Once(ctx, httpapi.Request{Method: http.MethodGet, Path: path, Query: q,
			Time: httpapi.RequestTime + wait}, out))
		busy, ok := errors.AsType[*httpapi.Error](err)
		if !ok || busy.Status != http.StatusTooManyRequests || try == 10 {
			return err
		}
		if err := c.api.Sleep(ctx, busy.After); err != nil {
			return err
		}
	}
}

// explain adds the server's standard error to an error
// (https://spec.matrix.org/v1.11/client-server-api/#standard-error-response).
func explain(err error) error {
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return err
	}
	var said struct {
		Code  string  `json:"errcode"`
		Error string  `json:"error"`
		After float64 `json:"retry_after_ms"`
	}
	if json.Unmarshal(e.Body, &said) == nil {
		e.Code, e.Text = said.Code, said.Error
		if said.After > 0 {
			e.After = time.Duration(max(1000, min(said.After, 3.6e6))) * time.Millisecond
		}
	}
	switch {
	case e.Code == "M_UNKNOWN_TOKEN" || e.Code == "M_MISSING_TOKEN" || e.Status == http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the access token is not, or no longer, accepted: log the account in again")
	case e.Code == "" && (e.Status == http.StatusNotFound || e.Status >= 300 && e.Status < 400):
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"chat.matrix.url is the homeserver's client address: see https://SERVER/.well-known/matrix/client")
	}
	return err
}

// me returns the account's user id.
func (c *Client) me(ctx context.Context) (string, error) {
	return c.self.Ask("", func() (string, error) {
		var who struct {
			UserID string `json:"user_id"`
		}
		if err := c.get(ctx, path("account", "whoami"), nil, &who, 0); err != nil {
			return "", err
		}
		if !strings.HasPrefix(who.UserID, "@") {
			return "", sysexit.Errorf(sysexit.Unavailable, "%s: is not a Matrix homeserver", c.url)
		}
		return who.UserID, nil
	})
}

// serverOf returns the homeserver of a user id.
func serverOf(userID string) string {
	_, server, _ := strings.Cut(userID, ":")
	return server
}

// name returns the display name of an account, or its id if the name is not available.
func (c *Client) name(ctx context.Context, userID string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(userID, "@"), ":")
	name, err := c.people.Ask(userID, func() (string, error) {
		var profile struct {
			Name string `json:"displayname"`
		}
		if err := c.get(ctx, path("profile", userID, "displayname"), nil, &profile, 0); err != nil &&
			httpapi.StatusOf(err) == 0 {
			return "", err
		}
		return cmp.Or(profile.Name, local), nil
	})
	if err != nil {
		return strings.TrimPrefix(userID, "@")
	}
	return name
}

// room looks up a room: its name, and whether it has two members.
func (c *Client) room(ctx context.Context, id string) (room, error) {
	return c.rooms.Ask(id, func() (room, error) {
		var named struct {
			Name string `json:"name"`
		}
		if err := c.get(ctx, path("rooms", id, "state", "m.room.name"), nil, &named, 0); err != nil &&
			!httpapi.IsUnreadable(err) {
			return room{}, err
		}
		var members struct {
			Joined map[string]json.RawMessage `json:"joined"`
		}
		if err := c.get(ctx, path("rooms", id, "joined_members"), nil, &members, 0); err != nil &&
			!httpapi.IsUnreadable(err) {
			return room{}, err
		}
		return room{name: cmp.Or(named.Name, id), private: named.Name == "" && len(members.Joined) <= 2}, nil
	})
}

// eventID matches the ids of events. Any client may name another string as the target of its event.
var eventID = lazyregexp.New(`^\$[!-~]{1,254}$`)

// threadOf returns the memo of an event; if there is none, the server is asked. ok is false if it does not
// give the event.
func (c *Client) threadOf(ctx context.Context, roomID, id string) (m memo, ok bool, err error) {
	if !eventID.MatchString(id) {
		return m, false, nil
	}
	m, err = c.threads.Ask(id, func() (memo, error) {
		var x roomEvent
		err := c.get(ctx, path("rooms", roomID, "event", id), nil, &x, 0)
		return x.memo(), err
	})
	status := httpapi.StatusOf(err)
	if status >= 400 && status < 500 && status != http.StatusUnauthorized &&
		status != http.StatusTooManyRequests {
		return m, false, nil
	}
	return m, err == nil, err
}

// Guide describes how to set up an account.
var Guide = chat.Guide{
	Steps: `1. Register an account for the bot on your homeserver, and log it in once:
   curl -d '{"type":"m.login.password","identifier":{"type":"m.id.user","user":"tri"},
   "password":"…"}' https://SERVER/_matrix/client/v3/login
   The answer's access_token goes into $MATRIX_TOKEN, or a file of mode 0600.
2. Invite it to each room. Invitations to rooms that watched_chats names are taken.
3. Rooms with encryption are not heard: make the room without.
Accounts of other homeservers are left out unless chat.allow_external is true.
`,
	Config: `  matrix:
    url: https://matrix.example.com
    token_env: MATRIX_TOKEN
`,
}

func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	say := func(f chat.Finding) { findings = append(findings, f) }
	me, err := c.me(ctx)
	if err != nil {
		return self, []chat.Finding{chat.Bad("token",
			sysexit.HintOf(err, "is the homeserver up, and its address right?"),
			"identify the bot at %s: %v", c.url, err)}
	}
	self = event.Sender{ID: me, Type: "bot", Name: c.name(ctx, me)}
	say(chat.Good("token", "%s", me))
	var joined struct {
		Rooms []string `json:"joined_rooms"`
	}
	if err := c.get(ctx, path("joined_rooms"), nil, &joined, 0); err != nil {
		say(chat.Bad("chat", "try again", "list the rooms: %v", err))
		return self, findings
	}
	in := map[string]bool{}
	for _, id := range joined.Rooms {
		in[id] = true
	}
	for id := range c.chats {
		if !in[id] {
			say(chat.Bad("chat", "invite "+me+" to that room; tri-watch takes the invitation",
				"not a member of %s", id))
			continue
		}
		say(c.checkRoom(ctx, id))
	}
	if c.chats == nil {
		say(chat.Finding{Name: "chat", OK: len(in) > 0, Text: fmt.Sprintf("a member of %d rooms", len(in)),
			Fix: map[bool]string{false: "invite " + me +
				" to a room, and name it under watched_chats"}[len(in) > 0]})
	}
	return self, append(findings, chat.Clock("the server's", c.api.Skew())...)
}

func (c *Client) checkRoom(ctx context.Context, id string) chat.Finding {
	err := c.get(ctx, path("rooms", id, "state", "m.room.encryption"), nil, &struct{}{}, 0)
	if err == nil {
		return chat.Bad("chat", "make a room without encryption",
			"%s is encrypted: its messages cannot be read", id)
	}
	r, err := c.room(ctx, id)
	if err != nil {
		return chat.Bad("chat", "try again", "%s: %v", id, err)
	}
	return chat.Good("chat", "member of %s %s", r.name, id)
}

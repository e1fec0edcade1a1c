// Package telegram reads and posts as a bot of Telegram's Bot API. It polls for updates, since the
// request for the next updates confirms the previous ones: it is made only when those are durable.
//
// A bot receives no deletions, none of its own messages and no updates older than 24 hours, and it
// cannot read a message back. The consequences for tri-reply are in its manual page. The source of
// all facts is https://core.telegram.org/bots/api, version 9.
package telegram

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/cache"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

// platform is the name of this platform in events.
const platform = "telegram"

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.App      = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// Options identify the bot and what it watches.
type Options struct {
	URL   string   // default https://api.telegram.org
	Token string   // as BotFather issues it: 123456:ABC…
	Chats []string // chat ids to watch; none: all groups and channels, no private chats

	HTTP   *http.Client
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	Wait   time.Duration // long-polling timeout; default 50 s
}

// Client is the connection of one bot.
type Client struct {
	api   *httpapi.Client
	token string
	chats []string
	wait  time.Duration
	self  cache.Map[user]
}

// New returns the client of a bot. It makes no network calls.
func New(o Options) (*Client, error) {
	id, secret, ok := strings.Cut(o.Token, ":")
	if err := httpapi.Word("telegram token", o.Token); err != nil {
		return nil, err
	}
	if _, err := strconv.ParseUint(id, 10, 63); err != nil || !ok || secret == "" ||
		strings.ContainsAny(secret, "/?#%") {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"telegram token: not of the form 123456:ABC"), "BotFather gives it: /token")
	}
	for _, c := range o.Chats {
		if _, err := strconv.ParseInt(c, 10, 64); err != nil {
			return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config,
				"telegram chat %q: an id is a number, of a group a negative one", c),
				"tri-watch telegram without watched_chats prints the ids of what it hears")
		}
	}
	o.URL, o.Wait = cmp.Or(o.URL, "https://api.telegram.org"), cmp.Or(o.Wait, 50*time.Second)
	api, err := httpapi.New(httpapi.Options{Base: o.URL + "/bot" + o.Token, HTTP: o.HTTP, Now: o.Now,
		Sleep: o.Sleep, Chance: o.Chance})
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Config, "telegram api_url: want https://host[/path]")
	}
	return &Client{api: api, token: o.Token, chats: o.Chats, wait: o.Wait}, nil
}

// AppID implements chat.App: Telegram serves only one poller of a bot at a time.
func (c *Client) AppID() string {
	id, _, _ := strings.Cut(c.token, ":")
	return platform + " " + id
}

// call makes one request and decodes the result into out.
func (c *Client) call(ctx context.Context, method string, in map[string]any, out any,
	wait time.Duration) error {
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	err := c.api.Once(ctx, httpapi.Request{Method: http.MethodPost, Path: method, JSON: in,
		Time: httpapi.RequestTime + wait}, &answer)
	if err != nil {
		return explain(err)
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return fmt.Errorf("%s: answer: %w", method, err)
	}
	return nil
}

// explain adds Telegram's description to an error, and how long to wait
// (https://core.telegram.org/bots/api#making-requests).
func explain(err error) error {
	e, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return err
	}
	var said struct {
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(e.Body, &said) == nil {
		e.Text = said.Description
		if s := said.Parameters.RetryAfter; s > 0 {
			e.After = time.Duration(min(s, 3600) * float64(time.Second))
		}
	}
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusNotFound && e.Text == "Not Found":
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token is not, or no longer, that of a bot: BotFather gives a new one")
	case e.Status == http.StatusConflict && strings.Contains(e.Text, "webhook"):
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"a webhook is set for this bot: call deleteWebhook, or make another bot")
	case e.Status == http.StatusConflict:
		return sysexit.Hint(err, "another program asks for this bot's updates")
	}
	return err
}

// me returns the bot's own account.
func (c *Client) me(ctx context.Context) (user, error) {
	return c.self.Ask("", func() (self user, err error) {
		if err := c.call(ctx, "getMe", nil, &self, 0); err != nil {
			return user{}, err
		}
		if self.ID == 0 || !self.IsBot {
			return user{}, sysexit.Errorf(sysexit.Unavailable,
				"getMe: the answer names no bot: is this Telegram?")
		}
		return self, nil
	})
}

// watches reports whether a chat is watched. A private chat is watched only by its own id.
func (c *Client) watches(x *room) bool {
	if len(c.chats) == 0 {
		return x.Type != "private"
	}
	return slices.Contains(c.chats, strconv.FormatInt(x.ID, 10))
}

// kept is how long Telegram keeps updates that were not fetched.
const kept = 24 * time.Hour

// batch is the maximum number of updates per response.
const batch = 100

func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := &listening{Client: c, Resume: resume, Handler: to}
	l.logGap()
	s := session.Loop{Platform: "telegram", Now: c.api.Now, Sleep: c.api.Sleep, Wait: c.api.Wait}
	return s.Run(ctx, l, l.poll)
}

// listening is the state of one Run.
type listening struct {
	*Client
	chat.Resume
	chat.Handler
	offset int64 // of the first update that is not durable
	up     bool
	late   int // updates of the first response, received while the program was not running
}

// logGap reports what is lost if the program was not running for too long.
func (l *listening) logGap() {
	var last time.Time
	for _, at := range l.Last {
		if at.After(last) {
			last = at
		}
	}
	if away := l.api.Now().Sub(last); !last.IsZero() && away > kept {
		l.Logf("telegram: the last event is %d hours old; Telegram keeps 24 hours, and a bot cannot read what was before", int(away.Hours()))
	}
}

// poll fetches updates once and makes them durable. Only the next poll confirms them.
func (l *listening) poll(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	wait := l.wait
	if !l.up {
		wait = 0 // queued updates arrive at once, and an empty response shows that the connection works
	}
	var updates []json.RawMessage
	err := l.call(ctx, "getUpdates", map[string]any{
		"offset": l.offset, "limit": batch, "timeout": int(wait.Seconds()),
		// Reactions are not sent unless they are requested.
		"allowed_updates": []string{"message", "edited_message", "channel_post", "edited_channel_post",
			"message_reaction", "callback_query"},
	}, &updates, wait)
	if err != nil {
		return err
	}
	if err := l.take(updates); err != nil {
		return err
	}
	if !l.up && len(updates) < batch {
		l.up = true
		l.OnConnect(true)
		if l.late += len(updates); l.late > 0 && len(l.Last) > 0 {
			l.Logf("telegram: recovered %d updates", l.late)
		}
	} else if !l.up {
		l.late += len(updates)
	}
	return nil
}

// take makes updates durable, in order.
func (l *listening) take(updates []json.RawMessage) error {
	var ready []event.Event
	if len(updates) > 0 {
		// After a week without updates Telegram numbers them anew, and sends all if the offset is higher.
		var first, last struct {
			ID int64 `json:"update_id"`
		}
		err := errors.Join(json.Unmarshal(updates[0], &first), json.Unmarshal(updates[len(updates)-1], &last))
		if err == nil && 0 < first.ID && first.ID <= last.ID && last.ID < l.offset {
			l.Logf("telegram: the numbers of updates begin again at %d", first.ID)
			l.offset = first.ID
		}
	}
	next := l.offset
	flush := func() error {
		if len(ready) > 0 {
			if err := l.OnEvents(ready...); err != nil {
				return session.FatalError{Err: err}
			}
		}
		ready, l.offset = nil, next
		return nil
	}
	for _, raw := range updates {
		var u update
		err := json.Unmarshal(raw, &u)
		if u.ID < next {
			if err != nil || u.ID == 0 { // without a number it cannot be confirmed and would be sent forever
				l.Logf("telegram: an update is not understood, left out: %v", err)
				next++
			}
			continue
		}
		next = u.ID + 1
		if err != nil {
			l.Logf("telegram: update %d is not understood, left out: %v", u.ID, err)
			continue
		}
		if e, ok := l.event(&u); ok {
			e.Raw = raw
			ready = append(ready, e)
		}
		for _, a := range l.actions(&u) {
			if err := flush(); err != nil { // a click on a card must follow the events before it
				return err
			}
			if err := l.OnAction(a); err != nil {
				return session.FatalError{Err: err}
			}
		}
	}
	return flush()
}

// editID identifies an edit: Telegram gives its time in whole seconds, and there may be two edits
// in one.
func editID(date int64, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%d-%x", date, sum[:4])
}

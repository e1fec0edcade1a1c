package teams

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
)

const (
	overlap = time.Minute // read again before the last known time: clocks differ, and Graph lags
	calm    = 10 * time.Second
)

// listening is the state of one Run.
type listening struct {
	*Client
	// Known is the time up to which the history has been read. Live events do not advance it: a lost
	// activity is only found in the history.
	*session.Listener
	webhook.Intake[delivery]

	surveyed bool           // the channels of the configured teams are known
	swept    bool           // the history has been read in this run
	learned  bool           // there is new state to save
	watch    *subscriptions // nil: no change notifications

	refusing sync.Mutex
	refused  time.Time // when a rejected call was last reported
}

// delivery is the content of a call: an activity, or a message of a change notification.
type delivery struct {
	activity *activity
	chatID   string
	message  *message
}

// Run implements chat.Source. At every start, and from time to time, missed messages are read
// before anything newer is emitted. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := c.listening(resume, to)
	l.loadState()
	if c.o.Listener == nil && c.o.Listen == "" {
		return sysexit.Errorf(sysexit.Config,
			"chat.teams: listen: want the host:port of the messaging endpoint")
	}
	if c.o.PublicURL != "" && c.remote() {
		var err error
		if l.watch, err = newSubscriptions(c.o.Now()); err != nil {
			return err
		}
	}
	return l.Intake.Run(ctx, c.o.Listener, c.o.Listen, l.plausible, l.handle, l.loop)
}

func (c *Client) listening(resume chat.Resume, to chat.Handler) *listening {
	l := &listening{Client: c, Listener: session.Listen("teams", resume, to, c.o.Sweep+overlap),
		Intake: webhook.NewIntake[delivery]()}
	l.Kept = func(*session.Batch) {
		if !l.learned {
			return
		}
		l.learned = false
		if err := l.saveState(); err != nil {
			l.Logf("teams: remember the chats: %v", err)
		}
	}
	return l
}

// loop runs sessions until one ends the run.
func (l *listening) loop(ctx context.Context) error {
	s := session.Loop{Platform: "teams", Stable: calm, Now: l.o.Now, Sleep: l.graph.api.Sleep,
		Wait: l.graph.api.Wait}
	return s.Run(ctx, l, l.follow)
}

// follow catches up and then processes calls.
func (l *listening) follow(ctx context.Context) error {
	if l.remote() {
		if err := l.service.signIn(ctx); err != nil {
			return err
		}
	}
	catchUp := func(ctx context.Context) error {
		if err := l.subscribe(ctx); err != nil {
			return err
		}
		return l.catchUp(ctx)
	}
	receiver := session.Receiver[delivery]{CatchUp: catchUp, Parse: l.parse, Commit: l.Commit,
		Sweep: l.o.Sweep}
	return receiver.Receive(ctx, l, l.In)
}

// parse adds the events of d to g.
func (l *listening) parse(ctx context.Context, d delivery, g *session.Batch) error {
	if d.activity == nil {
		return l.addMessage(ctx, d.chatID, d.message, g)
	}
	a := d.activity
	if l.keepRoom(a) {
		l.learned = true
	}
	if !l.watches(a.chat, a.Conversation.Type) {
		return nil
	}
	switch {
	case a.Type == "messageReaction" || a.clicks():
		if ok, err := l.accepts(ctx, a.chat, a.From); err != nil || !ok {
			return err
		}
		g.Actions = append(g.Actions, a.actions()...)
	case a.Type == "messageUpdate":
		// Use Graph's time of the edit, because the history has the same.
		m, err := l.fetch(ctx, a)
		if err != nil {
			return err
		}
		if m != nil {
			return l.addMessage(ctx, a.chat, m, g)
		}
		fallthrough
	case a.Type == "message" || a.Type == "messageDelete":
		if ok, err := l.accepts(ctx, a.chat, a.From); err != nil || !ok {
			return err
		}
		l.Recent.AddTo(g, l.activityEvent(a))
	}
	return nil
}

// watches reports whether a chat is read: it is configured, or no chats are configured and it is
// not private.
func (c *Client) watches(chatID, conversationType string) bool {
	if c.chats != nil {
		return c.chats[chatID]
	}
	return !private(chatID, conversationType)
}

// accepts reports whether messages of an account are accepted.
func (c *Client) accepts(ctx context.Context, chatID string, from account) (bool, error) {
	if c.o.AllowExternal || from.bot() {
		return true, nil
	}
	id := from.ID // the Bot Framework's id: it accepts directory ids too, but not for everyone
	if !personWord.MatchString(id) {
		id = from.id()
	}
	out, err := c.isExternal(ctx, chatID, id)
	return err == nil && !out, err
}

// addMessage adds a message of Graph to g.
func (l *listening) addMessage(ctx context.Context, chatID string, m *message, g *session.Batch) error {
	e, ok := l.messageEvent(chatID, m)
	if !ok || !l.watches(chatID, "") || l.Recent.Has(e.Identity()) {
		return nil
	}
	if u := m.From; e.Sender.Type == "user" && !l.o.AllowExternal && u != nil && u.User != nil {
		switch u.User.Kind {
		case "", "aadUser", "onPremiseAadUser":
		default:
			return nil // federated, anonymous, personal accounts
		}
		if out, err := l.isExternal(ctx, chatID, u.User.ID); err != nil || out {
			return err
		}
	}
	l.Recent.AddTo(g, e)
	return nil
}

// fetch reads the message that an activity changes; nil if it cannot be read.
func (l *listening) fetch(ctx context.Context, a *activity) (*message, error) {
	if !l.remote() {
		return nil, nil
	}
	at, err := l.messagePath(ctx, a.chat, a.root, a.ID)
	var m message
	if err == nil {
		err = l.graph.read(ctx, at, nil, &m)
	}
	switch {
	case l.unreadable(a.chat, err):
		return nil, nil
	case err != nil:
		return nil, err
	case m.ID != a.ID || m.Edited == nil && m.Deleted == nil:
		return nil, nil // Graph lags
	}
	return &m, nil
}

// unreadable reports whether err means that the history of a chat is not accessible, and logs that
// once.
func (l *listening) unreadable(chatID string, err error) bool {
	s := httpapi.StatusOf(err)
	if !errors.Is(err, errUnknownTeam) && s != http.StatusForbidden && s != http.StatusNotFound &&
		s != http.StatusPaymentRequired {
		return false
	}
	l.LogOnce("chat "+chatID,
		"teams: the history of chat %s cannot be read; messages sent while tri-watch did not run are lost: %v",
		chatID, err)
	return true
}

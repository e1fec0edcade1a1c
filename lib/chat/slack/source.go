package slack

import (
	"cmp"
	"context"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat"
	"tri/lib/chat/session"
)

// listening is the state of one Run.
type listening struct {
	*Client
	// Known is the time up to which the history has been read. Live events do not advance it: Slack
	// does not number its events, so a lost one is only found in the history.
	*session.Listener
	deep   bool // the history has been read back to deepLook
	memory memory
	saved  time.Time // when the memory was saved
}

// delivery is an event or an interaction, or the end of the connection.
type delivery = session.Delivery[envelope]

// envelope is one item that Slack sent.
type envelope struct {
	kind    string // events_api, interactive
	payload gjson.Result
}

// Run implements chat.Source. At every start and every new connection missed messages are read
// before anything newer is emitted, so that the log never has a gap before its latest time. It
// returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := c.listening(resume, to)
	var err error
	if c.o.Listen == "" && c.o.Listener == nil {
		err = l.loop(ctx, l.socketSession)
	} else {
		err = l.serve(ctx)
	}
	if err == nil {
		l.saveMemory()
	}
	return err
}

func (c *Client) listening(resume chat.Resume, to chat.Handler) *listening {
	l := &listening{Client: c, Listener: session.Listen(platform, resume, to, session.Overlap(c.o.Sweep)),
		memory: memory{}}
	l.memory.load(resume.State)
	l.Kept = func(b *session.Batch) {
		for i := range b.Events {
			l.memory.apply(&b.Events[i])
		}
		if time.Since(l.saved) >= time.Second { // a deletion after a kill is found by what was saved
			l.saveMemory()
		}
	}
	return l
}

// loop runs sessions until one ends the run.
func (l *listening) loop(ctx context.Context, connect func(context.Context) error) error {
	s := session.Loop{Platform: platform, Stable: 10 * time.Second, Now: l.api.Now, Sleep: l.api.Sleep,
		Wait: l.api.Wait, OnEnd: func(error) { l.self.Forget("") }}
	return s.Run(ctx, l, connect)
}

// receive catches up and then processes deliveries until the connection ends.
func (l *listening) receive(ctx context.Context, in <-chan delivery) error {
	r := session.Receiver[envelope]{CatchUp: l.catchUp, Parse: l.parse, Commit: l.Commit, Sweep: l.o.Sweep}
	return r.Receive(ctx, l, in)
}

// parse adds the events of d to g.
func (l *listening) parse(ctx context.Context, d envelope, g *session.Batch) error {
	if d.kind == "interactive" {
		g.Actions = append(g.Actions, clicks(d.payload)...)
		return nil
	}
	inner := d.payload.Get("event")
	switch kind := str(inner, "type"); {
	case str(d.payload, "type") == "app_rate_limited":
		l.Logf("slack: more than 30,000 events in an hour: what was left out is read back")
	case kind == "message" || kind == "app_mention":
		return l.message(ctx, inner, g)
	case kind == "reaction_added" || kind == "reaction_removed":
		self, err := l.me(ctx)
		if err != nil {
			return err
		}
		a, ok := reaction(inner, self)
		if ok && str(inner, "item_user") != self.User { // a person's own message
			_, ok, err = l.watches(ctx, a.ChatID)
		}
		if err != nil || !ok {
			return err
		}
		g.Actions = append(g.Actions, a)
	case kind == "channel_rename" || kind == "channel_shared" || kind == "channel_unshared":
		l.rooms.Forget(cmp.Or(str(inner, "channel.id"), str(inner, "channel")))
	}
	return nil
}

// message adds a message event to g. A mention arrives twice, as message and as app_mention, and is
// added once.
func (l *listening) message(ctx context.Context, r gjson.Result, g *session.Batch) error {
	m, ok := parseEvent(r)
	if !ok {
		return nil
	}
	return l.add(ctx, &m, g)
}

// add adds the event of a message, unless it was emitted recently.
func (l *listening) add(ctx context.Context, m *message, g *session.Batch) error {
	in, ok, err := l.watches(ctx, m.Chat)
	if err != nil || !ok {
		return err
	}
	e, ok, err := l.event(ctx, m, in)
	if err == nil && ok {
		l.Recent.AddTo(g, e)
	}
	return err
}

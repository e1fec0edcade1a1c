package slack

import (
	"context"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat"
	"tri/lib/chat/session"
)

// listening is one Run: what it has emitted, and up to where all is known.
type listening struct {
	*Client
	chat.Resume
	chat.Handler

	// known is up to where the history has been read. What comes live does not move
	// it: Slack does not number its events, so that one which never came is only seen
	// in the history.
	known session.Watermark
	past  bool // something came before: the log, or a connection
	deep  bool // the history has been read as far back as threads are looked for

	recent session.Recent
	memory memory
	told   map[string]bool // chats that cannot be read, and that it was said
}

// delivery is an event or an interaction, or the end of the connection.
type delivery = session.Delivery[envelope]

// envelope is what Slack has sent.
type envelope struct {
	kind    string // events_api, interactive
	payload gjson.Result
}

// Run implements chat.Source. At every start and every new connection what was
// missed is read back before anything newer is emitted, so that the log's latest
// time never runs ahead of a gap. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := &listening{Client: c, Resume: resume, Handler: to, known: session.NewWatermark(resume.Last, overlap(c.o.Sweep)), told: map[string]bool{}, memory: memory{}, past: len(resume.Last) > 0}
	l.memory.load(resume.State)
	var err error
	if c.app != nil {
		err = l.keepOn(ctx, l.socketSession)
	} else {
		err = l.serve(ctx)
	}
	if err == nil {
		l.remember()
	}
	return err
}

// keepOn runs sessions until one ends for good.
func (l *listening) keepOn(ctx context.Context, connect func(context.Context) error) error {
	s := session.Loop{Platform: "slack", Stable: 10 * time.Second, Now: l.api.Now, Sleep: l.api.Sleep, Wait: l.api.Wait, OnEnd: func(error) { l.forgetMe() }}
	return s.Run(ctx, l, connect)
}

// follow catches up, and then takes what comes until the connection ends.
func (l *listening) follow(ctx context.Context, in <-chan delivery) error {
	receiver := session.Receiver[envelope]{CatchUp: l.catchUp, Parse: l.parse, Commit: l.commit, Sweep: l.o.Sweep}
	return receiver.Receive(ctx, l, in)
}

// commit emits b and tells Slack.
func (l *listening) commit(g *session.Batch) error {
	return l.recent.Commit(g, l, func() {
		for i := range g.Events {
			l.memory.learn(&g.Events[i])
		}
	})
}

// parse adds what d holds to g.
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
		return l.hear(ctx, inner, g)
	case kind == "reaction_added" || kind == "reaction_removed":
		self, err := l.me(ctx)
		if err != nil {
			return err
		}
		if a, ok := reaction(inner, self); ok {
			g.Actions = append(g.Actions, a)
		}
	case kind == "channel_rename" || kind == "channel_shared" || kind == "channel_unshared":
		l.forgetRoom(first(str(inner, "channel.id"), str(inner, "channel")))
	}
	return nil
}

// hear adds a message event to g. A mention comes twice, as message and as
// app_mention: it is one.
func (l *listening) hear(ctx context.Context, r gjson.Result, g *session.Batch) error {
	m, ok := parseEvent(r)
	if !ok {
		return nil
	}
	in, ok, err := l.hears(ctx, m.Chat)
	if err != nil || !ok {
		return err
	}
	e, ok, err := l.event(ctx, &m, in)
	if err == nil && ok {
		l.recent.AddTo(g, e)
	}
	return err
}

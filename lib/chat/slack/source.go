package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat"
	"tri/lib/event"
)

// batch is how many events are made durable together.
const batch = 500

// listening is one Run: what it has emitted, and up to where all is known.
type listening struct {
	*Client
	chat.Resume
	emit func(event.Event) error

	// since is, per chat, a time up to which the history has been read; other for
	// the chats that it does not name. What comes live does not move them: Slack
	// does not number its events, so that one which never came is only seen in the
	// history.
	since map[string]time.Time
	other time.Time
	past  bool // something came before: the log, or a connection
	deep  bool // the history has been read as far back as threads are looked for

	recent recent
	memory memory
	told   map[string]bool // chats that cannot be read, and that it was said
}

// delivery is one thing that Slack has sent: an event, an interaction, or the end
// of the connection.
type delivery struct {
	kind    string       // events_api, interactive
	payload gjson.Result // of an event or interaction
	done    func(error) error
	end     error
}

// errEmit marks an error as emit's: it ends Run.
type errEmit struct{ error }

func (e errEmit) Unwrap() error { return e.error }

// errRenew is Slack asking for another connection, as it does every few hours.
var errRenew = errors.New("slack renews the connection")

// Run implements chat.Source. At every start and every new connection what was
// missed is read back before anything newer is emitted, so that the log's latest
// time never runs ahead of a gap. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, emit func(event.Event) error) error {
	l := &listening{Client: c, Resume: resume, emit: emit, since: map[string]time.Time{}, told: map[string]bool{}, memory: memory{}, past: len(resume.Last) > 0}
	for id, at := range resume.Last {
		l.since[id] = at.Add(-overlap(c.o.Sweep))
		if l.since[id].After(l.other) {
			l.other = l.since[id]
		}
	}
	kept, err := resume.Memory()
	if err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	l.memory.load(kept)
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
func (l *listening) keepOn(ctx context.Context, session func(context.Context) error) error {
	for try := 1; ; try++ {
		begun := l.api.Now()
		err := session(ctx)
		l.Down()
		broken := errEmit{}
		switch {
		case errors.As(err, &broken):
			return broken.error
		case ctx.Err() != nil:
			return nil
		case hopeless(err):
			return fmt.Errorf("slack: %w", err)
		}
		l.forgetMe()
		held := l.api.Now().Sub(begun) > 10*time.Second
		if held {
			try = 1
		}
		if held && errors.Is(err, errRenew) {
			continue
		}
		wait := l.api.Backoff(try)
		l.Say("slack: %v; trying again in %v", err, wait.Round(time.Millisecond))
		if l.api.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// follow catches up, and then takes what comes until the connection ends.
func (l *listening) follow(ctx context.Context, in <-chan delivery) error {
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	l.Up()
	sweep := time.NewTicker(l.o.Sweep)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sweep.C:
			if err := l.catchUp(ctx); err != nil {
				return err
			}
		case d := <-in:
			if err := l.take(ctx, d, in); err != nil {
				return err
			}
		}
	}
}

// take brings d, and what has come behind it meanwhile, to emit.
func (l *listening) take(ctx context.Context, d delivery, more <-chan delivery) error {
	var g chat.Gathered
	for {
		if d.end != nil {
			return errors.Join(l.durable(&g), d.end)
		}
		if err := l.understand(ctx, d, &g); err != nil {
			_ = d.done(err) // and it is in the history
			return errors.Join(l.durable(&g), err)
		}
		if len(g.Done) == batch {
			return l.durable(&g)
		}
		select {
		case d = <-more:
			continue
		default:
		}
		return l.durable(&g)
	}
}

// durable emits what was gathered and tells Slack.
func (l *listening) durable(g *chat.Gathered) error {
	failed, told := g.Settle(l.Resume, l.emit, func() {
		for id := range g.IDs {
			l.recent.keep(id)
		}
		for i := range g.Events {
			l.memory.learn(&g.Events[i])
		}
	})
	if failed != nil {
		return errEmit{failed}
	}
	return told
}

// understand adds what d holds to g.
func (l *listening) understand(ctx context.Context, d delivery, g *chat.Gathered) error {
	if d.kind == "interactive" {
		g.Actions, g.Done = append(g.Actions, clicks(d.payload)...), append(g.Done, d.done)
		return nil
	}
	inner := d.payload.Get("event")
	switch kind := str(inner, "type"); {
	case str(d.payload, "type") == "app_rate_limited":
		l.Say("slack: more than 30,000 events in an hour: what was left out is read back")
	case kind == "message" || kind == "app_mention":
		if err := l.hear(ctx, inner, g); err != nil {
			return err
		}
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
	g.Done = append(g.Done, d.done)
	return nil
}

// hear adds a message event to g. A mention comes twice, as message and as
// app_mention: it is one.
func (l *listening) hear(ctx context.Context, r gjson.Result, g *chat.Gathered) error {
	m, ok := parseEvent(r)
	if !ok {
		return nil
	}
	in, ok, err := l.hears(ctx, m.Chat)
	if err != nil || !ok {
		return err
	}
	e, ok, err := l.event(ctx, &m, in)
	if id := e.Identity(); err == nil && ok && !l.recent.has(id) {
		g.Add(e, id)
	}
	return err
}

// recent are identities that were emitted lately, at most two generations of
// maxRecent.
type recent struct{ now, before map[string]bool }

const maxRecent = 10000

func (r *recent) has(id string) bool { return r.now[id] || r.before[id] }

func (r *recent) keep(id string) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.before, r.now = r.now, map[string]bool{}
	}
	r.now[id] = true
}

package lark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	// the chats that it does not name. What comes live does not move them: events
	// are not numbered, so that one which never came is only seen in the history.
	since map[string]time.Time
	other time.Time
	past  bool // something came before: the log, or a connection
	deep  bool // the history has been read as far back as threads are looked for

	recent recent
	told   map[string]bool // chats that cannot be read, and that it was said
	// topics are those heard of, by chat, and when: the history of a chat names
	// only those that were begun lately.
	topics map[string]map[string]time.Time
}

// delivery is one thing that the platform has sent: an event, or the end of the
// connection.
type delivery struct {
	payload gjson.Result
	done    func(error) error
	end     error
}

// errEmit marks an error as emit's: it ends Run.
type errEmit struct{ error }

func (e errEmit) Unwrap() error { return e.error }

// Run implements chat.Source. At every start and every new connection what was
// missed is read back before anything newer is emitted, so that the log's latest
// time never runs ahead of a gap. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, emit func(event.Event) error) error {
	l := &listening{Client: c, Resume: resume, emit: emit, since: map[string]time.Time{}, told: map[string]bool{}, topics: map[string]map[string]time.Time{}, past: len(resume.Last) > 0}
	for id, at := range resume.Last {
		l.since[id] = at.Add(-overlap(c.o.Sweep))
		if l.since[id].After(l.other) {
			l.other = l.since[id]
		}
	}
	if c.o.Listen != "" || c.o.Listener != nil {
		return l.serve(ctx)
	}
	return l.keepOn(ctx, l.socketSession)
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
			return fmt.Errorf("lark: %w", err)
		}
		l.forgetMe()
		if l.api.Now().Sub(begun) > 10*time.Second {
			try = 1
		}
		wait := l.api.Backoff(try)
		l.Say("lark: %v; trying again in %v", err, wait.Round(time.Millisecond))
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

// durable emits what was gathered and tells the platform.
func (l *listening) durable(g *chat.Gathered) error {
	// Events come in no order that is promised.
	slices.SortStableFunc(g.Events, func(a, b event.Event) int { return cmp.Compare(happened(&a), happened(&b)) })
	failed, told := g.Settle(l.Resume, l.emit, func() {
		for id := range g.IDs {
			l.recent.keep(id)
		}
	})
	if failed != nil {
		return errEmit{failed}
	}
	return told
}

// happened is when an event did, in a form that sorts.
func happened(e *event.Event) string { return cmp.Or(e.EditedAt, e.CreateTime) }

// understand adds what d holds to g.
func (l *listening) understand(ctx context.Context, d delivery, g *chat.Gathered) error {
	inner := d.payload.Get("event")
	var err error
	switch kind := str(d.payload, "header.event_type"); kind {
	case "im.message.receive_v1", "im.message.updated_v1":
		err = l.hear(ctx, inner, g)
	case "im.message.recalled_v1":
		err = l.recalled(ctx, inner, g)
	case "im.message.reaction.created_v1", "im.message.reaction.deleted_v1":
		var a event.Action
		var ok bool
		if a, ok, err = l.reaction(ctx, inner, kind == "im.message.reaction.deleted_v1"); ok {
			g.Actions = append(g.Actions, a)
		}
	case "card.action.trigger":
		if a, ok := click(d.payload); ok {
			g.Actions = append(g.Actions, a)
		}
	case "im.chat.updated_v1", "im.chat.disbanded_v1", "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1":
		l.forgetRoom(str(inner, "chat_id"))
	}
	if err == nil {
		g.Done = append(g.Done, d.done)
	}
	return err
}

// hear adds a message to g. An edit comes as the message once more, with a later
// time; that is not told apart from other changes, so the history is asked.
func (l *listening) hear(ctx context.Context, r gjson.Result, g *chat.Gathered) error {
	m, ok := parseEvent(r)
	if !ok {
		return nil
	}
	in, ok, err := l.hears(ctx, m.Chat)
	if err != nil || !ok {
		return err
	}
	if m.Changed.After(m.Created) {
		now, there, err := l.lookup(ctx, m.ID)
		switch {
		case err != nil:
			return err
		case there && now.Chat == m.Chat:
			m = now
		default:
			m.Changed = time.Time{}
		}
	} else {
		m.Changed = time.Time{}
	}
	return l.add(ctx, &m, in, g)
}

// recalled adds a deletion to g. It is told without whose message it was.
func (l *listening) recalled(ctx context.Context, r gjson.Result, g *chat.Gathered) error {
	at, chat, id := millis(str(r, "recall_time")), str(r, "chat_id"), str(r, "message_id")
	if !chatID.MatchString(chat) || !messageID.MatchString(id) || at.IsZero() {
		return nil
	}
	in, ok, err := l.hears(ctx, chat)
	if err != nil || !ok {
		return err
	}
	m, there, err := l.lookup(ctx, id)
	if err != nil {
		return err
	}
	if !there || m.Chat != chat {
		m = message{Chat: chat, ID: id, Created: at}
	}
	m.Gone, m.Changed = true, at
	return l.add(ctx, &m, in, g)
}

func (l *listening) add(ctx context.Context, m *message, in room, g *chat.Gathered) error {
	l.seen(m)
	e, ok, err := l.event(ctx, m, in)
	if err != nil || !ok {
		return err
	}
	if id := e.Identity(); !l.recent.has(id) {
		g.Add(e, id)
	}
	return nil
}

// seen notes the topic of a message.
func (l *listening) seen(m *message) {
	if m.Topic == "" {
		return
	}
	if l.topics[m.Chat] == nil {
		l.topics[m.Chat] = map[string]time.Time{}
	}
	if t := m.changed(); t.After(l.topics[m.Chat][m.Topic]) {
		l.topics[m.Chat][m.Topic] = t
	}
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

package lark

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

// listening is the state of one Run.
type listening struct {
	*Client
	// Known is the time up to which the history has been read. Live events do not advance it: they are
	// not numbered, so a lost one is only found in the history.
	*session.Listener
	deep bool // the history has been read back to deepLook
	// topics are the known topics, by chat, and when they were last seen: the history of a chat
	// contains only those that began recently.
	topics map[string]map[string]time.Time
}

// delivery is an event, or the end of the connection.
type delivery = session.Delivery[gjson.Result]

// Run implements chat.Source. At every start and every new connection missed messages are read
// before anything newer is emitted, so that the log never has a gap before its latest time. It
// returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := &listening{Client: c, Listener: session.Listen(platform, resume, to, session.Overlap(c.o.Sweep)),
		topics: map[string]map[string]time.Time{}}
	if c.o.Listen != "" || c.o.Listener != nil {
		return l.serve(ctx)
	}
	return l.loop(ctx, l.socketSession)
}

// loop runs sessions until one ends the run.
func (l *listening) loop(ctx context.Context, connect func(context.Context) error) error {
	s := session.Loop{Platform: platform, Stable: 10 * time.Second, Now: l.api.Now, Sleep: l.api.Sleep,
		Wait: l.api.Wait, OnEnd: func(error) { l.forgetMe() }}
	return s.Run(ctx, l, connect)
}

// receive catches up and then processes deliveries until the connection ends.
func (l *listening) receive(ctx context.Context, in <-chan delivery) error {
	receiver := session.Receiver[gjson.Result]{CatchUp: l.catchUp, Parse: l.parse, Commit: l.commit,
		Sweep: l.o.Sweep}
	return receiver.Receive(ctx, l, in)
}

// commit emits g and acknowledges it. Events are sorted because the platform guarantees no order.
func (l *listening) commit(g *session.Batch) error {
	slices.SortStableFunc(g.Events, func(a, b event.Event) int {
		return cmp.Compare(changedAt(&a), changedAt(&b))
	})
	return l.Recent.Commit(g, l, nil)
}

// changedAt returns the time of an event, in a form that sorts.
func changedAt(e *event.Event) string { return cmp.Or(e.EditedAt, e.CreateTime) }

// parse adds the events of d to g.
func (l *listening) parse(ctx context.Context, d gjson.Result, g *session.Batch) error {
	inner := d.Get("event")
	var err error
	switch kind := str(d, "header.event_type"); kind {
	case "im.message.receive_v1", "im.message.updated_v1":
		err = l.message(ctx, inner, g)
	case "im.message.recalled_v1":
		err = l.recalled(ctx, inner, g)
	case "im.message.reaction.created_v1", "im.message.reaction.deleted_v1":
		var a event.Action
		var ok bool
		if a, ok, err = l.reaction(ctx, inner, kind == "im.message.reaction.deleted_v1"); ok {
			g.Actions = append(g.Actions, a)
		}
	case "card.action.trigger":
		if a, ok := click(d); ok {
			g.Actions = append(g.Actions, a)
		}
	case "im.chat.updated_v1", "im.chat.disbanded_v1", "im.chat.member.bot.added_v1",
		"im.chat.member.bot.deleted_v1":
		l.rooms.Forget(str(inner, "chat_id"))
	}
	return err
}

// message adds a message to g. An edit arrives as the message with a later time, which other
// changes cause too, so the message is requested.
func (l *listening) message(ctx context.Context, r gjson.Result, g *session.Batch) error {
	m, ok := parseEvent(r)
	if !ok {
		return nil
	}
	if _, ok, err := l.watches(ctx, m.Chat); err != nil || !ok {
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
	return l.add(ctx, &m, g)
}

// recalled adds a deletion to g. The event does not contain the message's author.
func (l *listening) recalled(ctx context.Context, r gjson.Result, g *session.Batch) error {
	at, chat, id := millis(str(r, "recall_time")), str(r, "chat_id"), str(r, "message_id")
	if !chatID.MatchString(chat) || !messageID.MatchString(id) || at.IsZero() {
		return nil
	}
	if _, ok, err := l.watches(ctx, chat); err != nil || !ok {
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
	return l.add(ctx, &m, g)
}

// add adds the event of a message, unless it was emitted recently.
func (l *listening) add(ctx context.Context, m *message, g *session.Batch) error {
	in, ok, err := l.watches(ctx, m.Chat)
	if err != nil || !ok {
		return err
	}
	l.seen(m)
	e, ok, err := l.event(ctx, m, in)
	if err != nil || !ok {
		return err
	}
	l.Recent.AddTo(g, e)
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

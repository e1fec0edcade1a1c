package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/emoji"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

const (
	// overlap is read again before the last known time: clocks of a server's nodes
	// differ, and a replica of its database lags.
	overlap = time.Minute
	// calm is how long a connection must have held for the next attempt to follow
	// at once.
	calm = 30 * time.Second
	// batch is how many events are made durable together.
	batch = 500
)

// listening is one Run: what it has emitted, and where on the socket it is.
type listening struct {
	*Client
	chat.Resume
	chat.Handler

	// since is, per chat, a time (Unix ms, the server's) up to which everything is
	// emitted; other for the chats that it does not name.
	since map[string]int64
	other int64

	past bool // something came before: the log, or a connection

	connection string // the id to resume, "" for none
	next       int64  // the next event's number there
}

// Run implements chat.Source. A lost connection is resumed or, where the server
// cannot, what was missed is read back before anything newer is emitted, so
// that the log's latest time never runs ahead of a gap. It returns nil when ctx
// ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	if c.listen != "" {
		go func() {
			if err := c.calls(ctx, to); err != nil {
				failed <- err
				cancel()
			}
		}()
	}
	err := c.run(ctx, resume, to)
	select {
	case err = <-failed:
	default:
	}
	return err
}

func (c *Client) run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := &listening{Client: c, Resume: resume, Handler: to, since: map[string]int64{}, past: len(resume.Last) > 0}
	for id, at := range resume.Last {
		l.since[id] = at.Add(-overlap).UnixMilli()
		l.other = max(l.other, l.since[id])
	}
	// A revoked token is let in and only never greeted: ask again who we are.
	s := session.Loop{Platform: "mattermost", Stable: calm, Now: c.now, Sleep: c.sleep, Wait: c.backoff, OnEnd: func(error) { c.forgetMe() }}
	return s.Run(ctx, l, l.session)
}

// backoff doubles from half a second to a minute, and is spread between half of
// that and all of it. A server that says when to come back is obeyed.
func (c *Client) backoff(try int, err error) time.Duration {
	d := min(500*time.Millisecond<<min(max(try-1, 0), 7), time.Minute)
	d = d/2 + time.Duration(c.chance()*float64(d)/2)
	if limited := (*apiError)(nil); errors.As(err, &limited) {
		d = max(d, limited.after)
	}
	return d
}

// session is one connection, to its end.
func (l *listening) session(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	if l.other == 0 {
		l.other = l.serverNow().Add(-overlap).UnixMilli() // a first start tells the last minute, as a restart would
	}
	s, err := l.dial(ctx, l.connection, l.next)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { _ = s.conn.CloseNow() }() // the server keeps the connection for a resume
	go s.read(ctx)
	if l.connection == "" {
		f, err := s.hello(ctx)
		if err != nil {
			return err
		}
		l.connection, l.next = f.connectionID(), f.Seq+1
		if err := l.catchUp(ctx); err != nil {
			l.connection = ""
			return err
		}
		l.OnConnect(true)
	} else if err := s.ping(ctx); err != nil { // nobody greets a resumed connection
		return fmt.Errorf("websocket: %w", err)
	}
	err = l.follow(ctx, s)
	if tooBig(err) {
		l.connection = ""
	}
	return err
}

func (c *Client) forgetMe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = nil
}

// follow takes frames until the socket ends or gives no sign of life.
func (l *listening) follow(ctx context.Context, s *socket) error {
	pulse := time.NewTicker(l.pulse)
	defer pulse.Stop()
	heard := true
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pulse.C:
			if !heard && len(s.frames) == 0 {
				return fmt.Errorf("websocket: no sign of life for %v", l.pulse)
			}
			heard = false
			if err := s.ping(ctx); err != nil {
				return fmt.Errorf("websocket: %w", err)
			}
		case f, ok := <-s.frames:
			if !ok {
				return ctx.Err()
			}
			if heard = true; f.err == nil {
				l.OnConnect(true)
			}
			if err := l.take(ctx, f, s.frames); err != nil {
				return err
			}
		}
	}
}

// take brings f, and what has come behind it meanwhile, to emit.
func (l *listening) take(ctx context.Context, f frame, more <-chan frame) error {
	var ready []event.Event
	next := l.next
	flush := func() error {
		if err := l.durable(ready); err != nil {
			return err
		}
		l.next, ready = next, nil
		return nil
	}
	for {
		switch {
		case f.err != nil:
			return errors.Join(flush(), fmt.Errorf("websocket: %w", f.err))
		case f.Event == "": // the reply to a ping
		case f.Event == "hello" || f.Seq > next:
			// The server could not resume, or has left events out.
			if err := flush(); err != nil {
				return err
			}
			if err := l.mendGap(ctx, f); err != nil {
				return err
			}
			next = f.Seq
			fallthrough
		default:
			e, ok, err := l.read(ctx, f)
			if err != nil {
				return errors.Join(flush(), err)
			}
			if ok {
				ready = append(ready, e)
			}
			next = max(next, f.Seq+1)
		}
		if len(ready) == batch {
			return flush()
		}
		var ok bool
		select {
		case f, ok = <-more:
			if ok {
				continue
			}
		default:
		}
		return flush()
	}
}

// mendGap catches up where f shows that events are missing. If that fails the
// connection must not be resumed behind the gap.
func (l *listening) mendGap(ctx context.Context, f frame) error {
	connection := l.connection
	if f.Event == "hello" {
		connection = f.connectionID()
	}
	l.connection = ""
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	l.connection = connection
	return nil
}

// read makes an event of a frame that is one.
func (l *listening) read(ctx context.Context, f frame) (event.Event, bool, error) {
	switch f.Event {
	case "posted", "post_edited", "post_deleted":
	case "reaction_added", "reaction_removed":
		return event.Event{}, false, l.reacted(ctx, f)
	case "channel_updated", "channel_converted":
		l.forgetRoom(f.Broadcast.ChannelID)
		return event.Event{}, false, nil
	default:
		return event.Event{}, false, nil
	}
	// post and mentions are JSON within the JSON.
	var data struct {
		Post     string `json:"post"`
		Mentions string `json:"mentions"`
	}
	p := new(post)
	var called []string
	err := json.Unmarshal(f.Data, &data)
	if err == nil {
		err = json.Unmarshal([]byte(data.Post), p)
	}
	if err == nil && data.Mentions != "" {
		err = json.Unmarshal([]byte(data.Mentions), &called)
	}
	if err != nil || !validID(p.ID) || !validID(p.ChannelID) {
		l.Logf("mattermost: event %d: not understood, left out: %v", f.Seq, err)
		return event.Event{}, false, nil
	}
	if ok, err := l.welcome(ctx, p); err != nil || !ok {
		return event.Event{}, false, err
	}
	if f.Event == "post_deleted" && p.DeleteAt == 0 {
		p.DeleteAt = l.serverNow().UnixMilli() // the post is told as it was before
	}
	e, err := l.event(ctx, p, called)
	return e, err == nil, err
}

// durable emits events and then remembers how far that is.
func (l *listening) durable(events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := l.OnEvents(events...); err != nil {
		return session.FatalError{Err: err}
	}
	for _, e := range events {
		for _, s := range []string{e.CreateTime, e.EditedAt} {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
				l.since[e.ChatID] = max(l.since[e.ChatID], at.Add(-overlap).UnixMilli())
			}
		}
	}
	return nil
}

// reacted hands on a reaction to a message of ours.
func (l *listening) reacted(ctx context.Context, f frame) error {
	var data struct {
		Reaction string `json:"reaction"`
	}
	var r struct {
		UserID    string `json:"user_id"`
		PostID    string `json:"post_id"`
		EmojiName string `json:"emoji_name"`
		CreateAt  int64  `json:"create_at"`
	}
	if json.Unmarshal(f.Data, &data) != nil || json.Unmarshal([]byte(data.Reaction), &r) != nil || !validID(r.PostID) || !validID(r.UserID) {
		l.Logf("mattermost: event %d: a reaction is not understood, left out", f.Seq)
		return nil
	}
	self, err := l.me(ctx)
	if err != nil || r.UserID == self.ID || !l.watches(f.Broadcast.ChannelID) {
		return err
	}
	var p post
	switch err := l.get(ctx, "posts/"+r.PostID, nil, &p); {
	case statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusForbidden:
		return nil
	case err != nil:
		return err
	case p.UserID != self.ID:
		return nil // of no interest: it is not ours
	}
	u, err := l.person(ctx, r.UserID)
	if err != nil {
		return err
	}
	err = l.OnAction(event.Action{
		ID: fmt.Sprintf("%s %s %s %d %s", r.PostID, r.UserID, r.EmojiName, r.CreateAt, f.Event), Platform: platform, ChatID: p.ChannelID, MessageID: r.PostID,
		At: stamp(max(r.CreateAt, p.CreateAt)), Sender: event.Sender{ID: r.UserID, Type: "user", Name: u.Username}, Name: emoji.Char(r.EmojiName),
		Removed: f.Event == "reaction_removed",
	})
	if err != nil {
		return session.FatalError{Err: err}
	}
	return nil
}

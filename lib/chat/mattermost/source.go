package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/emoji"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

const (
	// overlap is read again before the last known time: clocks of a server's nodes differ, and a
	// replica of its database lags.
	overlap = time.Minute
	// stable is how long a connection must have held for the next attempt to follow at once.
	stable = 30 * time.Second
)

// listening is the state of one Run, with its position on the socket.
type listening struct {
	*Client
	*session.Listener

	connection string // the id to resume, "" for none
	next       int64  // number of the connection's first event that is not durable
	parsed     int64  // number of the connection's first event that was not parsed
	gap        *gap   // the gap that a frame has shown, until it is caught up
}

// gap is where to continue after catching up.
type gap struct {
	connection string
	next       int64
}

// Run implements chat.Source. A lost connection is resumed or, where the server cannot resume it,
// missed messages are read before anything newer is emitted, so that the log never has a gap before
// its latest time. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	run := func(ctx context.Context) error { return c.run(ctx, resume, to) }
	if c.o.Listen == "" {
		return run(ctx)
	}
	l, err := webhook.Listen(c.o.Listen)
	if err != nil {
		return err
	}
	to.Logf("mattermost: outgoing webhooks are received at %s", l.Addr())
	return webhook.While(ctx, l, nil, c.calls(resume, to), run)
}

func (c *Client) listening(resume chat.Resume, to chat.Handler) *listening {
	l := &listening{Client: c, Listener: session.Listen(platform, resume, to, overlap)}
	l.Kept = func(b *session.Batch) {
		for i := range b.Events {
			l.Known.AdvanceBy(&b.Events[i], overlap)
		}
	}
	return l
}

func (c *Client) run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := c.listening(resume, to)
	// A connection with a revoked token is accepted but gets no hello: request the account again.
	loop := session.Loop{
		Platform: platform, Stable: stable, Now: c.api.Now, Sleep: c.api.Sleep, Wait: c.api.Wait,
		OnEnd: func(error) { c.self.Forget("") },
	}
	return loop.Run(ctx, l, l.session)
}

// session runs one connection to its end.
func (l *listening) session(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	if l.Known.Other.IsZero() {
		l.Known.Other = l.serverNow().Add(-overlap) // a first start reads the last minute, as a restart would
	}
	s, err := l.dial(ctx, l.connection, l.next)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { _ = s.CloseNow() }() // no close frame: the server keeps it for a resume
	resumed := l.connection != ""
	if resumed { // a resumed connection gets no hello
		if err := s.ping(); err != nil {
			return err
		}
	} else {
		f, err := s.hello(ctx)
		if err != nil {
			return err
		}
		l.gap = &gap{f.connectionID(), f.Seq + 1}
		l.next = f.Seq + 1
	}
	l.parsed = l.next
	go session.Feed(ctx, s.in, s.next)
	go s.watch(ctx, l.o.Pulse)
	r := session.Receiver[frame]{CatchUp: l.catchUp, Parse: l.parse, Commit: l.commit, Resumed: resumed}
	if err = r.Receive(ctx, l, s.in); errors.Is(err, websocket.ErrMessageTooBig) {
		// The frame would be sent again if the connection were resumed.
		l.connection = ""
	}
	return err
}

// commit makes b durable, and advances to the numbers of its frames.
func (l *listening) commit(b *session.Batch) error {
	if err := l.Commit(b); err != nil {
		return err
	}
	l.next = max(l.next, l.parsed)
	return nil
}

// parse adds the events of a frame to b.
func (l *listening) parse(ctx context.Context, f frame, b *session.Batch) error {
	switch {
	case f.Event == "": // the reply to a ping
		return nil
	case l.gap == nil && (f.Event == "hello" && f.connectionID() != l.connection || f.Seq > l.parsed):
		// The server could not resume, or events are missing.
		l.gap = &gap{l.connection, f.Seq}
		if f.Event == "hello" {
			l.gap.connection = f.connectionID()
		}
		l.connection, l.parsed = "", f.Seq
		return session.ErrMissed
	case f.Event == "posted" || f.Event == "post_edited" || f.Event == "post_deleted":
		if err := l.post(ctx, f, b); err != nil {
			return err
		}
	case f.Event == "reaction_added" || f.Event == "reaction_removed":
		if err := l.reaction(ctx, f, b); err != nil {
			return err
		}
	case f.Event == "typing":
		l.typing(ctx, f)
	case f.Event == "channel_updated" || f.Event == "channel_converted":
		l.rooms.Forget(f.Broadcast.ChannelID)
	}
	l.parsed = max(l.parsed, f.Seq+1)
	return nil
}

// typingTime is how long an indicator is shown after its last event; its end is not reported.
const typingTime = 5 * time.Second

// typing reports that somebody types in a watched channel.
func (l *listening) typing(ctx context.Context, f frame) {
	var data struct {
		UserID   string `json:"user_id"`
		ParentID string `json:"parent_id"` // the thread's root, "" in the channel itself
	}
	self, err := l.me(ctx)
	if err != nil || json.Unmarshal(f.Data, &data) != nil || !validID(data.UserID) ||
		data.UserID == self.ID || !l.watches(f.Broadcast.ChannelID) {
		return
	}
	now := l.api.Now()
	l.OnTyping(presence.Typing{
		Platform: platform, ChatID: f.Broadcast.ChannelID, ThreadID: data.ParentID, UserID: data.UserID,
		Kind: "typing", ReceivedAt: now, ExpiresAt: now.Add(typingTime),
	})
}

// post adds the event of a frame that contains a post.
func (l *listening) post(ctx context.Context, f frame, b *session.Batch) error {
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
		return nil
	}
	if f.Event == "post_deleted" && p.DeleteAt == 0 {
		p.DeleteAt = l.serverNow().UnixMilli() // the post is sent as it was before
	}
	return l.addCalled(ctx, p, called, b)
}

// add adds the event of a post, unless it was emitted recently.
func (l *listening) add(ctx context.Context, p *post, b *session.Batch) error {
	return l.addCalled(ctx, p, nil, b)
}

func (l *listening) addCalled(ctx context.Context, p *post, called []string, b *session.Batch) error {
	if ok, err := l.accepts(ctx, p); err != nil || !ok {
		return err
	}
	e, err := l.event(ctx, p, called)
	if err == nil {
		l.Recent.AddTo(b, e)
	}
	return err
}

// reaction adds a reaction to a message of the bot, or of a person to a message of their own.
func (l *listening) reaction(ctx context.Context, f frame, b *session.Batch) error {
	var data struct {
		Reaction string `json:"reaction"`
	}
	var r struct {
		UserID    string `json:"user_id"`
		PostID    string `json:"post_id"`
		EmojiName string `json:"emoji_name"`
		CreateAt  int64  `json:"create_at"`
	}
	if json.Unmarshal(f.Data, &data) != nil || json.Unmarshal([]byte(data.Reaction), &r) != nil ||
		!validID(r.PostID) || !validID(r.UserID) {
		l.Logf("mattermost: event %d: a reaction is not understood, left out", f.Seq)
		return nil
	}
	self, err := l.me(ctx)
	if err != nil || r.UserID == self.ID || !l.watches(f.Broadcast.ChannelID) {
		return err
	}
	var p post
	switch err := l.get(ctx, "posts/"+r.PostID, nil, &p); {
	case httpapi.IsUnreadable(err):
		return nil
	case err != nil:
		return err
	case p.UserID != self.ID && p.UserID != r.UserID:
		return nil
	case p.UserID != self.ID:
		if ok, err := l.accepts(ctx, &p); err != nil || !ok {
			return err
		}
	}
	u, err := l.person(ctx, r.UserID)
	if err != nil {
		return err
	}
	b.Actions = append(b.Actions, event.Action{
		ID:       fmt.Sprintf("%s %s %s %d %s", r.PostID, r.UserID, r.EmojiName, r.CreateAt, f.Event),
		Platform: platform, ChatID: p.ChannelID, MessageID: r.PostID,
		At:     stamp(max(r.CreateAt, p.CreateAt)),
		Sender: event.Sender{ID: r.UserID, Type: "user", Name: u.Username}, Name: emoji.Char(r.EmojiName),
		Removed: f.Event == "reaction_removed",
	})
	return nil
}

package discord

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
)

const (
	// overlap is how far before the last known time the history is read again: ids are made on many
	// machines.
	overlap = time.Minute
	// calm is how long a connection must have held for the next attempt to follow at once.
	calm = 30 * time.Second
)

// Intents (events/gateway#list-of-intents).
const (
	intentGuilds          = 1 << 0
	intentMessages        = 1 << 9
	intentReactions       = 1 << 10
	intentTyping          = 1 << 11
	intentDirect          = 1 << 12
	intentDirectReactions = 1 << 13
	intentDirectTyping    = 1 << 14
	intentContent         = 1 << 15
)

// listening is the state of one Run, with its position in the gateway's session.
type listening struct {
	*Client
	*session.Listener

	resumeState resumeState  // the session to resume; no ID: none. Its Seq is the last durable event.
	parsed      int64        // the last event that was parsed
	gap         *resumeState // where to continue after catching up; nil: nothing is missing
	durable     atomic.Int64 // resumeState.Seq, for the heartbeats
	recent      recent
	saved       time.Time // when both were last saved
	intents     int
	resumed     int // events since the session was resumed; -1: not to be reported
}

// Run implements chat.Source. A lost connection is resumed; where Discord cannot resume it, missed
// messages are read before anything newer is emitted, so that the log never has a gap before its
// latest time. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	run := func(ctx context.Context) error { return c.run(ctx, resume, to) }
	if c.listen == "" {
		return run(ctx)
	}
	l, err := webhook.Listen(c.listen)
	if err != nil {
		return err
	}
	to.Logf("discord: clicks are received at %s", l.Addr())
	stamps := c.stamps()
	return webhook.While(ctx, l, stamps.Plausible, c.calls(stamps, to), run)
}

func (c *Client) run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := c.listening(resume, to)
	l.load()
	loop := session.Loop{
		Platform: platform, Stable: calm, Now: c.api.Now, Sleep: c.api.Sleep, Wait: l.backoff,
		OnEnd: func(err error) {
			if errors.Is(err, errStale) {
				l.resumeState = resumeState{}
			}
			c.self.Forget("") // so that a revoked token is noticed
		},
	}
	return loop.Run(ctx, l, l.connect)
}

func (c *Client) listening(resume chat.Resume, to chat.Handler) *listening {
	l := &listening{Client: c, Listener: session.Listen(platform, resume, to, overlap), recent: newRecent()}
	l.Kept = func(b *session.Batch) {
		for i := range b.Events {
			l.recent.keep(&b.Events[i])
			l.Known.AdvanceBy(&b.Events[i], overlap)
		}
	}
	return l
}

// backoff returns the delay before the next attempt. A new session must be started one to five
// seconds after the old one was rejected (events/gateway#resuming).
func (l *listening) backoff(try int, err error) time.Duration {
	wait := l.api.Wait(try, err)
	if errors.Is(err, errStale) {
		wait = max(wait, time.Second+time.Duration(l.chance()*4*float64(time.Second)))
	}
	return wait
}

// connect runs one connection to its end.
func (l *listening) connect(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	if err := l.setIntents(ctx); err != nil {
		return err
	}
	address, err := l.address(ctx)
	if err != nil {
		return err
	}
	s, err := l.dial(ctx, address)
	if err != nil {
		return err
	}
	// The reader's context outlives ctx, so that the connection can be closed properly.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer func() {
		if ctx.Err() != nil {
			_ = s.Close(closeKeep, "")
		}
		_ = s.CloseNow()
		l.save()
	}()
	resumed := l.resumeState.ID != ""
	if l.resumed = -1; resumed {
		l.resumed, l.parsed = 0, l.resumeState.Seq
		err = s.resume(l.token, l.resumeState)
	} else if err = s.identify(l.token, l.intents); err == nil {
		l.gap, err = s.ready(ctx)
	}
	if err != nil {
		return err
	}
	if l.gap != nil {
		l.parsed = l.gap.Seq
	}
	l.durable.Store(l.resumeState.Seq)
	go session.Feed(reading, s.in, s.deliver)
	go s.pulse(reading, &l.durable, l.chance())
	r := session.Receiver[frame]{CatchUp: l.catchUp, Parse: l.parse, Commit: l.commit, Resumed: resumed}
	return r.Receive(ctx, l, s.in)
}

// commit makes b durable, and advances to the numbers of its frames.
func (l *listening) commit(b *session.Batch) error {
	if err := l.Commit(b); err != nil {
		return err
	}
	if l.resumeState.Seq = max(l.resumeState.Seq, l.parsed); l.resumeState.ID != "" {
		l.durable.Store(l.resumeState.Seq)
	}
	if l.api.Now().Sub(l.saved) >= time.Second {
		l.save()
	}
	return nil
}

// parse adds the events and actions of f to b.
func (l *listening) parse(ctx context.Context, f frame, b *session.Batch) error {
	switch {
	case f.Op == opNoise:
		l.Logf("discord: a frame is not understood, left out")
		return nil
	case f.Op != opDispatch:
		return nil
	case f.Type == "READY": // a session was to be resumed
		return errStale
	case l.gap == nil && f.Seq > l.parsed+1: // events are missing before f
		l.gap = &resumeState{ID: l.resumeState.ID, URL: l.resumeState.URL, Seq: f.Seq - 1}
		return session.ErrMissed
	}
	if err := l.dispatched(ctx, f, b); err != nil {
		return err
	}
	l.parsed = max(l.parsed, f.Seq)
	return nil
}

// setIntents determines which intents are needed: private messages only if a private chat is watched by
// id.
func (l *listening) setIntents(ctx context.Context) error {
	if l.intents != 0 {
		return nil
	}
	intents := intentGuilds | intentMessages | intentReactions | intentTyping | intentContent
	for id := range l.chats {
		p, err := l.place(ctx, id)
		if err != nil {
			return err
		}
		if p.Kind == kindDirect || p.Kind == kindGroup {
			intents |= intentDirect | intentDirectReactions | intentDirectTyping
		}
	}
	l.intents = intents
	return nil
}

// address returns the gateway's address. New sessions are limited per day, resumed ones are not
// (events/gateway#session-start-limit-object).
func (l *listening) address(ctx context.Context) (string, error) {
	if l.resumeState.ID != "" && l.resumeState.URL != "" {
		return l.resumeState.URL, nil
	}
	var g struct {
		URL   string `json:"url"`
		Limit struct {
			Remaining int   `json:"remaining"`
			After     int64 `json:"reset_after"` // milliseconds
		} `json:"session_start_limit"`
	}
	if err := l.get(ctx, "gateway/bot", nil, &g); err != nil {
		return "", err
	}
	if after := time.Duration(g.Limit.After) * time.Millisecond; g.Limit.Remaining < 1 && after > 0 {
		l.Logf("discord: no session can be started for %v: too many were started", after.Round(time.Minute))
		if err := l.api.Sleep(ctx, min(after, 24*time.Hour)); err != nil {
			return "", err
		}
	}
	return g.URL, nil
}

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
	"tri/lib/record/event"
)

const (
	// overlap is how far before the last known time the history is read again: ids are made on many
	// machines.
	overlap = time.Minute
	// calm is how long a connection must have held for the next attempt to follow at once.
	calm = 30 * time.Second
	// batch is how many events are made durable together.
	batch = 500
)

// Intents (events/gateway#list-of-intents).
const (
	intentGuilds          = 1 << 0
	intentMessages        = 1 << 9
	intentReactions       = 1 << 10
	intentDirect          = 1 << 12
	intentDirectReactions = 1 << 13
	intentContent         = 1 << 15
)

// listening is the state of one Run.
type listening struct {
	*Client
	chat.Resume
	chat.Handler

	known session.Watermark // by the times of ids; everything before is emitted
	past  bool              // there is an earlier state: the log, or a connection

	resumeState resumeState // the session to resume; no ID: none
	recent      recent
	saved       time.Time // when both were last saved
	intents     int
	resumed     int // events since the session was resumed; -1: not to be reported
}

// Run implements chat.Source. A lost connection is resumed; where Discord cannot resume it, missed
// messages are read before anything newer is emitted, so that the log never has a gap before its
// latest time. It returns nil when ctx ends.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	if c.listen != "" {
		l, err := webhook.Listen(c.listen)
		if err != nil {
			return err
		}
		to.Logf("discord: clicks are taken at %s", l.Addr())
		go func() {
			if err := webhook.Serve(ctx, l, c.plausible, c.calls(to)); err != nil {
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
	l := &listening{Client: c, Resume: resume, Handler: to, known: session.NewWatermark(resume.Last, overlap), past: len(resume.Last) > 0, recent: newRecent()}
	l.load()
	s := session.Loop{Platform: "discord", Stable: calm, Now: c.api.Now, Sleep: c.api.Sleep, Wait: l.backoff, OnEnd: func(err error) {
		if errors.Is(err, errStale) {
			l.resumeState = resumeState{}
		}
		c.forgetMe() // so that a revoked token is noticed
	}}
	return s.Run(ctx, l, l.connect)
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
	if l.known.Other.IsZero() {
		l.known.Other = l.api.ServerTime(l.api.Now()).Add(-overlap) // a first start reads the last minute, as a restart would
	}
	if err := l.wants(ctx); err != nil {
		return err
	}
	address, err := l.address(ctx)
	if err != nil {
		return err
	}
	s, every, err := l.dial(ctx, address)
	if err != nil {
		return err
	}
	// The reader's context outlives ctx, so that the connection can be closed properly.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer func() {
		if ctx.Err() != nil {
			_ = s.conn.Close(closeKeep, "")
		}
		_ = s.conn.CloseNow()
		l.save()
	}()
	s.done.Store(l.resumeState.Seq)
	if l.resumed = -1; l.resumeState.ID != "" {
		l.resumed = 0
		err = s.resume(ctx, l.token, l.resumeState)
	} else {
		err = s.identify(ctx, l.token, l.intents)
	}
	if err != nil {
		return err
	}
	go s.read(reading)
	go s.pulse(reading, every, l.chance())
	return l.follow(ctx, s)
}

// wants determines which intents are needed: private messages only if a private chat is watched by
// id.
func (l *listening) wants(ctx context.Context) error {
	if l.intents != 0 {
		return nil
	}
	intents := intentGuilds | intentMessages | intentReactions | intentContent
	for id := range l.chats {
		p, err := l.place(ctx, id)
		if err != nil {
			return err
		}
		if p.Kind == kindDirect || p.Kind == kindGroup {
			intents |= intentDirect | intentDirectReactions
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
		l.Logf("discord: no session may be begun for %v: something begins too many", after.Round(time.Minute))
		if err := l.api.Sleep(ctx, min(after, 24*time.Hour)); err != nil {
			return "", err
		}
	}
	return g.URL, nil
}

// follow processes frames until the socket ends.
func (l *listening) follow(ctx context.Context, s *socket) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f, ok := <-s.frames:
			if !ok {
				return errors.New("gateway: the connection ended")
			}
			if err := l.take(ctx, f, s); err != nil {
				return err
			}
		}
	}
}

// end returns why f ends the connection, or nil if it does not.
func (f *frame) end() error {
	switch {
	case f.err != nil:
		return fmt.Errorf("gateway: %w", f.err)
	case f.Op == opReconnect:
		return session.ErrReconnect
	case f.Op == opInvalid && string(f.Data) == "true":
		return errors.New("the session is not resumed now")
	case f.Op == opInvalid:
		return errStale
	}
	return nil
}

// take emits the events of f and of the frames that have queued up behind it.
func (l *listening) take(ctx context.Context, f frame, s *socket) error {
	var ready []event.Event
	seq := l.resumeState.Seq
	flush := func() error {
		if err := l.durable(ready); err != nil {
			return err
		}
		ready, l.resumeState.Seq = nil, seq
		s.done.Store(seq)
		if l.api.Now().Sub(l.saved) >= time.Second {
			l.save()
		}
		return nil
	}
	for {
		switch {
		case f.end() != nil:
			return errors.Join(flush(), f.end())
		case f.Op == opNoise:
			l.Logf("discord: a frame is not understood, left out")
		case f.Op != opDispatch:
		case f.Type == "READY" || seq != 0 && f.Seq > seq+1:
			// A new session, or events are missing before f.
			if err := flush(); err != nil {
				return err
			}
			if err := l.mendGap(ctx, f); err != nil {
				return err
			}
			seq = l.resumeState.Seq
			fallthrough
		case f.Type == "RESUMED":
			if err := flush(); err != nil { // for the count of resumed events
				return err
			}
			fallthrough
		default:
			es, err := l.dispatched(ctx, f)
			if err != nil {
				return errors.Join(flush(), err)
			}
			ready, seq = append(ready, es...), max(seq, f.Seq)
		}
		if len(ready) >= batch {
			return flush()
		}
		var ok bool
		select {
		case f, ok = <-s.frames:
			if ok {
				continue
			}
		default:
		}
		return flush()
	}
}

// mendGap catches up if f shows that events are missing. If that fails, the session must not be
// resumed after the gap.
func (l *listening) mendGap(ctx context.Context, f frame) error {
	s := l.resumeState
	if f.Type == "READY" {
		s = resumeState{}
		var ready struct {
			resumeState
			User user `json:"user"`
		}
		if err := json.Unmarshal(f.Data, &ready); err != nil {
			return fmt.Errorf("gateway: READY: %w: %w", errStale, err)
		}
		s.ID, s.URL = ready.ID, ready.URL
	}
	l.resumeState = resumeState{}
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	s.Seq = f.Seq - 1
	l.resumeState = s
	return nil
}

// durable emits events and then advances the watermarks.
func (l *listening) durable(events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := l.OnEvents(events...); err != nil {
		return session.FatalError{Err: err}
	}
	for i := range events {
		l.recent.keep(&events[i])
		for _, s := range []string{events[i].CreateTime, events[i].EditedAt} {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
				l.known.Advance(events[i].ChatID, at.Add(-overlap))
			}
		}
	}
	if l.resumed >= 0 {
		l.resumed += len(events)
	}
	return nil
}

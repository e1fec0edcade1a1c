// Package session is the connection loop that platforms share: connect, receive, acknowledge,
// reconnect and resume until an error is final. It also tracks up to which time each chat's history
// has been read.
package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// FatalError marks an error that no new session can repair: received events could not be made
// durable. It ends a Run, which returns Err.
type FatalError struct{ Err error }

func (e FatalError) Error() string { return e.Err.Error() }
func (e FatalError) Unwrap() error { return e.Err }

// ErrReconnect means that the platform asks for a new connection, as some do every few hours. It is
// not reported, and after a session that held there is no wait.
var ErrReconnect = errors.New("the platform renews the connection")

// Loop makes the connections (or the polls) of one Run.
type Loop struct {
	Platform string // its name in reports
	// Stable is how long a session must have held for the attempts to be counted from 1 again. If zero,
	// only a session that returned nil resets the count.
	Stable time.Duration
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	// Wait returns the delay before attempt try (counted from 1), after err.
	Wait func(try int, err error) time.Duration
	// OnEnd is called after every session that does not end the run. May be nil.
	OnEnd func(err error)
}

// Run runs sessions, one after another, until ctx ends (nil) or a session returns a FatalError or
// an error that IsPermanent. After a session that returns nil the next begins at once.
func (s *Loop) Run(ctx context.Context, to chat.Handler, session func(context.Context) error) error {
	for try := 1; ; try++ {
		begun := s.Now()
		err := session(ctx)
		if err == nil && ctx.Err() == nil {
			try = 0
			continue
		}
		to.OnConnect(false)
		fatal := FatalError{}
		switch {
		case errors.As(err, &fatal):
			return fatal.Err
		case ctx.Err() != nil:
			return nil
		case IsPermanent(err):
			return fmt.Errorf("%s: %w", s.Platform, err)
		}
		if s.OnEnd != nil {
			s.OnEnd(err)
		}
		if s.Stable > 0 && s.Now().Sub(begun) > s.Stable {
			try = 1
			if errors.Is(err, ErrReconnect) {
				continue
			}
		}
		wait := s.Wait(try, err)
		if try > 1 || !errors.Is(err, ErrReconnect) {
			to.Logf("%s: %v; trying again in %v", s.Platform, err, wait.Round(time.Millisecond))
		}
		if s.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// IsPermanent reports whether waiting cannot resolve err: a credential or the configuration is
// wrong (sysexit.NoPerm, Config).
func IsPermanent(err error) bool {
	s, ok := sysexit.Of(err)
	return ok && (s == sysexit.NoPerm || s == sysexit.Config)
}

// Chats returns the configured ids as a set, nil if there are none. An id that is not valid is refused; form
// says what they are like, and hint, if not "", where they are found.
func Chats(platform string, ids []string, valid func(string) bool,
	form, hint string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	chats := map[string]bool{}
	for _, id := range ids {
		if chats[id] = true; !valid(id) {
			return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "%s chat %q: %s", platform, id, form),
				hint)
		}
	}
	return chats, nil
}

// Watermark is the time, per chat, up to which the whole history is known. The zero value knows no
// chat.
type Watermark struct {
	chats map[string]time.Time
	// Other is the watermark of all chats without one of their own; zero until it is set.
	Other time.Time
}

// newWatermark returns the watermark of a log with the last times last, each moved back by overlap.
func newWatermark(last map[string]time.Time, overlap time.Duration) Watermark {
	var h Watermark
	for id, at := range last {
		h.Set(id, at.Add(-overlap))
		if h.chats[id].After(h.Other) {
			h.Other = h.chats[id]
		}
	}
	return h
}

// Of returns the watermark of a chat: events after it may have been missed.
func (h *Watermark) Of(chatID string) time.Time {
	if at, ok := h.chats[chatID]; ok {
		return at
	}
	return h.Other
}

// Chats returns the chats with a watermark of their own, and their times.
func (h *Watermark) Chats() iter.Seq2[string, time.Time] { return maps.All(h.chats) }

// Set records that the history of a chat is known up to at.
func (h *Watermark) Set(chatID string, at time.Time) {
	if h.chats == nil {
		h.chats = map[string]time.Time{}
	}
	h.chats[chatID] = at
}

// Advance is like Set but never moves the watermark back.
func (h *Watermark) Advance(chatID string, at time.Time) {
	if at.After(h.Of(chatID)) {
		h.Set(chatID, at)
	}
}

// AdvanceBy advances the watermark of an event's chat to its time less overlap, where live events
// are complete.
func (h *Watermark) AdvanceBy(e *event.Event, overlap time.Duration) {
	h.Advance(e.ChatID, e.ChangedAt().Add(-overlap))
}

// maxRecent is the size of one generation of Recent.
const maxRecent = 10_000

// Recent holds the identities of recently emitted events: at most two generations of maxRecent. The
// zero value is ready for use.
type Recent struct{ now, before map[string]bool }

// Has reports whether id was added recently.
func (r *Recent) Has(id string) bool { return r.now[id] || r.before[id] }

// AddTo adds e to b, unless it was emitted recently, and reports whether it did.
func (r *Recent) AddTo(b *Batch, e event.Event) bool {
	id := e.Identity()
	if r.Has(id) {
		return false
	}
	b.Add(e, id)
	return true
}

// Add remembers id.
func (r *Recent) Add(id string) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.before, r.now = r.now, map[string]bool{}
	}
	r.now[id] = true
}

// Commit commits b and remembers its events. kept is called when all are durable, before they are
// acknowledged; it may be nil.
func (r *Recent) Commit(b *Batch, to chat.Handler, kept func()) error {
	failed, told := b.Commit(to, func() {
		for id := range b.IDs {
			r.Add(id)
		}
		if kept != nil {
			kept()
		}
	})
	if failed != nil {
		return FatalError{failed}
	}
	return told
}

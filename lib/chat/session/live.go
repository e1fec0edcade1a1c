// Package live is the listening that platforms have in common: sessions that are
// begun again until one ends for good, deliveries that are taken together, and what
// is known of each chat.
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

// Broken marks an error as ours: what came could not be made durable, and no new
// session would mend that. It ends a Run, which returns Err.
type Broken struct{ Err error }

func (b Broken) Error() string { return b.Err.Error() }
func (b Broken) Unwrap() error { return b.Err }

// ErrRenew is the platform asking for another connection, as some do every few
// hours. Nobody is told, and after a session that held nothing is waited for.
var ErrRenew = errors.New("the platform renews the connection")

// Sessions are the connections, or the polls, of one Run.
type Sessions struct {
	Platform string // as it is called in what is said
	// Calm is how long a session must have held for the tries to be counted anew. Zero:
	// only one that returns nil was a good one.
	Calm  time.Duration
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	// Wait is how long the platform is left alone before try (from 1), after err.
	Wait func(try int, err error) time.Duration
	// Ended is told of every session that did not end for good. May be nil.
	Ended func(err error)
}

// Keep runs sessions, one after another, until ctx ends (nil), one is Broken, or
// one is refused in a way that waiting does not mend (sysexit.NoPerm, Config). A
// session that returns nil is followed by the next at once.
func (s *Sessions) Keep(ctx context.Context, to chat.Handler, session func(context.Context) error) error {
	for try := 1; ; try++ {
		begun := s.Now()
		err := session(ctx)
		if err == nil && ctx.Err() == nil {
			try = 0
			continue
		}
		to.OnConnect(false)
		broken := Broken{}
		switch {
		case errors.As(err, &broken):
			return broken.Err
		case ctx.Err() != nil:
			return nil
		case Hopeless(err):
			return fmt.Errorf("%s: %w", s.Platform, err)
		}
		if s.Ended != nil {
			s.Ended(err)
		}
		if s.Calm > 0 && s.Now().Sub(begun) > s.Calm {
			try = 1
			if errors.Is(err, ErrRenew) {
				continue
			}
		}
		wait := s.Wait(try, err)
		if try > 1 || !errors.Is(err, ErrRenew) {
			to.Logf("%s: %v; trying again in %v", s.Platform, err, wait.Round(time.Millisecond))
		}
		if s.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// Hopeless reports whether waiting cannot mend err.
func Hopeless(err error) bool {
	s, ok := sysexit.Of(err)
	return ok && (s == sysexit.NoPerm || s == sysexit.Config)
}

// Horizon is a time per chat, up to which everything of it is known. The zero value
// knows of none.
type Horizon struct {
	chats map[string]time.Time
	// Other is that of the chats that nothing is known of; zero until it is set.
	Other time.Time
}

// NewHorizon is that of a log with these last times, overlap before each.
func NewHorizon(last map[string]time.Time, overlap time.Duration) Horizon {
	var h Horizon
	for id, at := range last {
		h.Set(id, at.Add(-overlap))
		if h.chats[id].After(h.Other) {
			h.Other = h.chats[id]
		}
	}
	return h
}

// Of is the time behind which something of a chat may have been missed.
func (h *Horizon) Of(chatID string) time.Time {
	if at, ok := h.chats[chatID]; ok {
		return at
	}
	return h.Other
}

// Chats are the times of the chats that something is known of.
func (h *Horizon) Chats() iter.Seq2[string, time.Time] { return maps.All(h.chats) }

// Set says that everything of a chat is known up to at.
func (h *Horizon) Set(chatID string, at time.Time) {
	if h.chats == nil {
		h.chats = map[string]time.Time{}
	}
	h.chats[chatID] = at
}

// Advance is Set, but never goes back.
func (h *Horizon) Advance(chatID string, at time.Time) {
	if at.After(h.Of(chatID)) {
		h.Set(chatID, at)
	}
}

// maxRecent is how many identities one generation of Recent has.
const maxRecent = 10_000

// Recent are identities of events that were emitted lately: at most two
// generations of maxRecent. The zero value is ready for use.
type Recent struct{ now, before map[string]bool }

// Has reports whether id was kept lately.
func (r *Recent) Has(id string) bool { return r.now[id] || r.before[id] }

// Gather adds e to g, unless it was emitted lately.
func (r *Recent) Gather(g *chat.Gathered, e event.Event) bool {
	id := e.Identity()
	if r.Has(id) {
		return false
	}
	g.Add(e, id)
	return true
}

// Keep remembers id.
func (r *Recent) Keep(id string) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.before, r.now = r.now, map[string]bool{}
	}
	r.now[id] = true
}

// Durable emits what was gathered, remembers it, and tells the platform. kept is
// called in between, when all of it is durable; it may be nil.
func (r *Recent) Durable(g *chat.Gathered, to chat.Handler, kept func()) error {
	failed, told := g.Commit(to, func() {
		for id := range g.IDs {
			r.Keep(id)
		}
		if kept != nil {
			kept()
		}
	})
	if failed != nil {
		return Broken{failed}
	}
	return told
}

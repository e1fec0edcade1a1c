package session

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tri/lib/chat"
)

// Listener is the state of one Run of a source: the events it has emitted, and up to which time
// each chat's history has been read.
type Listener struct {
	chat.Resume
	chat.Handler
	Platform string
	Known    Watermark
	Recent   Recent
	// Kept is called when a batch is durable, before it is acknowledged. May be nil.
	Kept func(*Batch)

	Past     bool // there is an earlier state: a log, or a connection
	reported map[string]bool
}

// Listen returns the listener of a new run. The history is read from overlap before the last times
// in the log.
func Listen(platform string, resume chat.Resume, to chat.Handler, overlap time.Duration) *Listener {
	return &Listener{
		Platform: platform, Resume: resume, Handler: to, Known: newWatermark(resume.Last, overlap),
		Past: len(resume.Last) > 0, reported: map[string]bool{},
	}
}

// Overlap returns how far before the log's last time the history is read again, where only a sweep finds
// a lost event: it may have been lost although later ones arrived, at most two sweeps ago.
func Overlap(sweep time.Duration) time.Duration { return sweep + 5*time.Minute }

// Commit makes b durable, remembers its events and acknowledges it.
func (l *Listener) Commit(b *Batch) error {
	return l.Recent.Commit(b, l, func() {
		if l.Kept != nil {
			l.Kept(b)
		}
	})
}

// LogOnce calls Logf once per run for each key.
func (l *Listener) LogOnce(key, format string, args ...any) {
	if !l.reported[key] {
		l.reported[key] = true
		l.Logf(format, args...)
	}
}

// History reads the messages that a platform keeps of its chats.
type History[M any] struct {
	Now   func() time.Time                            // the platform's clock
	Skew  time.Duration                               // maximum difference between its machines' clocks
	Chats func(ctx context.Context) ([]string, error) // ids of the chats to read now
	// Read returns the messages of a chat that changed after since, each once, in its current version.
	Read func(ctx context.Context, chatID string, since, now time.Time) ([]M, error)
	// Unreadable reports whether err concerns one chat only and must not stop the others.
	Unreadable func(err error) bool
	// Changed is when a message got its current version; ID orders messages of the same time.
	Changed func(*M) time.Time
	ID      func(*M) string
	// Add appends the event of a message, if it has one that is not in Recent.
	Add func(ctx context.Context, m *M, b *Batch) error
}

// Allowed returns the chats of list that watches accepts, for History.Chats.
func Allowed[R any](list func(context.Context) ([]string, error),
	watches func(ctx context.Context, id string) (R, bool, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) (ids []string, err error) {
		all, err := list(ctx)
		for _, id := range all {
			if _, ok, err := watches(ctx, id); err != nil {
				return nil, err
			} else if ok {
				ids = append(ids, id)
			}
		}
		return ids, err
	}
}

// inTransit is the age below which a message may still arrive as a live event.
const inTransit = 5 * time.Second

// CatchUp emits the missed messages of all chats together, in order of time: wherever it is
// interrupted, the log lacks nothing that is older than its newest event.
func (h *History[M]) CatchUp(ctx context.Context, l *Listener) error {
	now := h.Now()
	known := now.Add(-h.Skew)
	if l.Known.Other.IsZero() {
		l.Known.Other = known // a first start reads the last moments, as a restart would
	}
	chats, err := h.Chats(ctx)
	if err != nil {
		return err
	}
	var missed []M
	var read []string
	for _, id := range chats {
		found, err := h.Read(ctx, id, l.Known.Of(id), now)
		if err != nil && h.Unreadable(err) {
			l.LogOnce("chat "+id, "%s: chat %s cannot be read: %v", l.Platform, id, err)
			l.Known.Set(id, l.Known.Of(id))
			continue
		}
		if err != nil {
			return err
		}
		missed, read = append(missed, found...), append(read, id)
	}
	slices.SortStableFunc(missed, func(a, b M) int {
		return cmp.Or(h.Changed(&a).Compare(h.Changed(&b)), cmp.Compare(h.ID(&a), h.ID(&b)))
	})
	recovered, in := 0, map[string]bool{}
	err = Recover(missed, func(m *M, b *Batch) error {
		before := len(b.Events)
		if err := h.Add(ctx, m, b); err != nil {
			return err
		}
		for _, e := range b.Events[before:] {
			// Messages read again because of the overlap, or still in transit, were not missed.
			if at := h.Changed(m); at.After(l.Last[e.ChatID]) && at.Before(now.Add(-inTransit)) {
				recovered++
				in[e.ChatID] = true
			}
		}
		return nil
	}, l.Commit)
	if err != nil {
		return err
	}
	if l.Past && recovered > 0 {
		l.Logf("%s: recovered %d messages and changes of %d chats", l.Platform, recovered, len(in))
	}
	l.Past = true
	for _, id := range read {
		l.Known.Advance(id, known)
	}
	if known.After(l.Known.Other) {
		l.Known.Other = known
	}
	return nil
}

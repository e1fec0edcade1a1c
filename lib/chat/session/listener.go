package session

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tri/lib/chat"
)

// Listener is one Run of a source: what it has emitted, and up to where each chat's
// history is known.
type Listener struct {
	chat.Resume
	chat.Handler
	Platform string
	Known    Watermark
	Recent   Recent
	// Kept is called when a batch is durable, before it is acknowledged. May be nil.
	Kept func(*Batch)

	past     bool // there is something before: a log, or a connection
	reported map[string]bool
}

// Listen returns the listener of a run that begins. overlap before the log's last
// times is read again.
func Listen(platform string, resume chat.Resume, to chat.Handler, overlap time.Duration) *Listener {
	return &Listener{
		Platform: platform, Resume: resume, Handler: to, Known: NewWatermark(resume.Last, overlap),
		past: len(resume.Last) > 0, reported: map[string]bool{},
	}
}

// Commit makes b durable, remembers it and acknowledges it.
func (l *Listener) Commit(b *Batch) error {
	return l.Recent.Commit(b, l, func() {
		if l.Kept != nil {
			l.Kept(b)
		}
	})
}

// LogOnce is Logf for what is said once in a run, by key.
func (l *Listener) LogOnce(key, format string, args ...any) {
	if !l.reported[key] {
		l.reported[key] = true
		l.Logf(format, args...)
	}
}

// History reads what a platform keeps of its chats.
type History[M any] struct {
	Now   func() time.Time                            // the platform's
	Skew  time.Duration                               // that the clocks of its machines may differ by
	Chats func(ctx context.Context) ([]string, error) // those to read, now
	// Read returns the messages of a chat that changed after since, each once, as it is
	// now.
	Read func(ctx context.Context, chatID string, since, now time.Time) ([]M, error)
	// Unreadable reports whether err is of one chat, which does not hold up the others.
	Unreadable func(err error) bool
	// Changed is when a message became what it is; ID orders those of one time.
	Changed func(*M) time.Time
	ID      func(*M) string
	// Add adds the event of a message, if it has one that is not in Recent.
	Add func(ctx context.Context, m *M, b *Batch) error
}

// inTransit is how new a message can be and still come by itself.
const inTransit = 5 * time.Second

// CatchUp emits what was missed, of all chats together and in the order in which it
// happened: wherever it is cut off, nothing older than what is in the log is missing
// from it.
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
	var fresh Recovered
	err = Recover(missed, func(m *M, b *Batch) error {
		before := len(b.Events)
		if err := h.Add(ctx, m, b); err != nil {
			return err
		}
		for _, e := range b.Events[before:] {
			// What is only read again for the overlap, or on its way, was not missed.
			if at := h.Changed(m); at.After(l.Last[e.ChatID]) && at.Before(now.Add(-inTransit)) {
				fresh.Add(e.ChatID)
			}
		}
		return nil
	}, l.Commit)
	if err != nil {
		return err
	}
	if l.past {
		fresh.Report(l.Platform, l)
	}
	l.past = true
	for _, id := range read {
		l.Known.Advance(id, known)
	}
	if known.After(l.Known.Other) {
		l.Known.Other = known
	}
	return nil
}

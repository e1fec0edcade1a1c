package dispatch

import (
	"slices"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/event"
	"tri/lib/record/presence"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// hold delays investigations by seconds: a question is often not whole in its first message. It is no state
// of a thread: a restart only begins it anew.
type hold struct {
	window, most time.Duration        // after the asker's last message; in all
	since        map[string]time.Time // by run id, when a run was first held
	over         *time.Timer          // fires at next, when a run may start
	next         time.Time
}

func newHold(t *config.Turn) hold {
	h := hold{since: map[string]time.Time{}, over: time.NewTimer(time.Hour)}
	if t.HoldS != nil && t.MaxHoldS != nil {
		h.window, h.most = seconds(*t.HoldS), seconds(*t.MaxHoldS)
	}
	return h
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// held reports whether a run waits for the rest of its question, and if so has the loop woken when that time
// is over.
func (d *Dispatcher) held(j job) bool {
	t := d.threads[j.key]
	if d.Once || t == nil || j.kind != run.Investigate || d.hold.window <= 0 {
		return false
	}
	now := d.Now()
	since, ok := d.hold.since[j.runID]
	if !ok {
		since = now
	}
	until := d.lastWord(t, now).Add(d.hold.window)
	asker := &event.Event{Platform: t.Platform, ChatID: t.ChatID, MessageID: t.ThreadID, Sender: event.Sender{ID: t.OriginalSenderID}}
	for _, typing := range presence.Read(d.Home, now) {
		if typing.Is(asker) && typing.ExpiresAt.After(until) {
			until = typing.ExpiresAt
		}
	}
	if limit := since.Add(d.hold.most); until.After(limit) {
		until = limit
	}
	if !until.After(now) {
		delete(d.hold.since, j.runID)
		return false
	}
	d.hold.since[j.runID] = since
	if !d.hold.next.After(now) || until.Before(d.hold.next) {
		d.hold.next = until
		d.hold.over.Reset(until.Sub(now)) // the loop then looks at every held run
	}
	return true
}

// lastWord returns when the asker of t last wrote in it; not later than now, whatever the platform's clock
// says.
func (d *Dispatcher) lastWord(t *thread.Thread, now time.Time) time.Time {
	for _, m := range slices.Backward(t.Messages) {
		if m.SenderID != t.OriginalSenderID {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, m.At); err == nil && at.Before(now) {
			return at
		}
		return now
	}
	return time.Time{}
}

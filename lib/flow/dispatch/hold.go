package dispatch

import (
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/event"
	"tri/lib/record/presence"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// hold delays investigations by seconds: a question is often not whole in its first message. It is not a
// state of a thread: a restart only begins it anew.
type hold struct {
	quiet
	home         *durable.Home
	clock        func() time.Time
	window, most time.Duration        // after the asker's last message; in all
	since        map[string]time.Time // by run id, when a run was first held
	wake         *time.Timer          // wakes the loop at next, when a run may start
	next         time.Time
}

func newHold(d *Dispatcher) *hold {
	h := &hold{home: d.Home, clock: d.Now, since: map[string]time.Time{}, wake: d.wake}
	if t := d.Config.Turn; t.HoldS != nil && t.MaxHoldS != nil && !d.Once {
		h.window, h.most = seconds(*t.HoldS), seconds(*t.MaxHoldS)
	}
	return h
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// holds reports whether a run waits for the rest of its question, and if so has the loop woken when that time
// is over.
func (h *hold) holds(j job, t *thread.Thread) bool {
	if j.kind != run.Investigate || h.window <= 0 {
		return false
	}
	now := h.clock()
	since, ok := h.since[j.runID]
	if !ok {
		since = now
	}
	until := lastWord(t, now).Add(h.window)
	if !until.After(now) { // typing can only make it later
		until = h.typing(t, until, now)
	}
	if limit := since.Add(h.most); until.After(limit) {
		until = limit
	}
	if !until.After(now) {
		delete(h.since, j.runID)
		return false
	}
	h.since[j.runID] = since
	if !h.next.After(now) || until.Before(h.next) {
		h.next = until
		h.wake.Reset(until.Sub(now)) // the loop then looks at every held run
	}
	return true
}

// typing returns until, or when the typing indicator of the asker expires, if that is later.
func (h *hold) typing(t *thread.Thread, until, now time.Time) time.Time {
	asker := &event.Event{Platform: t.Platform, ChatID: t.ChatID, MessageID: t.ThreadID,
		Sender: event.Sender{ID: t.OriginalSenderID}}
	for _, typing := range presence.Read(h.home, now) {
		if typing.Is(asker) && typing.ExpiresAt.After(until) {
			until = typing.ExpiresAt
		}
	}
	return until
}

// lastWord returns when the asker of t last wrote in it; not later than now, whatever the platform's clock
// says.
func lastWord(t *thread.Thread, now time.Time) time.Time {
	for _, m := range slices.Backward(slices.Concat(t.Messages, t.Pending)) { // what came while it was held
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

package dispatch

import (
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

// expiry ends the wait of drafts that have waited too long for a person, by the waiting time counted.
type expiry struct {
	quiet
	store   *store
	most    time.Duration // 0: none expires
	waiting *decision.Waiting
}

func newExpiry(d *Dispatcher) *expiry {
	most := time.Duration(d.Config.Dispatch.OfferExpiresH * float64(time.Hour))
	return &expiry{store: d.store, most: most}
}

func (e *expiry) open() (err error) {
	e.waiting, err = decision.OpenWaiting(e.store.home)
	return err
}

func (e *expiry) tick(now time.Time) (ins []thread.Input, err error) {
	var ids []string
	for _, t := range e.store.open {
		if t.Status == thread.PendingUser && t.UserApprovedAt == nil && t.DraftPending != nil {
			ids = append(ids, waitingID(t))
		}
	}
	if err := e.waiting.Tick(now, ids); err != nil {
		return nil, err
	}
	for _, t := range e.store.open {
		if e.expired(t) {
			ins = append(ins, thread.Input{At: text.Timestamp(now), Key: t.Key,
				Expired: &thread.Expired{DraftSHA256: t.DraftSHA256}})
		}
	}
	return ins, nil
}

func (e *expiry) expired(t *thread.Thread) bool {
	return e.most > 0 && t.Status == thread.PendingUser && t.UserApprovedAt == nil &&
		e.waiting.Of(waitingID(t)) > e.most
}

func waitingID(t *thread.Thread) string { return decision.ID(t.Key, t.Cycle, t.DraftSHA256) }

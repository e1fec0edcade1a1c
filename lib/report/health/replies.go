package health

import (
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// How long a reply may take from the end of its grace period to its claim, and from there to its
// end: rate limits may cause delays.
const (
	unclaimed = 20 * time.Second
	underWay  = 2 * time.Minute
)

// replies looks for approved drafts that are not posted. The log of decisions is read from where
// the last look ended.
func (x *checker) replies() {
	const name = "lag tri-reply"
	if x.config == nil {
		return
	}
	m := x.memory
	if m.tail == nil {
		m.tail, m.standing = decision.NewTail(x.home), decision.NewState(decision.PolicyOf(x.config))
	}
	err := m.tail.Next(func(r decision.Record) error {
		m.standing.Add(r)
		return nil
	})
	if err != nil {
		m.tail = nil // read from the beginning next time; the row of the chain reports the fault
		return
	}
	waiting, first := 0, x.Now()
	m.standing.Keys(func(s *decision.Standing) {
		if !s.Approved() {
			return
		}
		waiting++
		if due := text.ParseTime(s.Decision.At).Add(x.config.Gate.Grace()); due.Before(first) {
			first = due
		}
	})
	switch late := x.Now().Sub(first); {
	case late > unclaimed:
		x.fail(name, x.fix(name),
			"%d approved drafts wait to be posted, the first for %s longer than its grace",
			waiting, ago(late))
	case waiting > 0:
		x.ok(name, "%d approved drafts wait for their grace to end", waiting)
	default:
		x.ok(name, "none")
	}
}

// underway warns of posts that take long because the platform refuses or delays them.
func (x *checker) underway(entries []*outbox.Entry) {
	for _, e := range entries {
		if at := text.ParseTime(e.IntentAt); e.State == outbox.Intent && x.Now().Sub(at) > underWay {
			x.warn("posts", "tail "+x.home.Path("logs/reply.log")+" says what the platform answers",
				"%s has been under way for %s", e.ID, ago(x.Now().Sub(at)))
			return
		}
	}
}

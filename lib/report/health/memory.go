package health

import (
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
)

// memory is what one look leaves to the next.
type memory struct {
	looks  int
	tracks map[string]*track

	home     *durable.Home
	tail     *decision.Tail
	standing *decision.State
}

func newMemory() *memory { return &memory{tracks: map[string]*track{}} }

// of is what is remembered of a stage.
func (m *memory) of(name string) *track {
	t := m.tracks[name]
	if t == nil {
		t = &track{at: -1}
		m.tracks[name] = t
	}
	return t
}

// track is how a stage moved along a log.
type track struct {
	at    int64
	moved time.Time // when it was first seen at at
	came  []arrival // what it has not come to, oldest first
}

// arrival is that a log was seen to end at a place.
type arrival struct {
	end int64
	at  time.Time
}

// maxArrivals are remembered of a stage that stands still; what comes later counts
// as having come with the last.
const maxArrivals = 1000

// see takes in how far a stage has come, and how far it could have. waits is how
// long the first of what it has not come to has been there, still how long the
// stage has not moved though there was something: both 0 where nothing waits.
func (t *track) see(at, end int64, now time.Time) (waits, still time.Duration) {
	if at != t.at {
		t.at, t.moved = at, now
	}
	for len(t.came) > 0 && t.came[0].end <= at {
		t.came = t.came[1:]
	}
	last := at
	if n := len(t.came); n > 0 {
		last = t.came[n-1].end
	}
	switch n := len(t.came); {
	case end < last || n == 0 && end <= at: // nothing waits, or the log is another one
		t.came, t.moved = nil, now
		return 0, 0
	case end > last && n >= maxArrivals:
		t.came[n-1].end = end
	case end > last:
		t.came = append(t.came, arrival{end, now})
	}
	return now.Sub(t.came[0].at), now.Sub(t.moved)
}

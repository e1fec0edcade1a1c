package health

import (
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
)

// memory is what one look of Watch passes to the next.
type memory struct {
	looks  int
	tracks map[string]*track

	home     *durable.Home
	tail     *decision.Tail
	standing *decision.State
}

func newMemory() *memory { return &memory{tracks: map[string]*track{}} }

// of returns the track of a stage.
func (m *memory) of(name string) *track {
	t := m.tracks[name]
	if t == nil {
		t = &track{at: -1}
		m.tracks[name] = t
	}
	return t
}

// track is the progress of a stage along a log.
type track struct {
	at    int64
	moved time.Time // when it was first seen at its position
	came  []arrival // observations after its position, oldest first
}

// arrival is an observed end of a log.
type arrival struct {
	end int64
	at  time.Time
}

// maxArrivals is how many observations are kept for a stage without progress; later data counts as
// having arrived with the last.
const maxArrivals = 1000

// see records the position of a stage and the end of the log. waits is how long the oldest unread
// data has been there, still how long the stage has made no progress while data was waiting; both
// are 0 if nothing waits.
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
	case end < last || n == 0 && end <= at: // nothing waits, or the log is a different one
		t.came, t.moved = nil, now
		return 0, 0
	case end > last && n >= maxArrivals:
		t.came[n-1].end = end
	case end > last:
		t.came = append(t.came, arrival{end, now})
	}
	return now.Sub(t.came[0].at), now.Sub(t.moved)
}

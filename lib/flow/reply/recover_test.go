package reply

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"tri/lib/record/decision"
)

// TestGraceByNoClockThatIsSet: a new approval waits by the monotonic clock, so that setting the wall clock
// posts nothing early; an approval that seems to be in the future waits no longer than the grace period.
func TestGraceByNoClockThatIsSet(t *testing.T) {
	for _, said := range []time.Duration{-20 * time.Second, 0, time.Hour} {
		now := time.Now()
		p := poster{Options: Options{Grace: time.Minute, Now: func() time.Time { return now }}}
		ends := p.graceEnds(&decision.Record{At: now.Add(said).UTC().Format(time.RFC3339Nano)})
		if !strings.Contains(ends.String(), " m=") {
			t.Errorf("said %v: it ends at %v, by the clock on the wall", said, ends)
		}
		if left := ends.Sub(now); left != min(time.Minute+said, time.Minute) {
			t.Errorf("said %v: %v are left", said, left)
		}
	}
}

// TestGraceOfAYesBeforeTheClockWasSet: a yes that is read after the clock was set
// forward is not as old as it says.
func TestGraceOfAYesBeforeTheClockWasSet(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t)
	now := time.Now()
	p := poster{Options: Options{Grace: time.Minute, Now: func() time.Time {
		return now
	}, Say: t.Logf}, tail: decision.NewTail(w.home), state: decision.NewState(decision.Policy{})}
	o := w.offer("local.dev.1", 1, "It is 5.")
	if err := p.hear(); err != nil {
		t.Fatal(err)
	}
	now = later(t, now, day)
	for _, tt := range []struct{ said, left time.Duration }{
		{-day - 20*time.Second, 40 * time.Second}, {-day, time.Minute}, {-20 * time.Second, time.Minute},
		{time.Hour, time.Minute},
	} {
		o.At = now.Add(tt.said).UTC().Format(time.RFC3339Nano)
		if left := p.graceEnds(&o).Sub(now); left != tt.left {
			t.Errorf("said %v before: %v are left, want %v", -tt.said, left, tt.left)
		}
	}
	o.At = now.Add(-20 * time.Second).UTC().Format(time.RFC3339Nano)
	if err := p.hear(); err != nil || p.graceEnds(&o).Sub(now) != 40*time.Second {
		t.Errorf("said since then: %v are left, %v", p.graceEnds(&o).Sub(now), err)
	}
}

// later is the same instant by a clock that was set forward, as the time package
// keeps it: in its first word the seconds on the wall, above 30 bits of nanoseconds.
func later(t *testing.T, now time.Time, by time.Duration) time.Time {
	t.Helper()
	set := now
	*(*uint64)(unsafe.Pointer(&set)) += uint64(by/time.Second) << 30
	if set.Sub(now) != 0 || set.Round(0).Sub(now.Round(0)) != by {
		t.Skip("the time package keeps its times in another way")
	}
	return set
}

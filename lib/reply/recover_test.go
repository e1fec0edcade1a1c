package reply

import (
	"strings"
	"testing"
	"time"

	"tri/lib/decision"
)

// TestGraceByNoClockThatIsSet: an approval said an instant ago waits by the
// monotonic clock, so that setting the other one posts nothing early; one that seems
// to come from the future waits no longer than the grace.
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

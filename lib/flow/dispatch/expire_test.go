package dispatch

import (
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

// TestClockGlitchExpiresNothing: a clock that is days ahead for a moment ends no
// waiting; time that passes does.
func TestClockGlitchExpiresNothing(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	text := "It is 5."
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	th := &thread.Thread{Key: "local.dev.1", Status: thread.PendingUser, Cycle: 1, DraftPending: &text,
		DraftSHA256: decision.Sum(text), ReadyAt: noon.Format(time.RFC3339)}
	e := newExpiry(&Dispatcher{Options: Options{Config: config.Default()}, store: &store{home: h}})
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	count := func(at time.Time) bool {
		if err := e.waiting.Tick(at, []string{waitingID(th)}); err != nil {
			t.Fatal(err)
		}
		return e.expired(th)
	}
	for _, at := range []time.Duration{0, time.Second, 4 * 24 * time.Hour, 2 * time.Second, 3 * time.Second} {
		if count(noon.Add(at)) {
			t.Fatalf("expired by a clock that showed %v", at)
		}
	}
	hours := 0
	for ; !count(noon.Add(time.Duration(hours) * time.Hour)); hours++ {
		if hours > 100 {
			t.Fatal("never expires")
		}
	}
	if hours < 70 {
		t.Errorf("expired after %d hours", hours)
	}
}

package reply

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"tri/lib/record/decision"
	"tri/lib/record/outbox"
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

// TestTriedByTheMonotonicClock: the platform's answer is lost, and the sink that looks for the post is given
// the time of the try with its monotonic reading; a later process has only the time of the file.
func TestTriedByTheMonotonicClock(t *testing.T) {
	w := newWorld(t)
	w.now = time.Now()
	w.chat.script = []string{"lost answer"}
	w.say(decision.Approve, w.offer("local.dev.1", 1, "It is 5."))
	w.chat.findErr = errCrash
	opts := w.options(nil)
	if err := Run(t.Context(), opts); err == nil {
		t.Fatal("it is found, and the chat cannot be read")
	}
	for _, p := range w.chat.found {
		if !p.Own || !strings.Contains(p.Tried.String(), " m=") {
			t.Errorf("the sink is told %v, own %v", p.Tried, p.Own)
		}
	}
	n := len(w.chat.found)
	w.chat.findErr = nil
	w.run()
	if n == 0 || len(w.chat.found) != n+1 || w.chat.found[n].Own || len(w.chat.stands) != 1 {
		t.Errorf("asked %+v, posted %+v", w.chat.found, w.chat.stands)
	}
}

// TestRetryOfALongRestoredAnswer: a restored claim is parked in one part, however long its text is. "Retry"
// posts all of it, once, in parts that the platform accepts, whatever crashes.
func TestRetryOfALongRestoredAnswer(t *testing.T) {
	const said = "It is 5 here. And 7 there. And 9 in the other place."
	for n := 1; ; n++ {
		w := newWorld(t)
		w.chat.limit = 20
		o := w.offer("local.dev.1", 1, said)
		w.say(decision.Approve, o)
		w.append(decision.Record{Kind: decision.Claim, By: "tri-reply", Via: "code", Key: o.Key, Cycle: o.Cycle,
			DraftSHA256: o.DraftSHA256, Nonce: "before"})
		for _, e := range outbox.Derive(&o, o.Target, 0) {
			e.State, e.Tries = outbox.Parked, 1
			if err := e.Save(w.home); err != nil {
				t.Fatal(err)
			}
		}
		settle := decision.Record{Kind: decision.Settle, By: "ana", Via: "terminal", Key: o.Key, Cycle: o.Cycle,
			DraftSHA256: o.DraftSHA256, Post: outbox.ID(o.Key, o.Cycle, o.DraftSHA256, 1), Tries: 1,
			Outcome: decision.SettleRetry}
		w.append(settle)
		crashed := w.crashAt(n)
		w.run()
		got := strings.Join(strings.Fields(w.chat.text()), " ")
		if rs := w.replies(); got != said || len(rs) != 1 || rs[0].Outcome != outbox.Posted ||
			len(w.chat.stands) < 3 {
			t.Fatalf("crash %d: posted %q; %+v; %q", n, got, rs, w.said)
		}
		for key, copies := range w.chat.copies() {
			if copies != 1 {
				t.Errorf("crash %d: %d of %s", n, copies, key)
			}
		}
		if !crashed {
			return
		}
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

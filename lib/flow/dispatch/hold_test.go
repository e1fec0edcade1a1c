package dispatch

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/presence"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// TestHold: an investigation starts hold_s after the asker's last message, later while the asker types, at
// most max_hold_s after it was first held; others' typing, old messages and --once do not delay it.
func TestHold(t *testing.T) {
	home, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	begin := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return begin.Add(seconds(s)) }
	now := begin
	cfg := config.Default()
	cfg.Turn = config.Turn{HoldS: new(2.5), MaxHoldS: new(15.0)}
	d := &Dispatcher{Options: Options{Home: home, Config: cfg, Now: func() time.Time {
		return now
	}}, wake: time.NewTimer(time.Hour)}
	h := newHold(d)
	th := &thread.Thread{Key: "k", Platform: "matrix", ChatID: "c", ThreadID: "1", OriginalSenderID: "ana"}
	say := func(who string, s float64) {
		all := &th.Messages
		if len(th.Messages) > 0 && who == "ana" {
			all = &th.Pending // as of a thread that is investigated
		}
		*all = append(*all, thread.Message{SenderID: who, At: at(s).Format(time.RFC3339Nano)})
	}
	types := func(who string, until float64) {
		t.Helper()
		text, err := json.Marshal([]presence.Typing{{Platform: "matrix", ChatID: "c", UserID: who,
			Kind: "typing", ExpiresAt: at(until)}})
		if err := errors.Join(err, home.MkdirAll(presence.Folder),
			home.Swap(presence.Folder+"/x.json", text)); err != nil {
			t.Fatal(err)
		}
	}
	j := job{kind: run.Investigate, runID: "i-1", key: "k"}
	held := func(s float64, want bool) {
		t.Helper()
		now = at(s)
		if got := h.holds(j, th); got != want {
			t.Errorf("after %g s: held %v", s, got)
		}
	}
	say("ana", 0)
	held(0.1, true)
	held(2.4, true)
	say("ana", 2) // continues
	held(2.6, true)
	say("ben", 4) // somebody else
	held(4.6, false)

	say("ana", 10)
	held(10, true)
	for s := 12.0; s < 25; s += 2 {
		say("ana", s)
		held(s, true)
	}
	held(25.1, false) // max_hold_s after 10

	say("ana", 30)
	waits := h
	d.Once = true
	h = newHold(d)
	held(30, false)
	h = waits
	j.kind = run.Validate
	held(30, false)

	j.kind = run.Investigate
	say("ana", 50)
	types("ben", 58)
	held(50, true)
	held(52.6, false)
	say("ana", 60)
	types("ana", 66)
	held(60, true)
	held(65.9, true)
	types("ana", 90)
	held(66.1, true)
	held(75.1, false) // max_hold_s after 60
}

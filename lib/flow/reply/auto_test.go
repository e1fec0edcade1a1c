package reply

import (
	"context"
	"testing"
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

// TestAutomatic: a reply approved only by the policy is posted while it is fresh and its card is shown,
// and never otherwise.
func TestAutomatic(t *testing.T) {
	for _, tt := range []struct {
		name    string
		asked   bool // for the card
		refused bool // the card, by the configuration
		on      bool // automatic replies
		after   time.Duration
		undo    bool
		want    int
	}{
		{"told", true, false, true, 0, false, 1},
		{"nobody was told", false, false, true, 0, false, 0},
		{"nobody could be told", true, true, true, 0, false, 0},
		{"off", true, false, false, 0, false, 0},
		{"late", true, false, true, decision.AutoLasts + time.Second, false, 0},
		{"taken back", true, false, true, 0, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			b := &board{platform: w.chat}
			o := w.offer("local.dev.1", 1, "It is 5.")
			auto := decision.Record{Kind: decision.Auto, By: decision.Dispatcher, Via: decision.ViaPolicy,
				Key: o.Key, Cycle: 1, DraftSHA256: o.DraftSHA256, Text: o.Text}
			w.append(auto)
			if tt.undo {
				w.append(decision.Record{Kind: decision.Undo, By: "ana", Via: "terminal", Key: o.Key,
					Cycle: 1, DraftSHA256: o.DraftSHA256})
			}
			if tt.asked {
				s := notify.Signal{ID: notify.OfAuto(decision.ID(o.Key, 1, o.DraftSHA256)), Kind: notify.Card,
					At: text.Timestamp(start), Platform: "fake", ChatID: "ops"}
				if err := notify.Ask(w.home, s); err != nil {
					t.Fatal(err)
				}
			}
			opts := w.options(nil)
			opts.Policy = func() (decision.Policy, error) {
				return decision.Policy{Approvers: w.approvers, Auto: tt.on}, nil
			}
			opts.Sinks["fake"] = b
			if !tt.refused {
				opts.Allowed = func(*notify.Signal) error { return nil }
			}
			w.now = w.now.Add(tt.after)
			err := Run(context.Background(), opts)
			if len(w.chat.stands) != tt.want || err != nil && tt.want > 0 {
				t.Errorf("%d posts, %v; said %q", len(w.chat.stands), err, w.said)
			}
		})
	}
}

package decision

import (
	"testing"
	"time"

	"tri/lib/base/durable"
)

func waitingHome(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestWaitingByCappedSteps: a clock that jumps and comes back, and the time in which
// nothing ran, add at most a step; time that passes tick by tick counts in full.
func TestWaitingByCappedSteps(t *testing.T) {
	const day = 24 * time.Hour
	ids := []string{"a"}
	for _, tt := range []struct {
		name  string
		steps []time.Duration // of the wall clock, between ticks
		open  []int           // ticks before which the program is started again
		want  time.Duration
	}{
		{"tick by tick", []time.Duration{time.Minute, time.Minute, time.Minute}, nil, 3 * time.Minute},
		{"there and back", []time.Duration{time.Minute, 4 * day, -4 * day, time.Minute}, nil,
			time.Hour + 2*time.Minute},
		{"a weekend's sleep", []time.Duration{time.Minute, 3 * day}, nil, time.Hour + time.Minute},
		{"not running", []time.Duration{time.Minute, 10 * day, time.Minute}, []int{1},
			time.Hour + 2*time.Minute},
		{"set back while not running", []time.Duration{time.Minute, -10 * day, time.Minute}, []int{1},
			2 * time.Minute},
		{"each hour from cron", []time.Duration{time.Hour, time.Hour, time.Hour}, []int{0, 1, 2},
			3 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := waitingHome(t)
			open := func() *Waiting {
				w, err := OpenWaiting(h)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			now, w := noon, open()
			if err := w.Tick(now, ids); err != nil {
				t.Fatal(err)
			}
			for i, step := range tt.steps {
				for _, n := range tt.open {
					if n == i {
						w = open()
					}
				}
				now = now.Add(step)
				if err := w.Tick(now, ids); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.Of("a"); got != tt.want {
				t.Errorf("waited %v, want %v", got, tt.want)
			}
		})
	}
}

// TestWaitingIsMonotonic: inside one process the wall clock does not count at all.
func TestWaitingIsMonotonic(t *testing.T) {
	w, err := OpenWaiting(waitingHome(t))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, at := range []time.Time{began, began.Add(time.Minute), began.Add(2 * time.Minute)} {
		if err := w.Tick(at, []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Of("a"); got != 2*time.Minute {
		t.Errorf("waited %v", got)
	}
}

// TestWaitingForgets: a draft that is gone counts anew when it comes again, and a file
// that cannot be read voids nothing.
func TestWaitingForgets(t *testing.T) {
	h := waitingHome(t)
	w, err := OpenWaiting(h)
	if err != nil {
		t.Fatal(err)
	}
	for i, ids := range [][]string{{"a"}, {"a"}, {}, {"a"}} {
		if err := w.Tick(noon.Add(time.Duration(i)*time.Minute), ids); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Of("a"); got != 0 {
		t.Errorf("waited %v", got)
	}
	if err := h.Replace(WaitingName, []byte("\x00{")); err != nil {
		t.Fatal(err)
	}
	if w, err = OpenWaiting(h); err != nil || w.Of("a") != 0 {
		t.Errorf("%v, %v", w, err)
	}
}

// TestUndoOfAnExpiry: an expired offer is valid again after a person's undo; one withdrawn for
// another reason is not.
func TestUndoOfAnExpiry(t *testing.T) {
	for note, want := range map[string]bool{ExpiredNote: true, "the question was edited": false} {
		s := NewState(Policy{Approvers: []string{"ana"}})
		r := Record{Kind: Offer, By: Dispatcher, Key: "k", Cycle: 1, Text: "x", DraftSHA256: Sum("x"),
			At: noon.Format(time.RFC3339)}
		s.Add(r)
		r.Kind, r.Note = Withdraw, note
		s.Add(r)
		r.Kind, r.Note, r.By = Undo, "", "eve"
		if counts, _ := s.Add(r); counts || s.Standing("k").Approved() {
			t.Error("eve may not decide")
		}
		r.Kind, r.Note, r.By = Withdraw, note, Dispatcher
		s.Add(r)
		r.Kind, r.Note = Undo, ""
		r.By = "ana"
		counts, why := s.Add(r)
		if st := s.Standing("k"); counts != want || st.Open(noon) != want ||
			st.Expired() == want && note == ExpiredNote {
			t.Errorf("%s: counts %v (%s), open %v", note, counts, why, st.Open(noon))
		}
		r.Kind, r.Text = Approve, "x"
		if counts, _ := s.Add(r); counts != want {
			t.Errorf("%s: a yes counts %v", note, counts)
		}
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// play runs sessions with given durations and errors on a clock of its own, and returns the delays
// before each attempt but the first.
func play(t *testing.T, ends []error, lasts []time.Duration) (waits []string, said []string, err error) {
	t.Helper()
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	n := 0
	s := Loop{Platform: "x", Stable: 10 * time.Second, Now: func() time.Time { return now },
		Sleep: func(context.Context, time.Duration) error { return nil },
		Wait: func(try int, _ error) time.Duration {
			waits = append(waits, fmt.Sprint("try ", try))
			return time.Second
		}}
	r := chattest.Handler{Log: func(format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = s.Run(ctx, r, func(context.Context) error {
		if n == len(ends) {
			cancel()
			return context.Canceled
		}
		n++
		now = now.Add(lasts[n-1])
		return ends[n-1]
	})
	return waits, said, err
}

func TestLoop(t *testing.T) {
	cut, full := errors.New("cut"), errors.New("disk full")
	for _, c := range []struct {
		name  string
		ends  []error
		lasts []time.Duration
		waits string
		said  int
		err   error
	}{
		{"tries are counted", []error{cut, cut, cut}, make([]time.Duration, 3), "try 1 try 2 try 3", 3, nil},
		{"a session that held begins the count anew", []error{cut, cut, cut},
			[]time.Duration{0, time.Minute, 0}, "try 1 try 1 try 2", 3, nil},
		{"one that returns nil does too", []error{cut, nil, cut}, make([]time.Duration, 3),
			"try 1 try 1", 2, nil},
		{"a renewal of a good connection is no news", []error{ErrReconnect, cut},
			[]time.Duration{time.Hour, 0}, "try 2", 1, nil},
		{"one at once is waited for", []error{ErrReconnect, ErrReconnect}, make([]time.Duration, 2),
			"try 1 try 2", 1, nil},
		{"what cannot be kept ends it", []error{fmt.Errorf("take: %w", FatalError{full}), cut},
			make([]time.Duration, 2), "", 0, full},
		{"so does what waiting does not mend", []error{sysexit.With(sysexit.NoPerm, cut)},
			make([]time.Duration, 1), "", 0, cut},
	} {
		waits, said, err := play(t, c.ends, c.lasts)
		if got := strings.Join(waits, " "); got != c.waits || len(said) != c.said || !errors.Is(err, c.err) ||
			(err == nil) != (c.err == nil) {
			t.Errorf("%s: waits %q, want %q; said %q; %v", c.name, got, c.waits, said, err)
		}
	}
}

func TestWatermark(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 9, minute, 0, 0, time.UTC) }
	h := newWatermark(map[string]time.Time{"a": at(10), "b": at(20)}, 5*time.Minute)
	h.Advance("a", at(1))  // never back
	h.Advance("c", at(14)) // not behind the watermark of all chats
	h.Advance("b", at(30))
	for id, want := range map[string]time.Time{"a": at(5), "b": at(30), "c": at(15), "d": at(15)} {
		if got := h.Of(id); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// TestReceiver ends a batch by a refusal and by the end of the connection: deliveries parsed before
// are made durable and acknowledged.
func TestReceiver(t *testing.T) {
	bad, end := errors.New("not now"), errors.New("the connection ended")
	for _, c := range []struct {
		name string
		in   []string // "!" is refused
		end  error
		kept string
		done string
		want error
	}{
		{"all is taken together", []string{"a", "b", "a", "c"}, end, "a b c", "yes yes yes yes", end},
		{"what is refused ends it", []string{"a", "!", "b"}, end, "a", "no yes", bad},
	} {
		var kept, done []string
		commit := func(g *Batch) error {
			var r Recent
			return r.Commit(g, chattest.Handler{Event: func(e event.Event) error {
				kept = append(kept, e.MessageID)
				return nil
			}}, nil)
		}
		parse := func(_ context.Context, id string, g *Batch) error {
			if id == "!" {
				return bad
			}
			g.Add(event.Event{MessageID: id}, id)
			return nil
		}
		in := make(chan Delivery[string], len(c.in)+1)
		for _, id := range c.in {
			in <- Delivery[string]{What: id, Done: func(err error) error {
				done = append(done, map[bool]string{true: "yes", false: "no"}[err == nil])
				return nil
			}}
		}
		in <- Delivery[string]{End: c.end}
		receiver := Receiver[string]{CatchUp: func(context.Context) error {
			return nil
		}, Parse: parse, Commit: commit, Sweep: time.Hour}
		up := false
		err := receiver.Receive(t.Context(), chattest.Handler{Connect: func(on bool) { up = on }}, in)
		if !errors.Is(err, c.want) || strings.Join(kept, " ") != c.kept ||
			strings.Join(done, " ") != c.done || !up {
			t.Errorf("%s: kept %q, told %q, up %v: %v", c.name, kept, done, up, err)
		}
	}
}

// TestMissed: if a delivery shows a gap, the deliveries before it are committed first, then the gap
// is caught up, then the delivery is parsed; a resumed connection does not catch up, and is up when
// something arrives.
func TestMissed(t *testing.T) {
	var order []string
	l := Listen("x", chat.Resume{}, chattest.Handler{
		Event:   func(e event.Event) error { order = append(order, e.MessageID); return nil },
		Connect: func(up bool) { order = append(order, fmt.Sprint("up ", up)) },
	}, 0)
	next := 1
	r := Receiver[int]{
		Resumed: true, Commit: l.Commit,
		CatchUp: func(context.Context) error { order = append(order, "catch up"); next = 5; return nil },
		Parse: func(_ context.Context, n int, b *Batch) error {
			if n > next {
				return ErrMissed
			}
			next++
			b.Add(event.Event{MessageID: fmt.Sprint(n)}, fmt.Sprint(n))
			return nil
		},
	}
	in := make(chan Delivery[int], 9)
	for _, n := range []int{1, 2, 5, 6} {
		in <- Delivery[int]{What: n, Done: func(err error) error { return err }}
	}
	in <- Delivery[int]{End: errors.New("cut")}
	if err := r.Receive(t.Context(), l, in); err == nil || err.Error() != "cut" {
		t.Error(err)
	}
	if got := strings.Join(order, ", "); got != "up true, 1, 2, catch up, 5, 6" {
		t.Error(got)
	}
}

// TestHistory: missed messages are emitted in order of time over all chats, and emitted ones not
// again; a chat that cannot be read does not stop the others.
func TestHistory(t *testing.T) {
	type message struct {
		chat string
		at   int64
	}
	now := time.Unix(1_700_000_000, 0)
	var got, said []string
	l := Listen("x", chat.Resume{Last: map[string]time.Time{"a": now.Add(-time.Hour),
		"c": now.Add(-time.Hour)}}, chattest.Handler{
		Event: func(e event.Event) error { got = append(got, e.MessageID); return nil },
		Log:   func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) },
	}, time.Minute)
	no := errors.New("not a member")
	h := History[message]{
		Now: func() time.Time { return now }, Skew: time.Minute,
		Chats: func(context.Context) ([]string, error) { return []string{"a", "b", "c"}, nil },
		Read: func(_ context.Context, id string, since, _ time.Time) ([]message, error) {
			if since.After(now) {
				t.Errorf("%s since %v", id, since)
			}
			return map[string][]message{"a": {{"a", -60}, {"a", -600}}, "b": {{"b", -300}}}[id],
				map[string]error{"c": no}[id]
		},
		Unreadable: func(err error) bool { return errors.Is(err, no) },
		Changed:    func(m *message) time.Time { return now.Add(time.Duration(m.at) * time.Second) },
		ID:         func(m *message) string { return fmt.Sprint(m.at) },
		Add: func(_ context.Context, m *message, b *Batch) error {
			l.Recent.AddTo(b, event.Event{ChatID: m.chat, MessageID: fmt.Sprint(m.chat, m.at)})
			return nil
		},
	}
	for range 2 {
		if err := h.CatchUp(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a-600", "b-300", "a-60"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"x: chat c cannot be read: not a member",
		"x: recovered 3 messages and changes of 2 chats"}; !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
	if !l.Known.Of("a").Equal(now.Add(-time.Minute)) ||
		!l.Known.Of("c").Equal(now.Add(-time.Hour-time.Minute)) {
		t.Errorf("known: a %v, c %v", l.Known.Of("a"), l.Known.Of("c"))
	}
}

// TestNothingIsToldThatIsNotDurable: if OnEvents fails, nothing is acknowledged.
func TestNothingIsToldThatIsNotDurable(t *testing.T) {
	full := errors.New("disk full")
	var told error
	g := Batch{Done: []func(error) error{func(err error) error { told = err; return nil }}}
	e := event.Event{MessageID: "a"}
	var r Recent
	if !r.AddTo(&g, e) {
		t.Fatal("not gathered")
	}
	err := r.Commit(&g, chattest.Handler{Event: func(event.Event) error {
		return full
	}}, func() { t.Error("kept") })
	if !errors.As(err, new(FatalError)) || !errors.Is(told, full) || r.Has(e.Identity()) {
		t.Errorf("%v; told %v; known %v", err, told, r.Has(e.Identity()))
	}
}

func TestRecover(t *testing.T) {
	missed := make([]int, 2*batch+1)
	for i := range missed {
		missed[i] = i
	}
	var parts []int
	var seen []int
	err := Recover(missed, func(n *int, g *Batch) error {
		seen = append(seen, *n)
		g.Add(event.Event{}, fmt.Sprint(*n))
		return nil
	}, func(g *Batch) error { parts = append(parts, len(g.Events)); return nil })
	if err != nil || !slices.Equal(seen, missed) || !slices.Equal(parts, []int{batch, batch, 1}) {
		t.Errorf("%v: %d seen, parts %v", err, len(seen), parts)
	}
}

// TestAllowed: only accepted chats are read, and an error ends the list.
func TestAllowed(t *testing.T) {
	no := errors.New("no answer")
	list := func(context.Context) ([]string, error) { return []string{"open", "private", "open2"}, nil }
	watches := func(_ context.Context, id string) (int, bool, error) { return 0, id != "private", nil }
	got, err := Allowed(list, watches)(t.Context())
	if err != nil || !slices.Equal(got, []string{"open", "open2"}) {
		t.Errorf("%q, %v", got, err)
	}
	fails := func(context.Context, string) (int, bool, error) { return 0, true, no }
	got, err = Allowed(list, fails)(t.Context())
	if len(got) > 0 || !errors.Is(err, no) {
		t.Errorf("%q, %v", got, err)
	}
}

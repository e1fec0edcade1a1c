package sink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
	"unsafe"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

// TestSend: how each error of a post is classified.
func TestSend(t *testing.T) {
	odd := func(e *httpapi.Error) Outcome {
		if e.Code == "later" {
			return Busy
		}
		return ByStatus(e.Status)
	}
	no := func(status int) error {
		return fmt.Errorf("POST x: %w", &httpapi.Error{Status: status, After: 7 * time.Second})
	}
	for _, c := range []struct {
		name  string
		err   error
		want  string
		after time.Duration
	}{
		{"bad request", no(400), "refused", 0},
		{"not found", no(404), "refused", 0},
		{"token", no(401), "retry", time.Minute},
		{"forbidden", no(403), "retry", time.Minute},
		{"moved", no(302), "retry", time.Minute},
		{"timeout of a proxy", no(408), "retry", time.Minute},
		{"busy", no(429), "retry", 7 * time.Second},
		{"the platform's own code", &httpapi.Error{Status: 400, Code: "later", After: 3 * time.Second},
			"retry", 3 * time.Second},
		{"error", no(500), "unknown", 0},
		{"a no with 200 that means nothing", no(200), "unknown", 0},
		{"cut", errors.New("unexpected EOF"), "unknown", 0},
		{"no connection", &net.OpError{Op: "dial", Err: errors.New("refused")}, "retry", 5 * time.Second},
		{"cut while writing", &net.OpError{Op: "write", Err: errors.New("reset")}, "unknown", 0},
		{"no token to send it with", fmt.Errorf("token: %w: %w", ErrUnsent, no(500)), "retry",
			5 * time.Second},
		{"a token that is not good", fmt.Errorf("token: %w: %w", ErrUnsent, no(401)), "retry", time.Minute},
		{"busy before it", fmt.Errorf("token: %w: %w", ErrUnsent, no(429)), "retry", 7 * time.Second},
		{"refused before it", fmt.Errorf("token: %w: %w", ErrUnsent, no(404)), "retry", time.Minute},
		{"refused already", fmt.Errorf("x: %w", chat.ErrRefused), "refused", 0},
		{"no id", nil, "unknown", 0},
	} {
		f := Frame{Platform: "x", Outcome: odd}
		_, err := f.Send("c", func() (chat.Posted, error) { return chat.Posted{}, c.err })
		got, again := "unknown", (*chat.RetryError)(nil)
		switch {
		case err == nil:
			t.Fatalf("%s: posted", c.name)
		case chat.IsRefused(err):
			got = "refused"
		case errors.As(err, &again):
			got = "retry"
		}
		if got != c.want || again != nil && again.After != c.after {
			t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	f := Frame{Platform: "x", Max: 3}
	for text, ok := range map[string]bool{"abc": true, "äöü": true, "abcd": false, "": false, " \n": false,
		"a\xff": false} {
		if err := f.Check("c", text, nil); (err == nil) != ok || err != nil && !chat.IsRefused(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := f.Check("c", "a", errors.New("no chat")); !chat.IsRefused(err) ||
		!strings.Contains(err.Error(), "no chat") {
		t.Error(err)
	}
}

// TestFind: a post is absent only if no earlier attempt can be in progress.
func TestFind(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name  string
		age   time.Duration // of the attempt; negative: there was none
		looks []chat.Proof
		slept time.Duration
		want  chat.Proof
	}{
		{"found", 40 * time.Second, []chat.Proof{chat.Found}, 0, chat.Found},
		{"joined by the platform", 10 * time.Second, []chat.Proof{chat.Absent}, 0, chat.Absent},
		{"under way", 40 * time.Second, []chat.Proof{chat.Absent, chat.Found}, 50 * time.Second, chat.Found},
		{"settled", 90 * time.Second, []chat.Proof{chat.Absent}, 0, chat.Absent},
		{"never tried", -1, []chat.Proof{chat.Absent}, 0, chat.Absent},
		{"cannot be told", 40 * time.Second, []chat.Proof{chat.Unprovable}, 0, chat.Unprovable},
	} {
		slept, n := time.Duration(0), 0
		f := Frame{Joined: 20 * time.Second, Settled: 90 * time.Second, Now: func() time.Time { return now },
			Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }}
		p := chat.Post{}
		if c.age >= 0 {
			p.Tried, p.Own = now.Add(-c.age), true
		}
		_, proof, err := f.Find(t.Context(), p,
			func(context.Context, chat.Post) (chat.Posted, chat.Proof, error) {
				n++
				return chat.Posted{}, c.looks[n-1], nil
			})
		if proof != c.want || err != nil || slept != c.slept || n != len(c.looks) {
			t.Errorf("%s: %v after %v and %d looks, %v", c.name, proof, slept, n, err)
		}
	}
}

// TestFindOnAnotherClock: setting the wall clock neither ends the wait nor makes it unnecessary.
func TestFindOnAnotherClock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name  string
		tried time.Time
		own   bool
		up    time.Duration // of this process
		slept time.Duration
	}{
		{"own, and the clock was set forward", set(t, now.Add(-5*time.Second), -time.Hour), true, time.Hour,
			85 * time.Second},
		{"own, and the clock was set back", set(t, now.Add(-2*time.Minute), 110*time.Second), true, time.Hour, 0},
		{"of an earlier process, just started", now.Add(-time.Hour).Round(0), false, 0, 90 * time.Second},
		{"of an earlier process, in the platform's memory", now.Round(0), false, time.Hour, 90 * time.Second},
		{"of an earlier process, after a minute", now.Add(-time.Hour).Round(0), false, time.Minute,
			30 * time.Second},
		{"of an earlier process, long ago", now.Add(-time.Hour).Round(0), false, time.Hour, 0},
	} {
		slept := time.Duration(0)
		started = time.Now().Add(-c.up)
		f := Frame{Joined: 20 * time.Second, Settled: 90 * time.Second, Now: func() time.Time { return now },
			Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }}
		_, proof, err := f.Find(t.Context(), chat.Post{Tried: c.tried, Own: c.own},
			func(context.Context, chat.Post) (chat.Posted, chat.Proof, error) {
				return chat.Posted{}, chat.Absent, nil
			})
		if proof != chat.Absent || err != nil || (slept-c.slept).Abs() > time.Second {
			t.Errorf("%s: %v after %v, want %v; %v", c.name, proof, slept, c.slept, err)
		}
	}
}

// set returns the same instant by a wall clock that differs by d, as the time package keeps it: in its
// first word the seconds on the wall, above 30 bits of nanoseconds.
func set(t *testing.T, at time.Time, d time.Duration) time.Time {
	t.Helper()
	was := at
	*(*uint64)(unsafe.Pointer(&at)) += uint64(d/time.Second) << 30
	if at.Sub(was) != 0 || at.Round(0).Sub(was.Round(0)) != d {
		t.Skip("the time package keeps its times in another way")
	}
	return at
}

func TestText(t *testing.T) {
	if got := Pictures("a\x00b\x7fc\u0085\nd\te"); got != "a␀b␡c\uFFFD\nd\te" {
		t.Errorf("%q", got)
	}
	if got := First("äöüß", 2) + First("ä", 2); got != "äöä" {
		t.Errorf("%q", got)
	}
	err := CheckButtons([]chat.Button{{Name: "approve", Value: "e:1"}, {Name: "no\n", Value: ""}})
	if s, _ := sysexit.Of(err); s != sysexit.Software {
		t.Error(err)
	}
}

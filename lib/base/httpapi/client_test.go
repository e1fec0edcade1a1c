package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func client(t *testing.T, h http.HandlerFunc, slept *[]time.Duration) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Options{
		Base: srv.URL + "/api/", HTTP: srv.Client(), Chance: func() float64 { return 0 },
		Sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") },
		Sleep: func(_ context.Context, d time.Duration) error {
			*slept = append(*slept, d)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadWaits(t *testing.T) {
	n := 0
	var slept []time.Duration
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n < 3 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if r.URL.Path != "/api/x/y" || r.URL.Query().Get("q") != "a b" ||
			r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked %s %v", r.URL, r.Header)
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}, &slept)
	var out struct{ OK bool }
	if err := c.Read(context.Background(),
		Request{Method: "GET", Path: "x/y", Query: url.Values{"q": {"a b"}}}, &out); err != nil || !out.OK {
		t.Fatal(out, err)
	}
	if len(slept) != 2 || slept[0] != 7*time.Second {
		t.Errorf("slept %v", slept)
	}
}

func TestOnce(t *testing.T) {
	var slept []time.Duration
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/moved":
			http.Redirect(w, r, "/api/ok", http.StatusFound)
		case "/api/broken":
			_, _ = w.Write([]byte(`{`))
		case "/api/down":
			w.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = w.Write([]byte(`{}`))
		}
	}, &slept)
	var out struct{}
	for path, status := range map[string]int{"moved": 302, "down": 502} {
		err := c.Once(context.Background(), Request{Method: "POST", Path: path, JSON: 1}, &out)
		if StatusOf(err) != status || NotSent(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := c.Once(context.Background(), Request{Method: "GET", Path: "broken"}, &out); err == nil {
		t.Error("a broken answer is taken")
	}
	if err := c.Once(context.Background(), Request{Method: "GET", Path: "ok"}, &out); err != nil {
		t.Error(err)
	}
}

// TestNotSent: only where no connection was made is it certain; and the address,
// which may hold a token, is in no error.
func TestNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String() + "/botTOKEN"
	l.Close()
	c, err := New(Options{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Once(context.Background(), Request{Method: "GET", Path: "getMe"}, nil)
	if !NotSent(err) || strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("%v", err)
	}
	if NotSent(errors.New("cut")) || NotSent(&Error{Status: 500}) {
		t.Error("sent is said to be not sent")
	}
}

func TestRetryAfter(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"": time.Second, "0": time.Second, "-5": time.Second, "3": 3 * time.Second,
		"1.5":   1500 * time.Millisecond,
		"1e300": maxAfter, "NaN": time.Second, "soon": time.Second,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {in}}); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]time.Duration{"Fri, 02 Jan 2026 12:00:40 GMT": 40 * time.Second,
		"Fri, 02 Jan 2026 11:59:00 GMT": time.Second, "Sat, 03 Jan 2026 12:00:00 GMT": maxAfter} {
		h := http.Header{"Retry-After": {in}, "Date": {"Fri, 02 Jan 2026 12:00:00 GMT"}}
		if got := RetryAfter(h); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	c, err := New(Options{Base: "https://x", Chance: func() float64 { return 0.5 }})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	for try := range 100 {
		d := c.Backoff(try)
		if d < last || d <= 0 || d > time.Minute {
			t.Fatalf("try %d: %v after %v", try, d, last)
		}
		last = d
	}
}

// TestWait: a server that says when to come back is obeyed.
func TestWait(t *testing.T) {
	c, err := New(Options{Base: "https://x", Chance: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	busy := fmt.Errorf("x: %w", &Error{Status: 429, After: 90 * time.Second})
	if d := c.Wait(1, busy); d != 90*time.Second {
		t.Errorf("told to wait 90 s, waits %v", d)
	}
	if d := c.Wait(1, errors.New("cut")); d != 500*time.Millisecond {
		t.Errorf("waits %v", d)
	}
}

func TestNew(t *testing.T) {
	for _, bad := range []string{"", "ftp://x", "https://", "https://u:p@x", "https://x?q=1",
		"https://x#f", "::"} {
		if _, err := New(Options{Base: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestServerTime: the server's time of an attempt does not depend on how our clock was set since.
func TestServerTime(t *testing.T) {
	now := time.Now()
	date := now.Truncate(time.Second).Add(time.Hour)
	for _, d := range []time.Duration{0, time.Minute, -time.Minute} {
		tried := now.Add(-30 * time.Second)
		*(*uint64)(unsafe.Pointer(&tried)) += uint64(d/time.Second) << 30 // before the clock was set by -d
		if tried.Sub(now) != -30*time.Second || now.Round(0).Sub(tried.Round(0)) != 30*time.Second-d {
			t.Skip("the time package keeps its times in another way")
		}
		c := Client{o: Options{Now: func() time.Time { return now }}}
		if c.ServerTime(tried) != tried {
			t.Error("a server that gave no time")
		}
		c.seeClock(date.UTC().Format(http.TimeFormat))
		want := date.Add(min(-30*time.Second, d-30*time.Second))
		if got := c.ServerTime(tried); !got.Equal(want) {
			t.Errorf("set by %v: %v, want %v", -d, got, want)
		}
	}
}

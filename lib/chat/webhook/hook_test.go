package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, h Handler) string {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, nil, h) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func TestServe(t *testing.T) {
	url := serve(t, func(_ context.Context, c *Call) Answer {
		if c.Header.Get("X-Sign") != "good" {
			return Refused()
		}
		return Answer{Type: "text/plain",
			Body: fmt.Appendf(nil, "%s %s %d", c.Path, c.Query.Get("a"), len(c.Body))}
	})
	for _, tt := range []struct {
		method, sign string
		size         int
		status       int
		body         string
	}{
		{"POST", "good", 10, 200, "/x 1 10"},
		{"GET", "good", 0, 200, "/x 1 0"},
		{"POST", "bad", 10, 401, ""},
		{"PUT", "good", 10, 405, ""},
		{"POST", "good", MaxBody, 200, fmt.Sprintf("/x 1 %d", MaxBody)},
		{"POST", "good", MaxBody + 1, 413, ""},
	} {
		req, err := http.NewRequest(tt.method, url+"/x?a=1", bytes.NewReader(make([]byte, tt.size)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Sign", tt.sign)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(got) != tt.body {
			t.Errorf("%s %s %d: %d %q %v", tt.method, tt.sign, tt.size, resp.StatusCode, got, err)
		}
	}
}

// TestEnd: calls in progress are answered when the server ends.
func TestEnd(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, nil, func(in context.Context, _ *Call) Answer {
			stop()
			if in.Err() != nil {
				t.Error("the call in hand is cut")
			}
			return Answer{Body: []byte("done")}
		})
	}()
	resp, err := http.Post("http://"+l.Addr().String(), "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "done" {
		t.Errorf("%q %v", b, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSlow: callers without the secret that send slowly, in several ways, neither delay genuine
// calls nor stay forever.
func TestSlow(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	signed := func(c *Call) bool { return c.Header.Get("X-Sign") != "" }
	go func() {
		ended <- Serve(ctx, l, signed, func(_ context.Context, c *Call) Answer {
			if c.Header.Get("X-Sign") != "good" {
				return Refused()
			}
			c.Proved()
			return Answer{}
		})
	}()
	defer func() { stop(); <-ended }()
	half := strings.Repeat("x", MaxBody/2)
	var slow []net.Conn
	for i := range 2 * maxConns {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		slow = append(slow, conn)
		head := []string{
			"POST / HTTP/1.1\r\nHost: x\r\nX-Sign: bad\r\nContent-Length: 100\r\n\r\nhalf",
			"POST / HTTP/1.1\r\nHost: x\r\nX-Sign: bad\r\nContent-Length: 1000000\r\n\r\n" + half,
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
			"POST / HTTP/1.1\r\nHost",
		}[max(0, i-80)%4] // the first 80 as those that once took every place
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // the connection may be gone already
		_, _ = io.WriteString(conn, head)
		if i != 80 && i%100 != 99 {
			continue
		}
		for range 10 {
			req, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String(), strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Sign", "good")
			begun := time.Now()
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true},
				Timeout: 10 * time.Second}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if took := time.Since(begun); resp.StatusCode != 200 || took > time.Second {
				t.Errorf("with %d slow senders: status %d after %v", i+1, resp.StatusCode, took)
			}
		}
	}
	open := len(slow)
	for began := time.Now(); open > maxConns && time.Since(began) < 10*time.Second; {
		open = 0 // the server accepts the last ones later
		for _, conn := range slow {
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
	}
	if open > maxConns {
		t.Errorf("%d slow connections are still open, want at most %d", open, maxConns)
	}
}

// TestImplausible: a call that cannot be from the platform is refused before its body is read.
func TestImplausible(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	none := func(*Call) bool { return false }
	go func() { ended <- Serve(ctx, l, none, func(context.Context, *Call) Answer { return Answer{} }) }()
	defer func() { stop(); <-ended }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(readTime / 2))
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 401 ") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPlausible(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		at, signature string
		want          bool
	}{
		{"1700000000", "0123", true}, {"1699999701", "0123", true}, {"1699999699", "0123", false},
		{"1700000301", "0123", false},
		{"1700000000", "012", false}, {"1700000000", "", false}, {"", "0123", false}, {"x", "0123", false},
		{"0001700000000", "0123", false},
	} {
		c := &Call{Header: http.Header{"T": {tt.at}, "S": {tt.signature}}}
		s := Stamps{Time: "T", Signature: "S", Size: 4, Now: func() time.Time { return now }}
		if s.Plausible(c) != tt.want {
			t.Errorf("%+v", tt)
		}
	}
}

func TestOnce(t *testing.T) {
	var o Once
	now := time.Unix(1_700_000_000, 0)
	if o.Again("a", now) {
		t.Error("never seen, and known")
	}
	o.Keep("a", now)
	if !o.Again("a", now.Add(Window)) || o.Again("b", now) {
		t.Error("not known again, or another is")
	}
	if o.Again("a", now.Add(time.Hour)) {
		t.Error("known for ever")
	}
	for i := range 1 << 17 {
		o.Keep(fmt.Sprint(i), now)
	}
	if len(o.seen) > 1<<16 {
		t.Errorf("%d kept", len(o.seen))
	}
	for _, tt := range []struct {
		off  time.Duration
		want bool
	}{{0, true}, {Window, true}, {-Window, true}, {Window + 1, false}, {-Window - 1, false}} {
		if fresh(now.Add(tt.off), now) != tt.want {
			t.Errorf("%v", tt.off)
		}
	}
}

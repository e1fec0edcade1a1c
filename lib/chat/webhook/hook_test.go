package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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
	go func() { ended <- Serve(ctx, l, h) }()
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
		return Answer{Type: "text/plain", Body: fmt.Appendf(nil, "%s %s %d", c.Path, c.Query.Get("a"), len(c.Body))}
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

// TestEnd: what is in hand when the server ends is answered.
func TestEnd(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, func(in context.Context, _ *Call) Answer {
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

// TestSlow: a caller who does not get on with it is cut, and others are served.
func TestSlow(t *testing.T) {
	url := serve(t, func(context.Context, *Call) Answer { return Answer{} })
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
	}
	resp, err := http.Post(url, "", strings.NewReader("x"))
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
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
		if Fresh(now.Add(tt.off), now) != tt.want {
			t.Errorf("%v", tt.off)
		}
	}
}

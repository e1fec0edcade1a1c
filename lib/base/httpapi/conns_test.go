package httpapi

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestConns: the connection closed is the longest unfinished of the address with the most, or the
// one with the largest body; never one that is being served.
func TestConns(t *testing.T) {
	now := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name string
		act  func(c *Conns, dial func(host string) *conn)
		gone string
	}{
		{"room for all", func(_ *Conns, dial func(string) *conn) { dial("a"); dial("b"); dial("c") }, ""},
		{"the oldest", func(_ *Conns, dial func(string) *conn) {
			dial("a")
			dial("a")
			dial("a")
			dial("a")
		}, "a1"},
		{"of the most", func(_ *Conns, dial func(string) *conn) {
			dial("a")
			dial("b")
			dial("b")
			dial("c")
		}, "b1"},
		{"one that serves stays", func(_ *Conns, dial func(string) *conn) {
			dial("a").served = true
			dial("a")
			dial("a")
			dial("a")
		}, "a2"},
		{"all serve", func(_ *Conns, dial func(string) *conn) {
			for range 3 {
				dial("a").served = true
			}
			dial("b")
		}, "b1"},
		{"a new request has proved nothing", func(c *Conns, dial func(string) *conn) {
			k := dial("a")
			k.served = true
			c.state(k.Conn, http.StateIdle)
			k.since = now.Add(-time.Hour)
			dial("a")
			dial("a")
			dial("a")
		}, "a1"},
		{"closed is forgotten", func(c *Conns, dial func(string) *conn) {
			c.state(dial("a").Conn, http.StateClosed)
			dial("a")
			dial("a")
			dial("a")
		}, ""},
		{"the largest body", func(_ *Conns, dial func(string) *conn) {
			read(dial("a"), 4)
			read(dial("b"), 5)
			read(dial("c"), 4)
		}, "b1"},
		{"a body that is served does not count", func(c *Conns, dial func(string) *conn) {
			k := dial("b")
			read(k, 9)
			k.served = true
			k.release()
			read(dial("a"), 9)
		}, ""},
	} {
		c := &Conns{Max: 3, Body: 12}
		c.Attach(new(http.Server))
		var gone []string
		count := map[string]int{}
		tt.act(c, func(host string) *conn {
			count[host]++
			name := host + string(rune('0'+count[host]))
			k := c.add(&fakeConn{host: host, close: func() { gone = append(gone, name) }})
			now = now.Add(time.Second)
			k.since = now
			return k
		})
		if got := strings.Join(gone, " "); got != tt.gone {
			t.Errorf("%s: %q gave way, want %q", tt.name, got, tt.gone)
		}
	}
}

func read(k *conn, n int) {
	_, _ = io.ReadAll(&counted{strings.NewReader(strings.Repeat("x", n)), k}) // a string does not fail
}

type fakeConn struct {
	net.Conn
	host  string
	close func()
}

func (f *fakeConn) RemoteAddr() net.Addr { return addr(f.host + ":1") }
func (f *fakeConn) Close() error         { f.close(); return nil }

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

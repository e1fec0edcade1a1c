package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Conns bounds the resources of a server's unauthenticated connections. If there are too many
// connections, or their bodies are too large in total, it closes one: the longest unfinished
// connection of the address with the most, or the one with the largest body. A client that sends
// its request at once with a valid signature is served long before; a slow client is the one that
// is closed. A connection passed to Serving is not closed.
type Conns struct {
	Max  int // connections
	Body int // total bytes of bodies not yet served

	mu    sync.Mutex
	open  map[net.Conn]*conn
	hosts map[string]int // open connections per address
	body  int
}

type conn struct {
	net.Conn
	conns  *Conns
	host   string
	since  time.Time // start of the connection, or of the request on it
	body   int
	served bool
}

type connKey struct{}

// Attach applies these bounds to s. Call it before s serves.
func (c *Conns) Attach(s *http.Server) {
	c.open, c.hosts = map[net.Conn]*conn{}, map[string]int{}
	s.ConnContext = func(ctx context.Context, n net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c.add(n))
	}
	s.ConnState = c.state
}

// Serving marks the client of a request as authenticated: its connection stays open until the
// request is answered. ctx is the request's.
func Serving(ctx context.Context) {
	k, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return
	}
	k.conns.mu.Lock()
	defer k.conns.mu.Unlock()
	k.served = true
	k.release()
}

// BodyOf returns a request's body with its bytes counted. ctx is the request's.
func BodyOf(ctx context.Context, body io.Reader) io.Reader {
	k, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return body
	}
	return &counted{body, k}
}

type counted struct {
	io.Reader
	conn *conn
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	c := r.conn.conns
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[r.conn.Conn] == r.conn && !r.conn.served {
		r.conn.body += n
		c.body += n
	}
	for c.body > c.Body {
		c.drop(c.worst(func(a, b *conn) bool { return a.body > b.body }))
	}
	return n, err
}

func (c *Conns) add(n net.Conn) *conn {
	host, _, err := net.SplitHostPort(n.RemoteAddr().String())
	if err != nil {
		host = n.RemoteAddr().String() // a Unix socket
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &conn{Conn: n, conns: c, host: host, since: time.Now()}
	c.open[n] = k
	c.hosts[host]++
	if len(c.open) > c.Max {
		c.drop(c.worst(func(a, b *conn) bool {
			if c.hosts[a.host] != c.hosts[b.host] {
				return c.hosts[a.host] > c.hosts[b.host]
			}
			return a.since.Before(b.since)
		}))
	}
	return k
}

// worst returns the connection to close. There is always one, since the newest is not being
// served.
func (c *Conns) worst(worse func(a, b *conn) bool) *conn {
	var w *conn
	for _, k := range c.open {
		if !k.served && (w == nil || worse(k, w)) {
			w = k
		}
	}
	return w
}

func (c *Conns) drop(k *conn) {
	c.forget(k)
	_ = k.Close() // its reader gets an error
}

func (c *Conns) forget(k *conn) {
	k.release()
	delete(c.open, k.Conn)
	if c.hosts[k.host]--; c.hosts[k.host] == 0 {
		delete(c.hosts, k.host)
	}
}

func (k *conn) release() {
	k.conns.body -= k.body
	k.body = 0
}

// state tracks a connection: a new request on it is unauthenticated.
func (c *Conns) state(n net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.open[n]
	switch {
	case !ok:
	case s == http.StateClosed || s == http.StateHijacked:
		c.forget(k)
	case s == http.StateActive || s == http.StateIdle:
		k.release()
		k.since, k.served = time.Now(), false
	}
}

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"sync"
	"time"
	"tri/lib/base/text"
)

// Limits of the proxy.
const (
	maxConns   = 256  // concurrent, per run
	maxRefused = 1000 // lines of a run's log
	dialTime   = 30 * time.Second
)

// proxy is a program's only network access: an HTTP proxy for CONNECT and plain requests, and
// ports of its loopback device that lead to the same ports outside.
type proxy struct {
	reach *allowList
	log   string
	doors []func(context.Context, net.Conn) // at DoorAt, also for programs that send everything to the proxy
	slots chan struct{}
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
	http  *http.Server
	plain *http.Transport

	mu     sync.Mutex
	told   int
	closed bool
	conns  map[net.Conn]bool
}

func newProxy(r *allowList, log string) *proxy {
	p := &proxy{reach: r, log: log, slots: make(chan struct{}, maxConns), conns: map[net.Conn]bool{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.plain = &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return p.dial(ctx, addr)
		},
		DisableCompression: true, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 8,
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.Out.URL.Host // the checked host, not the header's
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
				"X-Forwarded-Proto"} {
				r.Out.Header.Del(name)
			}
		},
		Transport:     p.plain,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, say(err), statusFor(err))
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	p.http = &http.Server{
		ReadHeaderTimeout: dialTime, MaxHeaderBytes: 256 << 10,
		// errors of a program that does not speak HTTP
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodConnect:
				p.connect(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				forward.ServeHTTP(w, r)
			default:
				http.Error(w, "this is a proxy: ask it for http://host/ or CONNECT host:port",
					http.StatusBadRequest)
			}
		}),
	}
	return p
}

// serveHTTP serves the proxy on l.
func (p *proxy) serveHTTP(l net.Listener) {
	p.group.Go(func() {
		_ = p.http.Serve(l) // until Close
	})
}

// serveRaw joins every connection to l with one to the target.
func (p *proxy) serveRaw(l net.Listener, to target) {
	context.AfterFunc(p.ctx, func() { _ = l.Close() })
	p.group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			p.group.Go(func() {
				defer conn.Close()
				out, err := p.dial(p.ctx, to.String())
				if err != nil {
					return // the program's connection ends
				}
				p.join(conn, conn, out)
			})
		}
	})
}

// serveDoor serves l with answer.
func (p *proxy) serveDoor(l net.Listener, answer func(context.Context, net.Conn)) {
	context.AfterFunc(p.ctx, func() { _ = l.Close() })
	p.group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			p.group.Go(func() {
				defer conn.Close()
				if p.keep(conn) {
					defer p.drop(conn)
					answer(p.ctx, conn)
				}
			})
		}
	})
}

func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	out, err := p.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, say(err), statusFor(err))
		return
	}
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	defer in.Close()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = out.Close()
		return
	}
	p.join(in, buffered, out)
}

// join copies bytes both ways until both directions have ended.
func (p *proxy) join(in net.Conn, from io.Reader, out net.Conn) {
	if !p.keep(in, out) {
		return
	}
	defer p.drop(in, out)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, from) // the reason of the end does not matter
		half(out)
	}()
	_, _ = io.Copy(in, out)
	half(in)
	<-done
}

// half closes the sending direction.
func half(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
		return
	}
	_ = c.Close()
}

// keep registers connections, so that Close can end them.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
		if p.closed {
			_ = c.Close()
		}
	}
	return !p.closed
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
		_ = c.Close()
	}
}

// dial connects to an address on the list, and logs any other. The connection counts until it is
// closed.
func (p *proxy) dial(ctx context.Context, hostport string) (net.Conn, error) {
	for i, answer := range p.doors {
		if hostport == ForwardAt(i) {
			in, out := net.Pipe()
			p.group.Go(func() {
				defer in.Close()
				answer(p.ctx, in)
			})
			return out, nil
		}
	}
	select {
	case p.slots <- struct{}{}:
	default:
		return nil, errors.New("too many connections")
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := p.reach.Dial(ctx, hostport)
	if err != nil {
		<-p.slots
		if r := refusal(""); errors.As(err, &r) {
			p.refused(hostport, string(r))
		}
		return nil, err
	}
	return &counted{Conn: conn, release: sync.OnceFunc(func() { <-p.slots })}, nil
}

// counted releases its slot when it is closed.
type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}

// CloseWrite makes half work through counted.
func (c *counted) CloseWrite() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return c.Conn.Close()
}

// refused adds a line to the run's log. Its text is untrusted.
func (p *proxy) refused(hostport, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told++; p.log == "" || p.told > maxRefused {
		return
	}
	err := AppendRecord(p.log, map[string]string{
		"time": text.Timestamp(time.Now()), "refused": hostport[:min(len(hostport), 300)],
		"why": why,
	})
	if err != nil {
		slog.Warn("a dial was refused, and cannot be logged", "to", hostport, "err", err)
	}
}

// AppendRecord appends a record, as a line of JSON, to a log of refusals. It is not synced: the
// log is informational.
func AppendRecord(file string, record any) error {
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func say(err error) string { return "tri: " + err.Error() }

func statusFor(err error) int {
	if r := refusal(""); errors.As(err, &r) {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// Close ends every connection and returns when none is being served.
func (p *proxy) Close() {
	p.stop()
	_ = p.http.Close()
	p.plain.CloseIdleConnections()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

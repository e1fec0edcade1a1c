// Package web shows the review queue as a web page for one person. It listens on loopback or on a Unix
// socket and makes no network requests. Every request has to prove that it comes from the page itself.
package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/flow/approve"
)

//go:embed page.html style.css app.js
var files embed.FS

// Options configure a page.
type Options struct {
	// Gate is the gate of the page. By is the person for whom the first address is printed; behind a
	// proxy, the proxy names the person.
	Gate approve.Gate
	// Say prints the address.
	Say func(format string, args ...any)
	Now func() time.Time
}

// server is one page being served.
type server struct {
	Options
	board *approve.Board
	guard *guard
	pages *template.Template
	links links

	mu      sync.Mutex
	waiting int // open streams
}

// maxStreams is the maximum number of tabs that may listen at once.
const maxStreams = 64

// Serve serves the page until ctx ends.
func Serve(ctx context.Context, o Options) error {
	lock, err := o.Gate.Home.TryLock("locks/web")
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("another page is served for this home: %w", err),
			"it printed its address at its start; a stage of the pipeline prints it to logs/web.log of the home")
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	listener, origins, err := listen(o.Gate.Config.Gate.Web.Listen)
	if err != nil {
		return err
	}
	s, err := newServer(ctx, o, origins)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if len(origins) > 0 {
		s.address()
	} else {
		o.Say("serving on %s for %s", o.Gate.Config.Gate.Web.Listen,
			strings.Join(o.Gate.Config.Gate.Web.Hosts, ", "))
	}
	stop := context.AfterFunc(ctx, func() {
		soon, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = h.Shutdown(soon) // remaining streams are closed by Close
		_ = h.Close()
	})
	defer stop()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return sysexit.With(sysexit.IO, fmt.Errorf("serve: %w", err))
	}
	return nil
}

// address prints an address that opens the page, once.
func (s *server) address() { s.Say("open %s/?token=%s", s.guard.origins[0], s.guard.token()) }

// leave ends all sessions, and prints an address for a new one.
func (s *server) leave(w http.ResponseWriter, _ *http.Request) {
	s.guard.end()
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1})
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "Logged out, here and in every other browser. tri-approve web has printed a new address.")
	if len(s.guard.origins) > 0 {
		s.address()
	}
}

// newServer creates the page without a listener.
func newServer(ctx context.Context, o Options, origins []string) (*server, error) {
	o.Gate.Via, o.Gate.Now = "web", o.Now
	board, err := o.Gate.Watch(ctx)
	if err != nil {
		return nil, err
	}
	g, err := newGuard(&o, origins)
	if err != nil {
		return nil, err
	}
	pages, err := template.New("page.html").Funcs(functions).ParseFS(files, "page.html")
	if err != nil {
		return nil, fmt.Errorf("parse page: %w", err)
	}
	return &server{Options: o, board: board, guard: g, pages: pages, links: links{config: o.Gate.Config}}, nil
}

// listen opens the address, which must be a Unix socket or on loopback. origins are the origins under
// which a local browser reaches it.
func listen(address string) (net.Listener, []string, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		l, err := listenUnix(path)
		return l, nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !config.IsLoopback(host) {
		err := sysexit.With(sysexit.Config,
			fmt.Errorf("gate.web.listen %q: not an address on loopback", address))
		return nil, nil, sysexit.Hint(err,
			"127.0.0.1:7373; to share it, listen on unix:/path and put a reverse proxy before it that names the person (tri(5), gate.web)")
	}
	if host == "localhost" { // a browser may ask ::1 first, where another user may listen
		host, address = "127.0.0.1", "127.0.0.1"+strings.TrimPrefix(address, "localhost")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		err = sysexit.With(sysexit.Unavailable, fmt.Errorf("listen on %s: %w", address, err))
		return nil, nil, sysexit.Hint(err, "name another port under gate.web.listen; port 0 takes a free one")
	}
	port := l.Addr().(*net.TCPAddr).Port
	return l, []string{
		fmt.Sprintf("http://%s", net.JoinHostPort(host, fmt.Sprint(port))),
		fmt.Sprintf("http://localhost:%d", port),
		fmt.Sprintf("http://127.0.0.1:%d", port),
	}, nil
}

// listenUnix opens a socket that only this user and group may connect to.
func listenUnix(path string) (net.Listener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, sysexit.With(sysexit.Unavailable,
			fmt.Errorf("listen on %s: another program listens there", path))
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil { // left by an earlier process: this one holds the home's lock
			return nil, sysexit.With(sysexit.IO, fmt.Errorf("listen: %w", err))
		}
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o660)
	}
	return l, sysexit.With(sysexit.Unavailable, err)
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /item/{id}", s.item)
	mux.HandleFunc("GET /changes", s.changes)
	mux.HandleFunc("POST /decide", s.decide)
	mux.HandleFunc("POST /leave", s.leave)
	for name, kind := range map[string]string{"app.js": "text/javascript; charset=utf-8",
		"style.css": "text/css; charset=utf-8"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			http.ServeFileFS(w, r, files, name)
		})
	}
	return s.guard.around(mux)
}

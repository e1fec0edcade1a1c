// Package webhook receives the platforms' HTTP calls: bounded bodies, times and
// concurrency, an answer only once the event is durable, signatures compared in constant
// time, replays refused.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
)

// Limits of the server.
const (
	MaxBody    = 1 << 20          // bytes; a larger call is answered with 413
	headTime   = 5 * time.Second  // for a call's head
	readTime   = 10 * time.Second // for its head and body
	answerTime = 60 * time.Second // above every platform's own limit, so that they decide
	idleTime   = 2 * time.Minute
	maxConns   = 256      // see httpapi.Conns
	maxBodies  = 32 << 20 // bytes of unproved bodies together
)

// Call is one request, read whole.
type Call struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Size   int64 // of the body, as the head declares it; -1: it does not
	Body   []byte

	proved func()
}

// Proved says that the call is the platform's. Until then its connection is closed
// when others need the room; a handler calls it when the signature is good.
func (c *Call) Proved() {
	if c.proved != nil {
		c.proved()
	}
}

// Stamped are the time and the signature of a call of a platform that puts both
// into headers. It reports whether they can be the platform's: a signature of size
// characters, and a time of now. at and signature are as they came.
func (c *Call) Stamped(timeHeader, signatureHeader string, size int, now time.Time) (at, signature string, ok bool) {
	at, signature = c.Header.Get(timeHeader), c.Header.Get(signatureHeader)
	sec, err := strconv.ParseInt(at, 10, 64)
	return at, signature, err == nil && len(at) <= 12 && len(signature) == size && Fresh(time.Unix(sec, 0), now)
}

// Answer is what the platform is told.
type Answer struct {
	Status int    // 0 is 200
	Type   string // content type; "" is none
	Body   []byte
}

// Handler answers a call. An answer of 2xx says that what the call brought is
// durable. ctx ends when the platform hangs up or the server ends.
type Handler func(ctx context.Context, c *Call) Answer

// Plausible reports whether a call whose body has not been read can be the
// platform's, by its path and headers.
type Plausible func(c *Call) bool

// Refused is the answer to a call whose signature is not good. It says nothing
// else, so that nobody learns from it.
func Refused() Answer { return Answer{Status: http.StatusUnauthorized} }

// Listen opens the address of the configuration.
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		err = sysexit.With(sysexit.Config, fmt.Errorf("listen for webhooks: %w", err))
		return nil, sysexit.Hint(err, "listen: host:port, as a reverse proxy with TLS reaches it")
	}
	return l, nil
}

// Serve answers calls on l until ctx ends, then finishes those in hand. The body of
// a call that is not plausible is not read; nil: every call is.
func Serve(ctx context.Context, l net.Listener, plausible Plausible, handle Handler) error {
	srv := &http.Server{
		ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, plausible, handle)
		}),
	}
	conns := httpapi.Conns{Max: maxConns, Body: maxBodies}
	conns.Attach(srv)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("listen for webhooks: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	if err := srv.Shutdown(end); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request, plausible Plausible, handle Handler) {
	refuse := func(status int) {
		// The rest of the body is not waited for.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a connection has one
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
	}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		refuse(http.StatusMethodNotAllowed)
		return
	}
	ctx := r.Context()
	c := &Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Size: r.ContentLength,
		proved: func() { httpapi.Serving(ctx) }}
	if plausible != nil && !plausible(c) {
		refuse(Refused().Status)
		return
	}
	var err error
	if c.Body, err = io.ReadAll(http.MaxBytesReader(w, io.NopCloser(httpapi.BodyOf(ctx, r.Body)), MaxBody)); err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(status)
		return
	}
	a := handle(ctx, c)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if a.Type != "" {
		w.Header().Set("Content-Type", a.Type)
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a platform that hung up asks again
}

// Equal compares what must match a secret, in constant time.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// MAC is the HMAC-SHA256 of parts, one behind the other.
func MAC(secret []byte, parts ...string) []byte {
	m := hmac.New(sha256.New, secret)
	for _, p := range parts {
		m.Write([]byte(p))
	}
	return m.Sum(nil)
}

// Once remembers signatures, so that a call that somebody has recorded is not
// taken again while its time is still good. The platform's own redeliveries are
// signed anew, or are answered from here with what they were answered before.
type Once struct {
	mu    sync.Mutex
	seen  map[string]time.Time
	sweep int // how many there may be before the old ones are let go
}

// Window is how far a call's time may be from ours.
const Window = 5 * time.Minute

// Fresh reports whether at is within the Window of now.
func Fresh(at, now time.Time) bool {
	d := now.Sub(at)
	return d <= Window && d >= -Window
}

// Again reports whether signature has been Kept within the Window.
func (o *Once) Again(signature string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.seen[signature]
	return ok && now.Sub(at) <= 2*Window
}

// Keep remembers a signature whose event is durable.
func (o *Once) Keep(signature string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen == nil {
		o.seen = map[string]time.Time{}
	}
	if len(o.seen) >= max(o.sweep, 1<<12) {
		for s, at := range o.seen {
			if now.Sub(at) > 2*Window {
				delete(o.seen, s)
			}
		}
		if len(o.seen) >= 1<<16 { // a flood that is signed is the platform's own
			clear(o.seen)
		}
		o.sweep = 2 * len(o.seen)
	}
	o.seen[signature] = now
}

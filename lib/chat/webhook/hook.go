// Package hook receives the calls that platforms make to us: bounded bodies and
// times, few at once, answers only when the adapter has made the event durable,
// and the two checks that every platform's signature needs beside its own: equal
// in constant time, and not older, or seen before, than the platform allows.
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
	"sync"
	"time"

	"tri/lib/base/sysexit"
)

// Limits of the server.
const (
	MaxBody    = 1 << 20 // bytes; a larger call is answered with 413
	readTime   = 10 * time.Second
	answerTime = 60 * time.Second // above every platform's own limit, so that they decide
	idleTime   = 2 * time.Minute
	maxAtOnce  = 64 // further calls are told to come back
)

// Call is one request, read whole.
type Call struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
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

// Refused is the answer to a call whose signature is not good. It says nothing
// else, so that nobody learns from it.
func Refused() Answer { return Answer{Status: http.StatusUnauthorized} }

// Listen opens the address of the configuration.
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("listen for webhooks: %w", err)), "listen: host:port, as a reverse proxy with TLS reaches it")
	}
	return l, nil
}

// Serve answers calls on l until ctx ends, then finishes those in hand.
func Serve(ctx context.Context, l net.Listener, handle Handler) error {
	slots := make(chan struct{}, maxAtOnce)
	srv := &http.Server{
		ReadHeaderTimeout: readTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			answer(w, r, handle)
		}),
	}
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

func answer(w http.ResponseWriter, r *http.Request, handle Handler) {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	a := handle(r.Context(), &Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: body})
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

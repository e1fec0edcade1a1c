// Package webhook receives the platforms' HTTP calls: bounded bodies, times and concurrency, a
// response only once the event is durable, signatures compared in constant time, replays refused.
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
	"tri/lib/chat/session"
)

// Limits of the server.
const (
	MaxBody    = 1 << 20          // bytes; a larger call is answered with 413
	headTime   = 5 * time.Second  // to read the header of a call
	readTime   = 10 * time.Second // to read its header and body
	answerTime = 60 * time.Second // above every platform's own limit, so that the platform's applies
	idleTime   = 2 * time.Minute
	maxConns   = 256      // see httpapi.Conns
	maxBodies  = 32 << 20 // bytes of unverified bodies in memory together
)

// Call is one request, with its whole body.
type Call struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Size   int64 // of the body, by Content-Length; -1: not declared
	Body   []byte

	proved func()
}

// Proved marks the call as genuine. Until then its connection may be closed to make room for
// others; a handler calls Proved after it has verified the signature.
func (c *Call) Proved() {
	if c.proved != nil {
		c.proved()
	}
}

// Answer is the response to a call.
type Answer struct {
	Status int    // 0 means 200
	Type   string // content type; "" for none
	Body   []byte
}

// Handler answers a call. A 2xx status acknowledges that the contents are durable. ctx ends when
// the platform disconnects or the server stops.
type Handler func(ctx context.Context, c *Call) Answer

// Plausible reports whether a call, judged by its path and headers before the body is read, can be
// from the platform.
type Plausible func(c *Call) bool

// Refused is the answer to a call without a valid signature. It gives no reason, so that an
// attacker learns nothing from it.
func Refused() Answer { return Answer{Status: http.StatusUnauthorized} }

// Listen opens the configured address.
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		err = sysexit.Errorf(sysexit.Config, "listen for webhooks: %w", err)
		return nil, sysexit.Hint(err, "listen: host:port, as a reverse proxy with TLS reaches it")
	}
	return l, nil
}

// Serve answers calls on l until ctx ends, then finishes those in progress. The body of an
// implausible call is not read; if plausible is nil, every call is plausible.
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
		// Do not wait for the rest of the body.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a connection has one
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
	}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		refuse(http.StatusMethodNotAllowed)
		return
	}
	ctx := r.Context()
	c := &Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header,
		Size:   r.ContentLength,
		proved: func() { httpapi.Serving(ctx) }}
	if plausible != nil && !plausible(c) {
		refuse(Refused().Status)
		return
	}
	var err error
	if c.Body, err = io.ReadAll(http.MaxBytesReader(w, io.NopCloser(httpapi.BodyOf(ctx, r.Body)),
		MaxBody)); err != nil {
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
	_, _ = w.Write(a.Body) // a platform that disconnected will redeliver
}

// Equal compares a and b in constant time, for values that must match a secret.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// MAC returns the HMAC-SHA256 of the concatenated parts.
func MAC(secret []byte, parts ...string) []byte {
	m := hmac.New(sha256.New, secret)
	for _, p := range parts {
		m.Write([]byte(p))
	}
	return m.Sum(nil)
}

// Stamps verifies the calls of a platform that puts a time and a signature into headers. Each signature is
// accepted once.
type Stamps struct {
	Time, Signature string // names of the headers
	Size            int    // of a signature, in characters
	Now             func() time.Time
	// Valid reports whether a signature is that of a call, made at a time.
	Valid func(c *Call, at, signature string) bool

	once Once
}

// Plausible reports whether a call has a signature of the right size, and a current time.
func (s *Stamps) Plausible(c *Call) bool {
	sec, err := strconv.ParseInt(c.Header.Get(s.Time), 10, 64)
	return err == nil && len(c.Header.Get(s.Time)) <= 12 && len(c.Header.Get(s.Signature)) == s.Size &&
		fresh(time.Unix(sec, 0), s.Now())
}

// Verify reports whether a call is genuine, current, and no repetition of an earlier one.
func (s *Stamps) Verify(c *Call) bool {
	signature := c.Header.Get(s.Signature)
	return s.Plausible(c) && s.Valid(c, c.Header.Get(s.Time), signature) && !s.once.Again(signature, s.Now())
}

// Keep remembers a call whose event is durable.
func (s *Stamps) Keep(c *Call) { s.once.Keep(c.Header.Get(s.Signature), s.Now()) }

// Once remembers signatures, so that a recorded call is not accepted again while its time is still
// valid. The platform's own redeliveries are signed anew or are answered from here as before.
type Once struct {
	mu    sync.Mutex
	seen  map[string]time.Time
	sweep int // how many signatures trigger the removal of old ones
}

// Window is the maximum difference between a call's time and the local clock.
const Window = 5 * time.Minute

// fresh reports whether at is within the Window of now.
func fresh(at, now time.Time) bool {
	d := now.Sub(at)
	return d <= Window && d >= -Window
}

// Again reports whether signature was passed to Keep at most twice the Window ago.
func (o *Once) Again(signature string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.seen[signature]
	return ok && now.Sub(at) <= 2*Window
}

// Keep remembers the signature of a call whose event is durable.
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
		if len(o.seen) >= 1<<16 { // a flood with valid signatures comes from the platform itself
			clear(o.seen)
		}
		o.sweep = 2 * len(o.seen)
	}
	o.seen[signature] = now
}

// Intake passes the contents of calls to the sessions of a source.
type Intake[T any] struct {
	In   chan session.Delivery[T]
	Over chan struct{} // closed when the sessions have ended
}

// NewIntake returns an empty intake.
func NewIntake[T any]() Intake[T] {
	return Intake[T]{In: make(chan session.Delivery[T]), Over: make(chan struct{})}
}

// Take passes what to the session, and reports whether it has become durable.
func (i Intake[T]) Take(ctx context.Context, what T) bool {
	done := make(chan error, 1)
	select {
	case i.In <- session.Delivery[T]{What: what, Done: func(err error) error { done <- err; return nil }}:
	case <-ctx.Done():
		return false
	case <-i.Over:
		return false
	}
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done():
	case <-i.Over:
	}
	return false
}

// Run answers calls on l, or at addr if l is nil, while sessions runs. It returns when either ends.
func (i Intake[T]) Run(ctx context.Context, l net.Listener, addr string, plausible Plausible, handle Handler,
	sessions func(context.Context) error) error {
	if l == nil {
		var err error
		if l, err = Listen(addr); err != nil {
			return err
		}
	}
	return While(ctx, l, plausible, handle, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { close(i.Over) })
		return sessions(ctx)
	})
}

// While answers calls on l while sessions runs. It returns when either ends.
func While(ctx context.Context, l net.Listener, plausible Plausible, handle Handler,
	sessions func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, plausible, handle); cancel() }()
	err := sessions(ctx)
	cancel()
	return errors.Join(err, <-served)
}

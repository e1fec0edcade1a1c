package agent

import (
	"context"
	"sync"
	"time"
)

// limited is a context that ends with context.DeadlineExceeded after a time, of which what Hold spans is no
// part.
type limited struct {
	context.Context
	done chan struct{}

	mu    sync.Mutex
	err   error
	timer *time.Timer
	since time.Time     // the time runs, unless it is held
	left  time.Duration // at since
	holds int
}

type limitKey struct{}

// WithLimit is context.WithTimeout for the time that an agent runs: Hold stops its clock.
func WithLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := &limited{Context: ctx, done: make(chan struct{}), since: time.Now(), left: d}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holds == 0 {
			l.end(context.DeadlineExceeded)
		}
	})
	stop := context.AfterFunc(ctx, func() { l.cancel(ctx.Err()) })
	return l, func() { stop(); l.cancel(context.Canceled) }
}

// Hold stops the clock of the limit that ctx has, if any, while a run waits for a machine, until release. It
// may be released twice.
func Hold(ctx context.Context) (release func()) {
	l, ok := ctx.Value(limitKey{}).(*limited)
	if !ok {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds++; l.holds == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holds--; l.holds == 0 && l.err == nil {
			l.since = time.Now()
			l.timer.Reset(l.left)
		}
	})
}

// Deadline returns when the context ends if it is not held from now on.
func (l *limited) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end, outer := l.since.Add(l.left), time.Time{}
	if at, ok := l.Context.Deadline(); ok {
		outer = at
	}
	if l.holds > 0 || !outer.IsZero() && outer.Before(end) {
		return outer, !outer.IsZero()
	}
	return end, true
}

func (l *limited) Done() <-chan struct{} { return l.done }

func (l *limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *limited) Value(key any) any {
	if key == (limitKey{}) {
		return l
	}
	return l.Context.Value(key)
}

func (l *limited) cancel(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(err)
}

// end ends the context. The caller holds mu.
func (l *limited) end(err error) {
	if l.err == nil {
		l.err = err
		l.timer.Stop()
		close(l.done)
	}
}

package stream

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// bell rings when a file may have changed: the kernel tells it where it can. It is
// polled below, since that can miss, and where there is no kernel's watcher left.
type bell struct {
	rung    chan struct{}
	watched bool
	pause   time.Duration // how long it waits unless it is rung
	missed  int           // times in a row that there was news and it had not rung
	watcher *fsnotify.Watcher
}

// slowest is how long a bell waits at most that has always rung so far; one that
// has missed as often as deaf is polled. A process at rest costs next to nothing.
const (
	slowest = 2 * time.Second
	deaf    = 3
)

// newWatcher asks the kernel for a watcher; tests do without.
var newWatcher = fsnotify.NewWatcher

// listen begins to listen for changes of the file at path, until silence.
func listen(path string) *bell {
	b := &bell{rung: make(chan struct{}, 1)}
	w, err := newWatcher()
	if err != nil {
		return b
	}
	b.watcher = w
	if w.Add(path) != nil {
		return b
	}
	b.watched = true
	go func() {
		for open := true; open; {
			select {
			case _, open = <-w.Events:
			case _, open = <-w.Errors: // more changes than the kernel keeps
			}
			ringOnce(b.rung)
		}
	}()
	return b
}

// wait returns when the bell has rung, or a little later anyhow.
func (b *bell) wait(ctx context.Context) error {
	timer := time.NewTimer(max(b.pause, pollEvery))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.rung:
		b.pause, b.missed = 0, 0
	case <-timer.C:
		if b.watched && b.missed < deaf {
			b.pause = min(2*max(b.pause, pollEvery), slowest)
		}
	}
	return nil
}

// news tells the bell that something was read: if it has not rung, it missed it.
func (b *bell) news() {
	if b.pause > 0 && len(b.rung) == 0 {
		b.pause = 0
		b.missed++
	}
}

// silence ends the bell.
func (b *bell) silence() {
	if b.watcher != nil {
		_ = b.watcher.Close() // of what was asked of the kernel nothing is kept
	}
}

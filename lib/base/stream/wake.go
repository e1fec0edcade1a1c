package stream

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// waker wakes a reader when a file may have changed, by kernel notifications if available. It also
// polls, since notifications can be missed and watchers can run out.
type waker struct {
	rung    chan struct{}
	watched bool
	pause   time.Duration // how long it waits without a notification
	missed  int           // consecutive changes without a notification
	watcher *fsnotify.Watcher
}

// slowest is the poll interval of a waker that has not missed a change; one that has missed deaf
// changes in a row polls at pollEvery. An idle process costs next to nothing.
const (
	slowest = 2 * time.Second
	deaf    = 3
)

// newWatcher creates a kernel watcher; tests replace it.
var newWatcher = fsnotify.NewWatcher

// listen starts to watch the file at path, until silence.
func listen(path string) *waker {
	b := &waker{rung: make(chan struct{}, 1)}
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
			case _, open = <-w.Errors: // more changes than the kernel's queue holds
			}
			ringOnce(b.rung)
		}
	}()
	return b
}

// wait returns on a notification, or after the poll interval.
func (b *waker) wait(ctx context.Context) error {
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

// news records that data was read: without a notification, one was missed.
func (b *waker) news() {
	if b.pause > 0 && len(b.rung) == 0 {
		b.pause = 0
		b.missed++
	}
}

// silence stops the waker.
func (b *waker) silence() {
	if b.watcher != nil {
		_ = b.watcher.Close() // the watcher is discarded
	}
}

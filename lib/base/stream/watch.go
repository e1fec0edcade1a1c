package stream

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch returns a channel that receives a value when one of the files or folders may have changed
// since it was last emptied. Missing files are waited for. Without kernel notifications it fires
// every pollEvery, and in any case every two seconds, so the receiver must check for changes
// itself.
func Watch(ctx context.Context, paths ...string) <-chan struct{} {
	rung := make(chan struct{}, 1)
	w, err := newWatcher()
	if err != nil {
		go watchNothing(ctx, rung)
		return rung
	}
	v := &watcher{Watcher: w, asked: map[string]bool{}, left: map[string]bool{}}
	for _, path := range paths {
		v.asked[filepath.Clean(path)] = true
	}
	maps.Copy(v.left, v.asked)
	pause := v.add()
	go func() {
		defer w.Close()
		for {
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case e := <-w.Events:
				v.gone(e)
			case <-w.Errors: // more changes than the kernel's queue holds
			case <-timer.C:
			}
			timer.Stop()
			pause = v.add()
			ringOnce(rung)
		}
	}()
	return rung
}

func watchNothing(ctx context.Context, rung chan struct{}) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			ringOnce(rung)
		}
	}
}

func ringOnce(rung chan struct{}) {
	select {
	case rung <- struct{}{}:
	default:
	}
}

// watcher is fsnotify's watcher and the paths that are not watched yet. For a missing path its
// folder is watched.
type watcher struct {
	*fsnotify.Watcher
	asked, left, folders map[string]bool
}

// add watches paths that have appeared, and returns the interval after which to check again
// anyway.
func (v *watcher) add() (pause time.Duration) {
	pause = slowest
	need := map[string]bool{}
	for path := range v.left {
		err := v.Add(path)
		if err == nil {
			delete(v.left, path)
			continue
		}
		dir := filepath.Dir(path)
		if errors.Is(err, os.ErrNotExist) && (need[dir] || v.folders[dir] || v.asked[dir] ||
			v.Add(dir) == nil) {
			need[dir] = true
		} else {
			pause = pollEvery // no watcher left, or the folder is missing too
		}
	}
	for dir := range v.folders {
		if !need[dir] && !v.asked[dir] {
			_ = v.Remove(dir) // it may be gone
		}
	}
	v.folders = need
	return pause
}

// gone marks a removed file, to be watched again when it reappears.
func (v *watcher) gone(e fsnotify.Event) {
	if path := filepath.Clean(e.Name); v.asked[path] && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		_ = v.Remove(path) // the name now refers to another file
		v.left[path] = true
	}
}

// awaitFile waits until path may exist.
func awaitFile(ctx context.Context, path string) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changed := Watch(watching, path)
	for {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

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

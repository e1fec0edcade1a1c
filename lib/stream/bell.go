package stream

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/nxadm/tail/watch"
	"gopkg.in/tomb.v1"
)

// bell rings when a file may have changed. It is nxadm/tail's watcher with its
// traps covered: one watch for each path, since that package has one channel for
// each; never begun where the kernel has no watcher left, since it would end the
// process; and polled below, since it can miss.
type bell struct {
	path    string
	rung    chan struct{}
	watched bool
	pause   time.Duration // how long it waits unless it is rung
	missed  int           // times in a row that there was news and it had not rung
}

// slowest is how long a bell waits at most that has always rung so far; one that
// has missed as often as deaf is polled. A process at rest costs next to nothing.
const (
	slowest = 2 * time.Second
	deaf    = 3
)

// watched are the bells of this process, by the path that is watched for them. A
// watch stays as long as its file, since ending one and beginning the next on
// the same path race in that package; a process follows a handful of files.
var (
	watchMu sync.Mutex
	watched = map[string]map[*bell]bool{}
)

func listen(path string) *bell {
	b := &bell{path: filepath.Clean(path), rung: make(chan struct{}, 1)}
	watchMu.Lock()
	defer watchMu.Unlock()
	if watched[b.path] == nil {
		if !begin(b.path) {
			return b // it is polled
		}
		watched[b.path] = map[*bell]bool{}
	}
	watched[b.path][b], b.watched = true, true
	return b
}

// begin starts a watch, where that can be.
func begin(path string) bool {
	if !watchable() {
		return false
	}
	changes, err := watch.NewInotifyFileWatcher(path).ChangeEvents(new(tomb.Tomb), 0)
	if err != nil {
		return false
	}
	go func() {
		for alive := true; alive; {
			select {
			case <-changes.Modified:
			case <-changes.Truncated:
			case <-changes.Deleted: // the package has ended this watch
				alive = false
			}
			ring(path, alive)
		}
	}()
	return true
}

// ring rings all bells of a path.
func ring(path string, alive bool) {
	watchMu.Lock()
	defer watchMu.Unlock()
	for b := range watched[path] {
		select {
		case b.rung <- struct{}{}:
		default:
		}
	}
	if !alive {
		delete(watched, path)
	}
}

// watchable reports whether the kernel gives out watchers.
var watchable = sync.OnceValue(func() bool {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return false
	}
	return w.Close() == nil
})

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
	watchMu.Lock()
	defer watchMu.Unlock()
	delete(watched[b.path], b)
}

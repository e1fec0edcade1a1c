package stream

import (
	"context"
	"errors"
	"os"
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
	path string
	rung chan struct{}
}

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
	watched[b.path][b] = true
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
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.rung:
	case <-timer.C:
	}
	return nil
}

// silence ends the bell.
func (b *bell) silence() {
	watchMu.Lock()
	defer watchMu.Unlock()
	delete(watched[b.path], b)
}

// awaitFile waits until path may exist: it looks often at first, since the next
// stage of a pipeline makes its log in a moment, then as often as the net below
// the watcher does.
func awaitFile(ctx context.Context, path string) error {
	wait := pollEvery / 10
	for {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, pollEvery)
	}
}

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

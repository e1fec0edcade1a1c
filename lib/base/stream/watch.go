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

// Watch returns a channel that has something in it whenever one of the files or
// folders may have changed since it was last emptied; those that are not there yet
// are waited for. Where the kernel tells nothing it is so every pollEvery, and
// every two seconds in any case, so whoever asks looks for himself what is new.
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
			case <-w.Errors: // more changes than the kernel keeps
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

// watcher is fsnotify's and the paths that are not watched yet. For one that is not
// there its folder is watched.
type watcher struct {
	*fsnotify.Watcher
	asked, left, folders map[string]bool
}

// add watches what has appeared; it returns after what time all is to be looked at
// anyhow.
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
		if errors.Is(err, os.ErrNotExist) && (need[dir] || v.folders[dir] || v.asked[dir] || v.Add(dir) == nil) {
			need[dir] = true
		} else {
			pause = pollEvery // none left, or there is not even a folder
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

// gone notes that a file was taken away, to be watched again when it is back.
func (v *watcher) gone(e fsnotify.Event) {
	if path := filepath.Clean(e.Name); v.asked[path] && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		_ = v.Remove(path) // what is there now is another file
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

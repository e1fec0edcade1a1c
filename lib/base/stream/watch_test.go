package stream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// rings waits until a channel has something in it that is due to what do does, and
// not to the net: it does it again until it has rung sooner than the net would.
func rings(t *testing.T, rung <-chan struct{}, do func()) {
	t.Helper()
	for range 20 {
		for len(rung) > 0 {
			<-rung
		}
		began := time.Now()
		do()
		<-rung
		if time.Since(began) < pollEvery/2 {
			return
		}
	}
	t.Error("only the net catches it")
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	file, later, folder := filepath.Join(dir, "log"), filepath.Join(dir, "later"), filepath.Join(dir, "open")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	appendTo(t, file, "a\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rung := Watch(ctx, file, later, folder, filepath.Join(dir, "no", "folder"))
	rings(t, rung, func() { appendTo(t, file, "b\n") })
	rings(t, rung, func() { appendTo(t, later, "b\n") }) // it appears
	rings(t, rung, func() { appendTo(t, later, "c\n") })
	replace := func(name string) func() {
		return func() {
			tmp := filepath.Join(dir, "tmp")
			appendTo(t, tmp, "x")
			if err := os.Rename(tmp, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	rings(t, rung, replace(filepath.Join(folder, "x.json")))
	rings(t, rung, replace(filepath.Join(folder, "x.json")))
	rings(t, rung, replace(file))
	rings(t, rung, func() { appendTo(t, file, "d\n") }) // the new one
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	rings(t, rung, func() { appendTo(t, file, "e\n") })
	rings(t, rung, func() { appendTo(t, file, "f\n") })
}

// TestWatchNothing: without the kernel's help it rings by itself.
func TestWatchNothing(t *testing.T) {
	rung := make(chan struct{}, 1)
	go watchNothing(t.Context(), rung)
	<-rung
	<-rung
}

// TestNoWatcherLeft: where the kernel gives out no more watchers, files are looked at
// instead, those that are not there yet too.
func TestNoWatcherLeft(t *testing.T) {
	defer func(was func() (*fsnotify.Watcher, error)) { newWatcher = was }(newWatcher)
	newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	name := filepath.Join(t.TempDir(), "log")
	lines, done, stop := following(t, name, 0)
	for _, text := range []string{"one", "two"} {
		appendTo(t, name, text+"\n")
		if got := <-lines; got.text != text {
			t.Errorf("got %v", got)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestListen: an existing file is watched; a missing one has a waker too.
func TestListen(t *testing.T) {
	name := file(t, nil)
	for path, watched := range map[string]bool{name: true, name + ".none": false} {
		b := listen(path)
		if b == nil || b.watched != watched {
			t.Fatalf("%s: %+v", path, b)
		}
		if watched {
			appendTo(t, path, "a\n")
			select {
			case <-b.rung:
			case <-time.After(20 * time.Second):
				t.Error("it does not ring")
			}
		}
		b.silence()
	}
}

// TestWakerSlowsDown: a reliable waker waits longer and longer without notifications; one that
// misses changes polls.
func TestWakerSlowsDown(t *testing.T) {
	b := &waker{watched: true, rung: make(chan struct{}, 1)}
	passes := func() { // what wait does when its time is up
		b.pause = min(2*max(b.pause, pollEvery), slowest)
	}
	for range 9 {
		passes()
	}
	if b.pause != slowest {
		t.Errorf("waits %v", b.pause)
	}
	b.rung <- struct{}{}
	if err := b.wait(t.Context()); err != nil || b.pause != 0 || b.missed != 0 {
		t.Errorf("rung: %v, %+v", err, b)
	}
	for n := range deaf {
		passes()
		b.news()
		if b.missed != n+1 || b.pause != 0 {
			t.Errorf("missed: %+v", b)
		}
	}
	began := time.Now()
	if err := b.wait(t.Context()); err != nil || b.pause != 0 || time.Since(began) < pollEvery/2 {
		t.Errorf("deaf: %v, %+v", err, b)
	}
	passes()
	b.rung <- struct{}{}
	if b.news(); b.missed != deaf { // it has rung: nothing was missed
		t.Errorf("in time: %+v", b)
	}
}

package approve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"tri/lib/base/stream"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// lookEvery is how often a board looks at most, however much is written, and
// ageEvery how often it looks though nothing has changed: offers run out by
// themselves.
const (
	lookEvery = 400 * time.Millisecond
	ageEvery  = 10 * time.Second
)

// reader reads what Items are made of, and what it has read already only when it
// has changed.
type reader struct {
	gate    *Gate
	tail    *decision.Tail
	state   *decision.State
	threads map[string]cached // by file name
}

// cached is a thread's file as it was read.
type cached struct {
	at     time.Time
	size   int64
	thread *thread.Thread // nil: at rest elsewhere, nothing of it waits
}

func newReader(g *Gate) *reader {
	return &reader{gate: g, tail: decision.NewTail(g.Home), state: decision.NewState(decision.PolicyOf(g.Config)), threads: map[string]cached{}}
}

func (r *reader) items() ([]*Item, error) {
	err := r.tail.Next(func(rec decision.Record) error {
		r.state.Add(rec)
		return nil
	})
	if err == nil {
		err = r.readThreads()
	}
	if err != nil {
		return nil, err
	}
	var items []*Item
	for _, c := range r.threads {
		if c.thread == nil {
			continue
		}
		st := r.state.Standing(c.thread.Key)
		if st != nil {
			now := *st // the state goes on; an item stays as it was seen
			st = &now
		}
		if it := r.gate.item(c.thread, st); it != nil {
			items = append(items, it)
		}
	}
	r.state.Keys(func(st *decision.Standing) {
		if it := r.gate.expired(st); it != nil {
			items = append(items, it)
		}
	})
	entries, err := outbox.Open(r.gate.Home)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.State == outbox.Parked {
			items = append(items, r.gate.parked(e))
		}
	}
	return number(items), nil
}

// readThreads brings the open threads up to date.
func (r *reader) readThreads() error {
	names, err := r.gate.Home.List("open")
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		info, err := r.gate.Home.Root().Lstat("open/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since it was listed
		}
		if err != nil {
			return err
		}
		there[name] = true
		if c, ok := r.threads[name]; ok && c.at.Equal(info.ModTime()) && c.size == info.Size() {
			continue
		}
		t, err := thread.LoadFile(r.gate.Home, "open/"+name)
		if err != nil {
			return err
		}
		if t != nil && t.Status != thread.PendingUser {
			t = nil
		}
		r.threads[name] = cached{at: info.ModTime(), size: info.Size(), thread: t}
	}
	for name := range r.threads {
		if !there[name] {
			delete(r.threads, name)
		}
	}
	return nil
}

// Board is the list of what waits, as it changes. It is safe for concurrent use;
// the items that it hands out never change.
type Board struct {
	mu      sync.Mutex
	reader  *reader
	items   []*Item
	version int
	err     error
	changed chan struct{}
	looked  time.Time
	marks   string // of the files, when they were last read
}

// Watch returns a board that is kept up to date until ctx ends.
func (g *Gate) Watch(ctx context.Context) (*Board, error) {
	own := *g
	b := &Board{reader: newReader(&own), changed: make(chan struct{})}
	b.Refresh()
	if _, _, err := b.Items(); err != nil {
		return nil, err
	}
	go b.watch(ctx)
	return b, nil
}

// watch looks whenever something was written. The bell of Watch rings now and then
// by itself, which is enough for what only time changes.
func (b *Board) watch(ctx context.Context) {
	var paths []string
	for _, name := range watched {
		paths = append(paths, b.reader.gate.Home.Path(name))
	}
	changed := stream.Watch(ctx, paths...)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		b.look()
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// Items are what waits now, as Gate.Items gives them, with a number that grows
// with every change. An error is of the last look; the items are then those of
// the one before.
func (b *Board) Items() (items []*Item, version int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.items, b.version, b.err
}

// Changed is closed when the items are no longer those of now.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Refresh looks at once, as after a decision of one's own.
func (b *Board) Refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(b.now())
}

// look reads what has changed, if anything has.
func (b *Board) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	marks := b.now()
	if marks == b.marks && time.Since(b.looked) < ageEvery {
		return
	}
	b.refresh(marks)
}

func (b *Board) refresh(marks string) {
	items, err := b.reader.items()
	b.looked, b.marks = time.Now(), marks
	same := err == nil && b.err == nil && alike(b.items, items) && b.version > 0
	if err == nil {
		b.items = items
	}
	b.err = err
	if same {
		return
	}
	b.version++
	close(b.changed)
	b.changed = make(chan struct{})
}

// watched is where a board sees that something was written: a new thread or entry
// is a rename into its folder.
var watched = []string{decision.LogName, "open", outbox.Dir}

func (b *Board) now() string {
	var marks strings.Builder
	for _, name := range watched {
		if info, err := os.Lstat(b.reader.gate.Home.Path(name)); err == nil {
			marks.WriteString(info.ModTime().String())
		}
		marks.WriteByte('/')
	}
	return marks.String()
}

// alike reports whether two lists show the same to a person.
func alike(a, b []*Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].full != b[i].full || a[i].Kind != b[i].Kind || a[i].Note != b[i].Note || a[i].thread != b[i].thread || len(a[i].Votes) != len(b[i].Votes) {
			return false
		}
	}
	return true
}

package approve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// lookEvery is the minimum time between two looks of a board, however much is written. ageEvery is the
// maximum, even if nothing has changed: offers expire with time alone.
const (
	lookEvery = 400 * time.Millisecond
	ageEvery  = 10 * time.Second
)

// reader reads the files from which Items are made. It reads a file again only if it has changed.
type reader struct {
	gate    *Gate
	tail    *decision.Tail
	state   *decision.State
	policy  decision.Policy   // of state
	threads map[string]cached // by file name
}

// cached is a thread's file as last read.
type cached struct {
	at     time.Time
	size   int64
	thread *thread.Thread // nil if the thread is not pending
	bad    *Item          // in place of a thread that cannot be read
}

func newReader(g *Gate) *reader {
	r := &reader{gate: g, threads: map[string]cached{}}
	r.follow(decision.PolicyOf(g.Config))
	return r
}

// follow has the log read from its beginning under a policy.
func (r *reader) follow(p decision.Policy) {
	r.policy, r.tail, r.state = p, decision.NewTail(r.gate.Home), decision.NewState(p)
}

func (r *reader) items() ([]*Item, error) {
	if now, err := r.gate.Rules(); err == nil && !reflect.DeepEqual(now, r.policy) {
		r.follow(now) // one that cannot be read is reported by the next decision
	}
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
		if c.bad != nil {
			bad := *c.bad // a copy: order changes it
			items = append(items, &bad)
		}
		if c.thread == nil {
			continue
		}
		st := r.state.Standing(c.thread.Key)
		if st != nil {
			now := *st // a copy: the state changes later, an item does not
			st = &now
		}
		if it := r.gate.item(c.thread, st); it != nil {
			items = append(items, it)
		}
	}
	r.state.Keys(func(st *decision.Standing) {
		if it := r.gate.proposal(st); it != nil {
			items = append(items, it)
		}
		if it := r.gate.over(st, shownEnded); it != nil {
			items = append(items, it)
		}
	})
	entries, err := outbox.Readable(r.gate.Home, func(id string, err error) {
		items = append(items, damaged(id, id, err))
	})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.State == outbox.Parked {
			items = append(items, r.gate.parked(e))
		}
	}
	return r.gate.inRoom(order(items)), nil
}

// readThreads rereads the open threads that have changed, on every processor: reading takes most of the
// time of a list.
func (r *reader) readThreads() error {
	names, err := r.gate.Home.List("open")
	if err != nil {
		return err
	}
	type read struct {
		cached
		err error
	}
	now := make([]read, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				now[i].cached, now[i].err = r.readThread(names[i])
			}
		})
	}
	wg.Wait()
	threads := make(map[string]cached, len(names))
	for i, name := range names {
		if errors.Is(now[i].err, fs.ErrNotExist) {
			continue // closed after it was listed
		}
		if now[i].err != nil {
			return now[i].err
		}
		threads[name] = now[i].cached
	}
	r.threads = threads
	return nil
}

// readThread rereads an open thread if its file has changed.
func (r *reader) readThread(name string) (cached, error) {
	info, err := r.gate.Home.Root().Lstat("open/" + name)
	if err != nil {
		return cached{}, err
	}
	c, ok := r.threads[name]
	if ok && c.at.Equal(info.ModTime()) && c.size == info.Size() {
		return c, nil
	}
	c = cached{at: info.ModTime(), size: info.Size()}
	c.thread, err = thread.LoadFile(r.gate.Home, "open/"+name)
	if status, _ := sysexit.Of(err); err != nil && status == sysexit.IO {
		return c, err
	}
	if err != nil {
		c.thread, c.bad = nil, damaged(strings.TrimSuffix(name, ".json"), "", err)
	} else if c.thread != nil && c.thread.Status != thread.PendingUser {
		c.thread = nil
	}
	return c, nil
}

// Board is the list of waiting items, kept up to date. It is safe for concurrent use. The items that it
// returns never change.
type Board struct {
	mu      sync.Mutex
	reader  *reader
	items   []*Item
	version int
	err     error
	changed chan struct{}
	looked  time.Time
	marks   string // modification times of the files when they were last read
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

// watch looks whenever something was written. stream.Watch also fires now and then by itself, which
// suffices for changes with time.
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

// Items returns the current items, as Gate.Items does, with a version that increases with every change. If
// the last look failed, it returns its error and the items of the look before.
func (b *Board) Items() (items []*Item, version int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.items, b.version, b.err
}

// Changed returns a channel that is closed when the items change.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Refresh looks at once, for instance after deciding something.
func (b *Board) Refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(b.now())
}

// look rereads the files if they have changed or ageEvery has passed.
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

// watched are the log and folders whose modification times show a change: a new thread or entry is renamed
// into its folder.
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

// alike reports whether two lists look the same to a person.
func alike(a, b []*Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].full != b[i].full || a[i].Kind != b[i].Kind || a[i].Note != b[i].Note ||
			a[i].thread != b[i].thread || len(a[i].Votes) != len(b[i].Votes) {
			return false
		}
	}
	return true
}

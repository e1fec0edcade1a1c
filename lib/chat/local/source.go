package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// How often the folder is read without a notification: as a safety net for fsnotify, and alone
// where fsnotify is not available (network file systems, watches used up).
const (
	slowPoll = 2 * time.Second
	fastPoll = 200 * time.Millisecond
)

// Reading the folder takes at most one part of so many of the time, however many rooms there are:
// with notifications, and without.
const (
	slowShare = 200
	fastShare = 10
)

// batch is how many events are made durable together.
const batch = 512

// reader is the state of one Run.
type reader struct {
	chat.Handler
	c       *Client
	resume  chat.Resume
	rooms   map[string]*position
	memory  memory
	refused map[string]string // problems reported for names that are not rooms
	saved   time.Time         // when the state was saved
}

// position is how far a room has been read. Ids are offsets, so a room whose earlier bytes change
// counts as a new room.
type position struct {
	*room
	off   int64
	tail  []byte // the last bytes before off
	quiet bool   // its faults were reported when they were new
	dead  bool
}

const tailSize = 1 << 10

// Run reads every room from its start: events that the log already has are dropped there by their
// identity.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	r := &reader{c: c, resume: resume, Handler: to, rooms: map[string]*position{}, memory: remembered(resume),
		refused: map[string]string{}}
	return errors.Join(r.run(ctx), r.saveState())
}

// run reads the rooms and, unless Once is set, what is appended until ctx ends.
func (r *reader) run(ctx context.Context) error {
	c := r.c
	poll, share := slowPoll, slowShare
	var changed chan fsnotify.Event
	var lost chan error
	if !c.once {
		// Watch before the first read, so that no change is missed in between.
		w, err := watchDir(c.dir)
		if err == nil {
			defer w.Close()
			changed, lost = w.Events, w.Errors
		} else {
			poll, share = fastPoll, fastShare
			r.Logf("no notice of changes (%v): looking every %v", err, poll)
		}
	}
	if err := r.all(ctx); err != nil || c.once {
		return err
	}
	if err := r.saveState(); err != nil {
		return err
	}
	r.OnConnect(true)
	tick := time.NewTimer(poll)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-changed:
			err = r.one(ctx, filepath.Base(e.Name))
		case <-lost: // the kernel's queue overflowed
			err = r.all(ctx)
		case <-tick.C:
			began := time.Now()
			err = r.all(ctx)
			tick.Reset(max(poll, time.Since(began)*time.Duration(share)))
		}
		if err == nil && time.Since(r.saved) >= time.Second {
			err = r.saveState()
		}
		if err != nil {
			return err
		}
	}
}

func watchDir(dir string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(dir); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (r *reader) all(ctx context.Context) error {
	names, err := r.c.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.one(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// one reads the new lines of a room. Faults of the room are reported once; a returned error ends
// the source.
func (r *reader) one(ctx context.Context, name string) error {
	p := r.rooms[name]
	if p != nil && p.dead || len(r.c.rooms) > 0 && !slices.Contains(r.c.rooms, name) {
		return nil
	}
	if p != nil && r.c.size(name) == p.off {
		return nil
	}
	f, err := r.c.open(name, os.O_RDONLY)
	if err != nil {
		if r.c.once && errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist) {
			return err // there will be no later attempt
		}
		if !errors.Is(err, errHidden) && !errors.Is(err, fs.ErrNotExist) && r.refused[name] != err.Error() {
			r.refused[name] = err.Error()
			r.Logf("%v", err)
		}
		return nil
	}
	defer f.Close()
	if p == nil {
		_, known := r.resume.Last[name]
		p = &position{room: newRoom(name, r.c.bot), quiet: known}
		r.rooms[name] = p
		if holds, err := r.memory.isSame(name, f); known && err != nil {
			return fmt.Errorf("room %q: %w", name, err)
		} else if known && !holds {
			r.giveUp(p)
			return nil
		}
	}
	return r.read(ctx, p, f)
}

func (r *reader) read(ctx context.Context, p *position, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("room %q: %w", p.name, err)
	}
	if info.Size() == p.off {
		return nil
	}
	if same, err := p.same(f, info.Size()); err != nil {
		return fmt.Errorf("room %q: %w", p.name, err)
	} else if !same {
		r.giveUp(p)
		return nil
	}
	// The file's modification time: exact for a line just appended, and closer than the current time
	// for an old room.
	at := info.ModTime()
	if now := r.c.now(); at.After(now) {
		at = now
	}
	var ready []event.Event
	flush := func() error {
		if len(ready) == 0 {
			return ctx.Err()
		}
		err := r.OnEvents(ready...)
		ready = ready[:0]
		return err
	}
	// The tail is of the lines that were read: the file may be rewritten before a second read.
	tail, skipped := slices.Clone(p.tail), false
	end, err := walk(f, p.off, info.Size(), false, func(off int64, line []byte, err error) error {
		skipped = skipped || errors.Is(err, errLong)
		tail = append(append(tail, line...), '\n')
		tail = tail[max(0, len(tail)-tailSize):]
		e, a, ok := r.line(p, off, line, at, err)
		switch {
		case a != nil:
			if err := flush(); err != nil {
				return err
			}
			return r.OnAction(*a)
		case ok:
			ready = append(ready, e)
		}
		if len(ready) == batch {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if skipped { // only the beginning of the line is at hand
		if tail, err = before(f, end); err != nil {
			return fmt.Errorf("room %q: %w", p.name, err)
		}
	}
	p.quiet, p.off, p.tail = false, end, tail
	return nil
}

// giveUp stops reading a room.
func (r *reader) giveUp(p *position) {
	p.dead = true
	r.Logf("room %q was cut or rewritten, so its message ids no longer hold: it is not read any more", p.name)
}

// line returns the event or the action of a line, if it has one.
func (r *reader) line(p *position, off int64, line []byte, at time.Time,
	err error) (event.Event, *event.Action, bool) {
	if errors.Is(err, errLong) {
		// Reported at every start: there is no event for it, so nothing else shows it.
		r.Logf("room %s: line at %d: longer than %d bytes: ignored", p.name, off, maxLine)
		return event.Event{}, nil, false
	}
	e, err := p.add(off, string(line), at)
	if errors.Is(err, errReaction) {
		a, ok := p.action(e, at)
		if !ok {
			return event.Event{}, nil, false
		}
		return event.Event{}, &a, true
	}
	if err != nil {
		r.logFault(p, err)
		if !errors.As(err, new(*fault)) {
			return event.Event{}, nil, false
		}
	}
	return p.event(e, at), nil, true
}

func (r *reader) logFault(p *position, err error) {
	if !p.quiet && !errors.Is(err, errNothing) {
		r.Logf("%v", err)
	}
}

// same reports whether the bytes before off are still those that were read.
func (p *position) same(f *os.File, size int64) (bool, error) {
	if size < p.off {
		return false, nil
	}
	now, err := before(f, p.off)
	return bytes.Equal(now, p.tail), err
}

// before returns the last bytes before off, nil if there are not enough.
func before(f *os.File, off int64) ([]byte, error) {
	b := make([]byte, min(off, tailSize))
	_, err := f.ReadAt(b, off-int64(len(b)))
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return b, err
}

// memory contains, by room, a hash of the bytes at which reading had stopped. With it a room that
// was truncated or rewritten while no program was running is reported at the next start: the ids of
// its new messages would collide with those in the log.
type memory map[string]mark

// mark is an offset and the hash of the bytes before it. It need not be the last position: bytes
// before any earlier one must not change either.
type mark struct {
	Off int64  `json:"off"`
	Sum string `json:"sum"`
}

// maxRooms is the number of rooms whose marks fit into the saved state.
const maxRooms = 300

// remembered restores the memory. If it cannot be parsed, it is empty.
func remembered(resume chat.Resume) memory {
	m := memory{}
	if json.Unmarshal(resume.State, &m) != nil || m == nil {
		return memory{}
	}
	return m
}

// isSame reports whether the mark of a room matches the file f.
func (m memory) isSame(name string, f *os.File) (bool, error) {
	k := m[name]
	if k.Off <= 0 {
		return true, nil
	}
	tail, err := before(f, k.Off)
	return tail != nil && sum(tail) == k.Sum, err
}

// saveState saves how far all rooms have been read, those too that are not read any more: after a restart
// they must not be taken for unchanged.
func (r *reader) saveState() error {
	changed := false
	r.saved = time.Now()
	for name, p := range r.rooms {
		k, ok := r.memory[name]
		if p.off == 0 || p.off == k.Off || !ok && len(r.memory) >= maxRooms {
			continue
		}
		r.memory[name], changed = mark{p.off, sum(p.tail)}, true
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(r.memory)
	if err != nil {
		return err
	}
	return r.Save(text)
}

func sum(b []byte) string {
	return text.SHA256(b)[:32]
}

package tail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	nx "github.com/nxadm/tail"
	"golang.org/x/sys/unix"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// log is the state of following one log.
type log struct {
	*Client
	chat.Handler
	name  string
	state *state
	fresh bool // first start: begin at the end
	empty bool // the log was empty at the first start: all lines are new
	heard func()

	pos    position
	done   bool  // the file of pos is read to its end, and a newer one is current
	looked int64 // how far the end of the line at pos was searched
	clock  clock
	missed int  // lines that appeared without a notification
	told   bool // the file's absence, or its problem, was reported
	nicks  map[string]bool
}

// run reads the log until ctx ends. It returns an error only if events cannot be stored.
func (l *log) run(ctx context.Context) error {
	pos, ok := l.state.get(l.name)
	l.pos, l.nicks = pos, map[string]bool{}
	if d, known := dayOf(pos.Day); known {
		l.clock = clock{day: d, last: d}
	}
	if ok {
		l.fresh, l.empty = false, pos.First == ""
	}
	for ctx.Err() == nil {
		f, last, err := l.next()
		if err != nil {
			return err
		}
		if f == nil {
			if l.fresh {
				l.fresh, l.empty = false, true
				if err := l.state.set(l.name, position{}, true); err != nil {
					return err
				}
			}
			l.heard()
			sleep(ctx, l.o.Tick)
			continue
		}
		err = l.read(ctx, f)
		if err == nil && last {
			l.heard()
			err = l.live(ctx, f)
		} else if err == nil {
			l.done = true
		}
		switch err := errors.Join(err, f.Close()); {
		case errors.Is(err, errChanged):
			sleep(ctx, l.o.Tick/10) // the change may still be in progress
		case err != nil && ctx.Err() == nil:
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errChanged ends the reading of a file whose earlier contents have changed.
var errChanged = errors.New("the file was cut or rewritten")

// next opens the file to read now, with pos in it; nil if there is none. last reports whether it is
// the current one.
func (l *log) next() (f *os.File, last bool, err error) {
	opened := l.open()
	defer func() {
		for _, x := range opened {
			if x != f {
				_ = x.Close() // opened for reading only
			}
		}
	}()
	if len(opened) == 0 {
		l.logOnce("%s is not there yet", l.name)
		return nil, false, nil
	}
	i := l.find(opened)
	n := len(opened) - 1
	switch {
	case i >= 0 && l.done && i < n:
		i++
	case i >= 0:
		l.done, l.told = false, false
		return opened[i], i == n, nil
	case l.empty && l.pos.First == "":
		i = 0
	default:
		if l.pos.First != "" && !l.done {
			l.Logf("tail: %s: the file that was read up to byte %d is gone or changed: lines after that are lost", l.name, l.pos.Offset)
		}
		i = n
	}
	for ; i <= n; i++ { // skip empty files, except the current one
		if ok, err := l.begin(opened[i]); err != nil || ok {
			l.told = false
			return opened[i], i == n, err
		}
	}
	return nil, false, nil
}

// open opens the files of the log. If a file is being rotated, the list is read again: a file
// renamed between listing and opening would be skipped.
func (l *log) open() (opened []*os.File) {
	for range 10 {
		for _, x := range opened {
			_ = x.Close() // opened for reading only
		}
		opened = nil
		files := series(l.name)
		for _, name := range files {
			x, err := open(name)
			if err == nil {
				opened = append(opened, x)
			} else if name == l.name {
				l.logOnce("%v", err)
			}
		}
		calm := slices.Equal(files, series(l.name))
		for _, x := range opened {
			is, err1 := x.Stat()
			now, err2 := os.Stat(x.Name())
			calm = calm && err1 == nil && err2 == nil && os.SameFile(is, now)
		}
		if calm {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return opened
}

// find returns the index of the file that contains pos, or -1. The file with the same inode takes
// precedence over a copy.
func (l *log) find(files []*os.File) int {
	if l.pos.First == "" {
		return -1
	}
	found := -1
	for i, f := range files {
		if l.pos.isSame(f) && (found < 0 || inode(files[found]) != l.pos.Inode) {
			found = i
		}
	}
	return found
}

// begin sets pos to the start of a file, or, at a first start, to its end. pos is saved before
// anything of the file is emitted. ok is false while the file has no line.
func (l *log) begin(f *os.File) (ok bool, err error) {
	first, whole := firstOf(f)
	if !whole {
		return false, nil
	}
	p := position{Inode: inode(f), First: first}
	if p.First == l.pos.First {
		p.Again = l.pos.Again + 1
	}
	if l.fresh {
		l.fresh = false
		if p.Offset, err = lastEnd(f); err == nil && p.Offset > 0 {
			p.Before, err = windowOf(f, p.Offset)
		}
		if err != nil {
			return false, nil //nolint:nilerr // it is changing: the next look decides
		}
	}
	l.pos, l.done, l.looked, l.clock = p, false, 0, clock{}
	return true, l.state.set(l.name, p, true)
}

func (l *log) logOnce(format string, args ...any) {
	if !l.told {
		l.told = true
		l.Logf("tail: "+format, args...)
	}
}

// read emits the complete lines of the file.
func (l *log) read(ctx context.Context, f *os.File) (err error) {
	l.looked, err = lines(f, l.pos.Offset, l.looked, func(offset int64) {
		l.Logf("tail: %s: the line at byte %d has more than %d bytes, left out", f.Name(), offset, maxLine)
	}, func(part []line, end int64) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return l.emit(f, part, end)
	})
	return err
}

// live emits appended lines, until a newer file is current and this one has been read, or next has
// to choose a file again. The library follows the open file itself, even if it is renamed.
func (l *log) live(ctx context.Context, f *os.File) error {
	var t *nx.Tail
	var in <-chan *nx.Line
	if l.looked-l.pos.Offset <= maxLine { // otherwise the line is too long to be held in memory
		name, closer := handle(f)
		defer closer()
		var err error
		if t, err = follow(name, l.pos.Offset, l.o.Poll || l.missed > 1); err != nil {
			return nil // the next tick tries again
		}
		in = t.Lines
		defer func() { _ = t.Stop() }() // an error concerns a file that is read again anyway
	}
	tick := time.NewTicker(l.o.Tick)
	defer tick.Stop()
	seen, quiet := int64(-1), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case x, ok := <-in:
			if !ok {
				in = nil // a renamed file gets no more notifications: the tick finds its new lines
				continue
			}
			if err := l.take(f, x, in); err != nil {
				return err
			}
		case <-tick.C:
			again, moved := l.look(f, seen)
			if again {
				return nil
			}
			if seen = l.pos.Offset; !moved {
				quiet = 0
			} else if quiet++; quiet == 3 {
				l.done = true
				return nil
			}
			if err := l.state.save(); err != nil {
				return err
			}
		}
	}
}

// look reports whether the file must be read again, because it was truncated or rewritten, or
// because since seen it got a line, or part of one that is too long, without a notification; and
// whether another file is current now.
func (l *log) look(f *os.File, seen int64) (again, moved bool) {
	info, err := f.Stat()
	if err != nil || !l.pos.isSame(f) {
		return true, false
	}
	files := series(l.name)
	if len(files) > 0 {
		now, err := os.Stat(files[len(files)-1])
		moved = err == nil && !os.SameFile(info, now)
	}
	if info.Size() == l.pos.Offset || seen != l.pos.Offset {
		return false, moved && info.Size() == l.pos.Offset
	}
	if whole, err := lastEnd(f); err == nil && whole > l.pos.Offset {
		if !moved {
			l.missed++
		}
		return true, moved
	}
	return info.Size() > max(l.looked, l.pos.Offset+maxLine), moved
}

// gather is how long to wait for lines that arrive together.
const gather = 2 * time.Millisecond

// take emits a line from the library, and those directly after it.
func (l *log) take(f *os.File, x *nx.Line, in <-chan *nx.Line) error {
	var part []line
	end := l.pos.Offset
	for {
		if x.Err != nil || x.SeekInfo.Offset != end+int64(len(x.Text))+1 {
			return errChanged // the library began at another place: read the file again
		}
		if len(x.Text) <= maxLine {
			part = append(part, line{end, []byte(strings.TrimRight(x.Text, "\r"))})
		} else {
			l.Logf("tail: %s: the line at byte %d has more than %d bytes, left out", f.Name(), end, maxLine)
		}
		end = x.SeekInfo.Offset
		if len(part) == batchSize {
			return l.emit(f, part, end)
		}
		var ok bool
		select {
		case x, ok = <-in:
			if !ok {
				return l.emit(f, part, end)
			}
		case <-time.After(gather):
			return l.emit(f, part, end)
		}
	}
}

// emit makes lines durable and advances pos, unless the file has changed before them.
func (l *log) emit(f *os.File, part []line, end int64) error {
	p := l.pos
	var err error
	if p.Before, err = windowOf(f, end); err != nil || !l.pos.isSame(f) { // after the window was read
		return errChanged
	}
	at := l.o.Now()
	if info, err := f.Stat(); err == nil && info.ModTime().Before(at) {
		at = info.ModTime()
	}
	base, day := roomOf(filepath.Base(filepath.Dir(f.Name())), filepath.Base(f.Name()))
	if l.clock.day.IsZero() && !day.IsZero() {
		l.clock = clock{day: day, last: day}
	}
	var events []event.Event
	for _, x := range part {
		if x.offset < 0 {
			continue
		}
		s, ok := l.parse(string(x.text), &l.clock, at)
		if !ok {
			continue
		}
		if e := l.event(s, base); len(l.o.Rooms) == 0 || slices.Contains(l.o.Rooms, e.ChatID) {
			e.MessageID, e.Raw = l.pos.id(x.offset, x.text), slices.Clone(x.text)
			events = append(events, e)
		}
	}
	if len(events) > 0 {
		if err := l.OnEvents(events...); err != nil {
			return err
		}
	}
	if p.Offset = end; !l.clock.day.IsZero() {
		p.Day = l.clock.day.Format(time.DateOnly)
	}
	l.pos = p
	return l.state.set(l.name, p, false)
}

// event converts a line to a message. base is the chat that the file's name denotes.
func (l *log) event(s said, base string) event.Event {
	room := base
	for _, r := range []string{l.o.Room, s.room} {
		if r != "" {
			room = r
		}
	}
	e := event.Event{
		Platform: platform, ChatID: room, ChatName: room, MsgType: "text", Content: s.text,
		Mentions:   []string{},
		CreateTime: s.at.UTC().Format("2006-01-02T15:04:05.000Z"),
		Sender:     event.Sender{ID: s.nick, Type: "user", Name: s.nick},
	}
	if strings.EqualFold(s.nick, l.o.Bot) {
		e.Sender.ID, e.Sender.Type = l.o.Bot, "bot"
	}
	if len(l.nicks) < 10_000 {
		l.nicks[e.Sender.ID] = true
	}
	for i, w := range strings.FieldsFunc(s.text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",:;()?!\"'", r)
	}) {
		name, at := strings.CutPrefix(strings.TrimRight(w, "."), "@")
		head := i == 0 && strings.HasPrefix(s.text, w) && len(w) < len(s.text) &&
			strings.IndexByte(":,", s.text[len(w)]) >= 0
		switch {
		case strings.EqualFold(name, l.o.Bot) && (at || head):
			name = l.o.Bot
		case !(at || head) || !l.nicks[name]:
			continue
		}
		if !slices.Contains(e.Mentions, name) {
			e.Mentions = append(e.Mentions, name)
		}
	}
	return e
}

// handles numbers the names passed to the library.
var handles atomic.Uint32

// handle returns a name of the open file f that remains valid when the file is renamed or removed,
// so that the library reads it to its end, and its stat of the name cannot fail, which would end the
// process. A name is used again only after some hundred calls, because the library forgets a name
// some time after Stop. On systems other than Linux it is the file's own name.
func handle(f *os.File) (name string, closer func()) {
	if runtime.GOOS != "linux" {
		return f.Name(), func() {}
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, int(64+handles.Add(1)%512))
	if err != nil {
		return f.Name(), func() {}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { _ = unix.Close(fd) } // it was only read
}

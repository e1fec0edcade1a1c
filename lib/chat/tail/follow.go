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

	"tri/lib/base/follow"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// log is one log while it is followed.
type log struct {
	*Client
	chat.Handler
	name  string
	state *state
	fresh bool // the first start begins at the end
	empty bool // there was nothing at the first start: all of what comes is new
	heard func()

	pos    position
	done   bool  // the file of pos is read to its end, and another is written
	looked int64 // how far the end of the line at pos was looked for
	clock  clock
	missed int  // lines that were there without a notice
	told   bool // the file's absence, or what is wrong with it, was said
	nicks  map[string]bool
}

// run reads the log until ctx ends. Its error is one of keeping events.
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
			sleep(ctx, l.o.Tick/10) // what changes it may not be done
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

// errChanged ends the reading of a file that is no longer the one it was.
var errChanged = errors.New("the file was cut or rewritten")

// next opens the file to be read now, with pos in it; nil while there is none. last
// tells whether it is the one that is written.
func (l *log) next() (f *os.File, last bool, err error) {
	opened := l.open()
	defer func() {
		for _, x := range opened {
			if x != f {
				_ = x.Close() // it was only read
			}
		}
	}()
	if len(opened) == 0 {
		l.complain("%s is not there yet", l.name)
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
			l.Logf("tail: %s: the file that was read up to byte %d is gone or changed: what was written behind that is lost", l.name, l.pos.Offset)
		}
		i = n
	}
	for ; i <= n; i++ { // an empty one is passed over, unless it is the one that is written
		if ok, err := l.begin(opened[i]); err != nil || ok {
			l.told = false
			return opened[i], i == n, err
		}
	}
	return nil, false, nil
}

// open opens the files of the log. One that is being rotated is looked at again:
// a file that has a new name by the time that it is looked for would be passed over.
func (l *log) open() (opened []*os.File) {
	for range 10 {
		for _, x := range opened {
			_ = x.Close() // it was only read
		}
		opened = nil
		files := series(l.name)
		for _, name := range files {
			x, err := open(name)
			if err == nil {
				opened = append(opened, x)
			} else if name == l.name {
				l.complain("%v", err)
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

// find is the index of the file that pos is in; -1: none. The one with the inode is
// it before a copy is.
func (l *log) find(files []*os.File) int {
	if l.pos.First == "" {
		return -1
	}
	found := -1
	for i, f := range files {
		if l.pos.holds(f) && (found < 0 || inode(files[found]) != l.pos.Inode) {
			found = i
		}
	}
	return found
}

// begin makes pos the start of a file, or, at a first start, its end. It is saved
// before anything of the file is emitted. Not ok while the file has no line.
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
			return false, nil //nolint:nilerr // it changes under us: the next look decides
		}
	}
	l.pos, l.done, l.looked, l.clock = p, false, 0, clock{}
	return true, l.state.set(l.name, p, true)
}

func (l *log) complain(format string, args ...any) {
	if !l.told {
		l.told = true
		l.Logf("tail: "+format, args...)
	}
}

// read emits the whole lines that are there.
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

// live emits what is appended, until another file is written and this one is read,
// or something else is to be looked at by next. The library follows the open file
// itself, whatever becomes of its name.
func (l *log) live(ctx context.Context, f *os.File) error {
	var t *nx.Tail
	var in <-chan *nx.Line
	if l.looked-l.pos.Offset <= maxLine { // else the line is too long to be held
		name, closer := handle(f)
		defer closer()
		var err error
		if t, err = follow.Open(name, follow.Options{Offset: l.pos.Offset, Poll: l.o.Poll || l.missed > 1}); err != nil {
			return nil // the tick after this has another try
		}
		in = t.Lines
		defer func() { _ = t.Stop() }() // its error is that of a file that is read again
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
				in = nil // a renamed file has no notices any more: the tick sees what comes
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

// look tells whether the file is to be read again: it was cut or rewritten, or holds
// a line, or too much of one, that no notice came of since seen; and whether another
// one is written now.
func (l *log) look(f *os.File, seen int64) (again, moved bool) {
	info, err := f.Stat()
	if err != nil || !l.pos.holds(f) {
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

// gather is how long is waited for lines that come together.
const gather = 2 * time.Millisecond

// take emits a line of the library, and those right behind it.
func (l *log) take(f *os.File, x *nx.Line, in <-chan *nx.Line) error {
	var part []line
	end := l.pos.Offset
	for {
		if x.Err != nil || x.SeekInfo.Offset != end+int64(len(x.Text))+1 {
			return errChanged // the library has begun at another place: read it ourselves
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

// emit makes lines durable, and notes that they are, unless the file has been
// changed before them.
func (l *log) emit(f *os.File, part []line, end int64) error {
	if !l.pos.holds(f) {
		return errChanged
	}
	p := l.pos
	var err error
	if p.Before, err = windowOf(f, end); err != nil {
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

// event is a message. base is the chat that the file's name stands for.
func (l *log) event(s said, base string) event.Event {
	room := base
	for _, r := range []string{l.o.Room, s.room} {
		if r != "" {
			room = r
		}
	}
	e := event.Event{
		Platform: platform, ChatID: room, ChatName: room, MsgType: "text", Content: s.text, Mentions: []string{},
		CreateTime: s.at.UTC().Format("2006-01-02T15:04:05.000Z"),
		Sender:     event.Sender{ID: s.nick, Type: "user", Name: s.nick},
	}
	if strings.EqualFold(s.nick, l.o.Bot) {
		e.Sender.ID, e.Sender.Type = l.o.Bot, "bot"
	}
	if len(l.nicks) < 10_000 {
		l.nicks[e.Sender.ID] = true
	}
	for i, w := range strings.FieldsFunc(s.text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",:;()?!\"'", r) }) {
		name, at := strings.CutPrefix(strings.TrimRight(w, "."), "@")
		head := i == 0 && strings.HasPrefix(s.text, w) && len(w) < len(s.text) && strings.IndexByte(":,", s.text[len(w)]) >= 0
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

// handles numbers the names that the library gets.
var handles atomic.Uint32

// handle is a name of the open file f that stays its name when it is renamed or
// removed, so that the library reads it to its end, and can never fail to look at
// it, which would end the process. The name is a new one each time for some hundred
// times: the library forgets a name some time after it was told to stop. Elsewhere
// than on Linux it is the file's own name.
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

// Package watch appends each chat event to the log once, stamped with its offset, durable before the
// platform is acknowledged. Its output is a follow of its own log, so that a slow reader never stalls the
// platform. Without a log it only prints.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/chat"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// LogName is the log's name in the home.
const LogName = "events.ndjson"

// Window is how many bytes of the log before the cursor are printed again, so that later stages can
// rebuild their memory. The events are printed without gaps, since what a stage remembers of one event
// depends on the ones before.
const Window = 15 << 20

// Options configure a watch.
type Options struct {
	Home *durable.Home // nil: no log, print only
	Out  io.Writer
	// After is the output file of a later stage: events in it are not printed again, except for the
	// window. "" prints the whole log.
	After    string
	Name     string // of the source, for the heartbeat
	Raw      bool   // also keep the platforms' own records
	Say      func(format string, args ...any)
	Progress *term.Progress // of the events; nil: not shown
	Now      func() time.Time
}

// Item is an event to be kept: its identity and its JSON object, without seq.
type Item struct {
	ID   Hash
	Body []byte
	Raw  []byte // the platform's own record; nil if there is none
}

// Feed delivers items until ctx ends or there are no more. keep returns when the items are durable, or
// printed if there is no log. keep may be called from several goroutines.
type Feed func(ctx context.Context, open Open, keep func([]Item) error) error

// Open returns the end of a platform's log, and the handler for everything from the platform except
// events.
type Open func(platform string) (chat.Resume, chat.Handler, error)

// FromSources is the feed of several platforms, by name, concurrently. If one ends with an error, all end,
// and the supervisor restarts the watcher. The feed ends when all have ended.
func FromSources(sources map[string]chat.Source) Feed {
	return func(ctx context.Context, open Open, keep func([]Item) error) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error)
		for name, s := range sources {
			go func() { ended <- fromSource(ctx, name, s, open, keep) }()
		}
		var first error
		for range sources {
			if err := <-ended; err != nil && first == nil {
				first = err
				stop()
			}
		}
		return first
	}
}

func fromSource(ctx context.Context, name string, s chat.Source, open Open, keep func([]Item) error) error {
	unlock, err := lockSource(s)
	if err != nil {
		return err
	}
	defer unlock()
	resume, to, err := open(name)
	if err != nil {
		return err
	}
	return s.Run(ctx, resume, itemHandler{to, keep})
}

// itemHandler is a platform's handler that keeps events as items.
type itemHandler struct {
	chat.Handler
	keep func([]Item) error
}

func (k itemHandler) OnEvents(events ...event.Event) error {
	items := make([]Item, 0, len(events))
	for i := range events {
		item, err := encode(&events[i], k.Logf)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return k.keep(items)
}

// printing is the handler of a platform when there is no log.
type printing struct {
	chat.Discard
	say func(format string, args ...any)
}

func (p printing) Logf(format string, args ...any) { p.say(format, args...) }

// Run watches until feed ends. Only one process at a time may hold the home's log.
func Run(ctx context.Context, o Options, feed Feed) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	defer o.Progress.Done()
	if o.Home == nil {
		p := &printer{out: o.Out, seen: newSet()}
		err := feed(ctx, func(string) (chat.Resume, chat.Handler, error) {
			return chat.Resume{}, printing{say: o.Say}, nil
		}, counted(o.Progress, p.keep))
		return ignore(ctx.Err(), err)
	}
	lock, err := o.Home.TryLock("locks/watch")
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(err, "another tri-watch writes this home's log; only one may")
	}
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	l, err := openLog(o.Home)
	if err == nil {
		l.typing = presence.Open(o.Home, "watch", o.Now)
	}
	if err == nil {
		l.actions, err = openActions(o.Home)
	}
	if err == nil && o.Raw {
		l.raw, err = o.Home.OpenLog(RawName)
	}
	if err == nil {
		err = errors.Join(l.run(ctx, o, feed), l.actions.Close(), l.closeRaw(), l.Close())
	}
	return errors.Join(err, lock.Unlock())
}

// grace is how long a stalled reader can delay the end of a watch that was asked to stop.
const grace = time.Second

// run feeds the log and prints it, concurrently.
func (l *log) run(told context.Context, o Options, feed Feed) error {
	from, err := l.start(o.After)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(told)
	defer stop(nil)
	printed := make(chan error, 1)
	p := &follower{path: o.Home.Path(LogName), file: l.File(), out: o.Out, at: from, size: l.size}
	go func() {
		err := p.follow(ctx)
		if err == nil {
			err = p.rest(told)
		}
		stop(nil) // if it failed, the output has no reader: the pipe must be restarted as a whole
		printed <- err
	}()
	beat := newBeat(o)
	l.kept, l.fail = beat.setLastEvent, stop
	feedErr := beat.during(func() error {
		return feed(ctx, func(platform string) (chat.Resume, chat.Handler, error) {
			return l.open(o, beat, platform)
		}, counted(o.Progress, l.keep))
	})
	stop(nil)
	if err := await(told, printed); err != nil {
		return err
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && told.Err() == nil {
		return err
	}
	return ignore(told.Err(), feedErr)
}

// await waits for the printer, and only briefly once told has ended.
func await(told context.Context, printed <-chan error) error {
	select {
	case err := <-printed:
		return err
	case <-told.Done():
	}
	select {
	case err := <-printed:
		return err
	case <-time.After(grace):
		return nil
	}
}

// ignore returns err, or nil if err only reports that the feed was asked to stop.
func ignore(told, err error) error {
	if told != nil && errors.Is(err, told) {
		return nil
	}
	return err
}

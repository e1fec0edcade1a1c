package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// live is a platform as a test scripts it.
type live struct {
	app string
	run func(context.Context, chat.Resume, chat.Handler) error
}

func (l live) AppID() string { return l.app }

func (l live) Run(ctx context.Context, r chat.Resume, to chat.Handler) error {
	return l.run(ctx, r, to)
}

// TestSideBySide: two platforms with chats of the same id share one log, and each gets its own position
// and its own state.
func TestSideBySide(t *testing.T) {
	h := home(t)
	for round := range 2 {
		sources := map[string]chat.Source{}
		for i, name := range []string{"one", "two"} {
			sources[name] = live{t.Name() + name,
				func(_ context.Context, r chat.Resume, to chat.Handler) error {
					to.OnConnect(true)
					if want := strings.Repeat(name, round); string(r.State) != want || len(r.Last) != round {
						t.Errorf("round %d: %s has saved %q, and was told %v", round, name, r.State, r.Last)
					}
					e := message(i)
					e.Platform = name
					return errors.Join(to.OnEvents(e), to.Save([]byte(name)))
				}}
		}
		if err := Run(context.Background(), options(h, io.Discard), FromSources(sources)); err != nil {
			t.Fatal(err)
		}
	}
	log, err := h.ReadFile(LogName)
	if n := strings.Count(string(log), "\n"); err != nil || n != 2 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// TestOneFails: an error of one ends the others and is the watch's.
func TestOneFails(t *testing.T) {
	broken := errors.New("broken")
	err := Run(context.Background(), options(home(t), io.Discard), FromSources(map[string]chat.Source{
		"one": live{t.Name() + "1", func(context.Context, chat.Resume, chat.Handler) error { return broken }},
		"two": live{t.Name() + "2", func(ctx context.Context, _ chat.Resume, _ chat.Handler) error {
			<-ctx.Done()
			return nil
		}},
	}))
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestAlone: a second watcher of an app is refused, whatever its home, and is not
// when the first has ended.
func TestAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	run := func(inside func()) error {
		return Run(context.Background(), options(home(t), io.Discard), FromSources(map[string]chat.Source{
			"x": live{"app", func(context.Context, chat.Resume, chat.Handler) error {
				inside()
				return nil
			}},
		}))
	}
	err := run(func() {
		err := run(func() { t.Error("two at once") })
		if status, _ := sysexit.Of(err); status != sysexit.TempFail {
			t.Errorf("%v", err)
		}
	})
	if err := errors.Join(err, run(func() {})); err != nil {
		t.Error(err)
	}
}

// TestClickWithoutNewline: a click of which only the newline was not written is kept when it comes again.
func TestClickWithoutNewline(t *testing.T) {
	h := home(t)
	if err := h.Replace(ActionsName, []byte(`{"id":"1","platform":"x","name":"approve"}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		a, err := openActions(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.keep(event.Action{ID: id, Platform: "x", Name: "approve"}); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := h.ReadFile(ActionsName)
	if n := strings.Count(string(text), "approve"); err != nil || n != 2 {
		t.Errorf("%d actions, %v:\n%s", n, err, text)
	}
}

// TestNotKept: the feed ends when an event or a click cannot be kept, also if its source goes on.
func TestNotKept(t *testing.T) {
	for i, give := range []func(chat.Handler) error{
		func(to chat.Handler) error { return to.OnEvents(message(1)) },
		func(to chat.Handler) error { return to.OnAction(event.Action{ID: "1", Platform: "x"}) },
	} {
		h := home(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := Run(ctx, options(h, io.Discard), FromSources(map[string]chat.Source{
			"x": live{t.Name(), func(ctx context.Context, _ chat.Resume, to chat.Handler) error {
				err := h.MkdirAll(ActionsName) // no file
				if i == 0 {
					err = to.(itemHandler).Handler.(*port).log.Close()
				}
				if err != nil {
					t.Error(err)
				}
				if give(to) == nil {
					t.Error("kept")
				}
				<-ctx.Done()
				return nil
			}},
		}))
		if s, _ := sysexit.Of(err); s != sysexit.IO || ctx.Err() != nil {
			t.Errorf("%d: %v", i, err)
		}
		cancel()
	}
}

// TestActions: each click is kept once, also over a restart, and behind a torn line.
func TestActions(t *testing.T) {
	h := home(t)
	for range 2 {
		err := Run(context.Background(), options(h, io.Discard), FromSources(map[string]chat.Source{
			"x": live{t.Name(), func(_ context.Context, _ chat.Resume, to chat.Handler) error {
				var err error
				for i := range 20 {
					err = errors.Join(err,
						to.OnAction(event.Action{ID: fmt.Sprint(i % 10), Platform: "x", Name: "approve"}))
				}
				return err
			}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		f, err := h.OpenLog(ActionsName)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.File().WriteString(`{"id":"torn`); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	text, err := h.ReadFile(ActionsName)
	if n := strings.Count(string(text), "approve"); err != nil || n != 10 {
		t.Errorf("%d actions, %v:\n%s", n, err, text)
	}
	a := &actions{seen: map[string]bool{}}
	for i := range 3 * maxActions {
		a.know(fmt.Sprint(i))
	}
	if len(a.seen) != maxActions || !a.seen[fmt.Sprint(3*maxActions-1)] || a.seen["0"] {
		t.Errorf("%d known", len(a.seen))
	}
}

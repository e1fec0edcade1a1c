package lark

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/lark/larktest"
	"tri/lib/record/event"
)

const patience = 20 * time.Second

// run is a running source and the events it has emitted, each identity once.
type run struct {
	t *testing.T

	mu      sync.Mutex
	seen    map[string]bool
	events  []event.Event
	actions []event.Action
	said    []string
	up      int
}

func (w *world) listen(o Options, last map[string]time.Time) *run {
	w.t.Helper()
	r := &run{t: w.t, seen: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	to := chattest.Handler{
		Event: r.emit, Action: func(a event.Action) error {
			r.note(func() { r.actions = append(r.actions, a) })
			return nil
		},
		Log: func(f string, args ...any) {
			r.note(func() { r.said = append(r.said, fmt.Sprintf(f, args...)) })
		},
		Connect: func(up bool) {
			r.note(func() {
				if up {
					r.up++
				}
			})
		},
	}
	c := w.client(o)
	go func() { ended <- c.Run(ctx, chat.Resume{Last: last}, to) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	r.until("connection", func() bool { return r.up > 0 })
	return r
}

func (r *run) note(f func()) { r.mu.Lock(); defer r.mu.Unlock(); f() }

func (r *run) emit(e event.Event) error {
	r.note(func() {
		if id := e.Identity(); !r.seen[id] {
			r.seen[id] = true
			r.events = append(r.events, e)
		}
	})
	return nil
}

func (r *run) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		r.mu.Lock()
		good := ok()
		r.mu.Unlock()
		if good {
			return
		}
		if time.Now().After(end) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("never: %s; said %q, events %+v", what, r.said, r.events)
		}
	}
}

// of returns the last event of a message.
func (r *run) of(id string) (last *event.Event) {
	for i := range r.events {
		if r.events[i].MessageID == id {
			last = &r.events[i]
		}
	}
	return last
}

func (r *run) message(id string) event.Event {
	r.t.Helper()
	r.until("message "+id, func() bool { return r.of(id) != nil })
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.of(id)
}

// slow are options with a long sweep, so that events must arrive live.
func (w *world) slow() Options {
	o := w.options()
	o.Sweep = time.Hour
	return o
}

// TestLive: edits, recalls, clicks and reactions arrive over the connection, and are acknowledged
// when durable.
func TestLive(t *testing.T) {
	w := newWorld(t)
	w.server.MaxPart = 100 // everything arrives in parts
	r := w.listen(w.slow(), nil)
	id := w.Say(dev, "ana", "", "first")
	if e := r.message(id); e.Sender.Name != "ana" || e.ChatName != "dev" || e.EditedAt != "" {
		t.Errorf("%+v", e)
	}
	w.Edit(dev, id, "second")
	r.until("edit", func() bool { return r.of(id).Content == "second" && r.of(id).EditedAt != "" })
	w.Delete(dev, id)
	r.until("recall", func() bool {
		e := r.of(id)
		return e.Deleted && e.Content == "" && e.Sender.ID == "ou_ana"
	})

	p := w.ask()
	made, err := w.sink().Post(t.Context(), p)
	w.must(err)
	w.server.React(made.MessageID, "ou_ben", "THUMBSUP", true)
	w.server.React(made.MessageID, "ou_ben", "THUMBSUP", false)
	w.server.React(p.ThreadID, "ou_ben", "THUMBSUP", true) // not to a message of the bot, nor to one of theirs
	w.server.React(p.ThreadID, "ou_ana", "ThumbsDown", true)
	w.server.React("om_nowhere", "ou_ben", "THUMBSUP", true)
	w.server.Click(made.MessageID, "ou_chen", larktest.M{"name": "approve", "value": "d-1"})
	w.server.Click(made.MessageID, "ou_chen", larktest.M{"of": "another app"})
	r.until("actions", func() bool { return len(r.actions) >= 4 })
	r.mu.Lock()
	got := r.actions
	r.mu.Unlock()
	if len(got) != 4 || got[2].Name != "👎" || got[2].MessageID != p.ThreadID || got[2].Sender.Name != "ana" {
		t.Fatalf("%+v", got)
	}
	got = slices.Delete(got, 2, 3)
	if got[0].Name != "👍" || got[0].Removed || !got[1].Removed || got[0].ID == got[1].ID ||
		got[2].Name != "approve" || got[2].Value != "d-1" ||
		got[0].ChatID != dev || got[2].MessageID != made.MessageID || got[0].Sender.Name != "ben" {
		t.Errorf("%+v", got)
	}
	r.until("answers", func() bool { n, of, _ := w.server.Acked(); return n == of })
	if _, _, bad := w.server.Acked(); bad > 0 {
		t.Errorf("%d answers were no yes", bad)
	}
}

// TestAcknowledged: an event that cannot be stored is answered with an error.
func TestAcknowledged(t *testing.T) {
	w := newWorld(t)
	full := errors.New("disk full")
	up, ended := make(chan bool, 1), make(chan error, 1)
	c := w.client(w.slow())
	go func() {
		ended <- c.Run(t.Context(), chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(on bool) {
			if on {
				up <- true
			}
		}, Event: func(event.Event) error { return full }})
	}()
	<-up
	w.Say(dev, "ana", "", "x")
	if err := <-ended; !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		good, _, bad := w.server.Acked()
		if good == 0 && bad == 1 {
			return
		}
		if good > 0 || time.Now().After(end) {
			t.Fatalf("%d yes, %d no", good, bad)
		}
	}
}

// TestSilence: a connection that died silently is detected, and the missed messages are recovered.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	o := w.slow()
	o.Pulse = 10 * time.Millisecond
	r := w.listen(o, nil)
	w.server.Silence()
	id := w.Say(dev, "ana", "", "anybody?")
	r.message(id)
	r.until("another connection", func() bool { return r.up > 1 })
	r.until("what was the matter", func() bool {
		return strings.Contains(strings.Join(r.said, "\n"), "no answer in time")
	})
}

// TestRecovered: recovered messages are logged, and the bot's own messages, which have no events,
// are found.
func TestRecovered(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	made, err := w.sink().Post(t.Context(), p)
	w.must(err)
	w.server.Age(p.ThreadID, 10*time.Minute)
	w.server.Age(made.MessageID, 9*time.Minute)
	r := w.listen(w.options(), map[string]time.Time{dev: time.Now().Add(-time.Hour)})
	if e := r.message(made.MessageID); e.Sender.ID != larktest.BotUser || e.Sender.Type != "bot" ||
		*e.ThreadID != p.ThreadID {
		t.Errorf("%+v", e)
	}
	r.until("the number", func() bool {
		return strings.Contains(strings.Join(r.said, "\n"), "recovered 2 messages and changes of 1 chats")
	})
}

// TestOldTopic: an answer in an old, known topic is found if its event is lost.
func TestOldTopic(t *testing.T) {
	w := newWorld(t)
	root := w.Say(dev, "ana", "", "long ago")
	w.Say(dev, "ben", root, "makes it a topic")
	w.server.Age(root, 30*24*time.Hour)
	r := w.listen(w.options(), nil)
	r.message(w.Say(dev, "ben", root, "heard"))
	w.server.SetFaults(larktest.Faults{Lose: 1})
	lost := w.Say(dev, "chen", root, "lost")
	if e := r.message(lost); e.ThreadID == nil || *e.ThreadID != root {
		t.Errorf("%+v", e)
	}
}

// TestUnreadable: a chat that cannot be read does not prevent others from being read, and is logged
// once.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	w.server.AddChat("oc_away", "away", larktest.M{"away": true})
	r := w.listen(w.options(), nil)
	r.message(w.Say(dev, "ana", "", "heard"))
	r.message(w.Say(dev, "ana", "", "and again"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := strings.Count(strings.Join(r.said, "\n"), "oc_away cannot be read"); n != 1 {
		t.Errorf("said %d times: %q", n, r.said)
	}
}

func TestOptions(t *testing.T) {
	good := Options{ID: larktest.App, Secret: "s", Chats: []string{dev}}
	if c, err := New(good); err != nil || c.AppID() != "lark "+larktest.App {
		t.Errorf("%v", err)
	}
	for name, change := range map[string]func(*Options){
		"no id": func(o *Options) {
			o.ID = ""
		}, "secret as id": func(o *Options) {
			o.ID = "dskLLdkasdjlasdKK"
		}, "no secret": func(o *Options) { o.Secret = "" },
		"two words": func(o *Options) {
			o.Secret = "a b"
		}, "chat by name": func(o *Options) {
			o.Chats = []string{"dev"}
		}, "no address": func(o *Options) { o.URL = "open.feishu.cn" },
		"listen without keys": func(o *Options) {
			o.Listen = ":1"
		}, "listen without token": func(o *Options) { o.Listen, o.EncryptKey = ":1", "k" },
	} {
		o := good
		change(&o)
		_, err := New(o)
		if s, _ := sysexit.Of(err); s != sysexit.Config {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && o.Secret != "" && strings.Contains(err.Error(), "dskLL") && name != "secret as id" {
			t.Errorf("%s: tells the secret: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		break_ func(w *world, o *Options)
		want   string // the findings that are not OK
	}{
		"all is well": {func(*world, *Options) {}, ""},
		"all chats":   {func(_ *world, o *Options) { o.Chats = nil }, ""},
		"secret": {func(_ *world, o *Options) {
			o.Secret = "another"
		}, "token: do not belong together"},
		"scopes": {func(w *world, _ *Options) {
			w.server.Scopes = []string{"im:message", "im:chat"}
		}, "scopes: publish a version"},
		"not in there": {func(w *world, o *Options) { o.Chats = []string{"oc_x"} }, "chat: Add Bot"},
		"was removed": {func(w *world, o *Options) {
			w.server.AddChat(dev, "dev", larktest.M{"away": true})
		}, "chat: Add Bot"},
		"external": {func(w *world, o *Options) {
			w.server.AddChat(dev, "dev", larktest.M{"external": true})
		}, "chat: allow_external"},
		"clock": {func(w *world, o *Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Hour) }
		}, "clock: set-ntp"},
	} {
		w := newWorld(t)
		o := w.options()
		o.Chats = []string{dev}
		tt.break_(w, &o)
		self, findings := w.client(o).Check(t.Context())
		if self.ID != larktest.BotUser && name != "secret" {
			t.Errorf("%s: we are %+v", name, self)
		}
		var bad []string
		for _, f := range findings {
			if !f.OK {
				bad = append(bad, f.Name+": "+f.Fix)
			}
		}
		finding, fix, _ := strings.Cut(tt.want, ": ")
		if tt.want == "" && len(bad) > 0 || tt.want != "" &&
			(len(bad) != 1 || !strings.HasPrefix(bad[0], finding+": ") || !strings.Contains(bad[0], fix)) {
			t.Errorf("%s: %q, want %q", name, bad, tt.want)
		}
		for _, r := range w.server.Requests(http.MethodPost, "") {
			if r["content"] != nil {
				t.Errorf("%s: a check posts", name)
			}
		}
	}
}

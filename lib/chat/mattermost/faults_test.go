package mattermost

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/mattermost/mattermosttest"
	"tri/lib/record/event"
)

// TestEverythingOnceThroughFaults: with cut sockets, lost, repeated and reordered events, a failing
// and busy server, and a watcher that is stopped and started, every message and every deletion is
// emitted.
func TestEverythingOnceThroughFaults(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			w.must(w.server.SetFaults(mattermosttest.Faults{Seed: seed, Close: 0.05, Lose: 0.03,
				Duplicate: 0.05, Reorder: 0.05, Fail: 0.03, Limit: 0.03}))
			e := hear(t, w.client(), nil)
			want := map[string]bool{}
			var ids []string
			for i := range 300 {
				c := w.chats[i%2]
				id := w.Say(c, []string{"ana", "ben", "chen"}[i%3], "", fmt.Sprintf("@ben message %d", i))
				ids, want[id] = append(ids, id), true
				switch {
				case i%10 == 9:
					w.Delete(c, ids[i-2])
					want[ids[i-2]+" deleted"] = true
				case i == 150:
					e.stop()
					es, _ := e.heard()
					e = hear(t, w.client(), latest(es))
					for _, v := range es {
						_ = e.emit(v)
					}
				}
			}
			w.must(w.server.SetFaults(mattermosttest.Faults{}))
			for _, c := range w.chats { // the loss of the last event is seen when the next arrives
				want[w.Say(c, "ana", "", "the end")] = true
			}
			e.until("all", func(es []event.Event) bool { return len(missing(want, es)) == 0 })
		})
	}
}

// missing returns the elements of want that are not among events. A message that was deleted before
// it was emitted has only a deletion.
func missing(want map[string]bool, events []event.Event) []string {
	came := map[string]bool{}
	for _, v := range events {
		came[v.MessageID] = true
		if v.Deleted {
			came[v.MessageID+" deleted"] = true
		}
	}
	var out []string
	for name := range want {
		if !came[name] {
			out = append(out, name)
		}
	}
	return out
}

// latest returns the last times, per chat, of a log with the events.
func latest(events []event.Event) map[string]time.Time {
	last := map[string]time.Time{}
	for _, v := range events {
		for _, s := range []string{v.CreateTime, v.EditedAt} {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil && at.After(last[v.ChatID]) {
				last[v.ChatID] = at
			}
		}
	}
	return last
}

// TestOnceThroughFaults: a poster that works like tri-reply posts each reply once, whatever happens
// to requests and responses, even if it gives up on one that the server is still processing.
func TestOnceThroughFaults(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			root := w.Say(w.chats[0], "ana", "", "where?")
			w.must(w.server.SetFaults(mattermosttest.Faults{Seed: seed, DropAnswer: 0.2, LateAnswer: 0.2,
				LateStore: 0.2, Late: "20ms", Fail: 0.05, FailAfter: 0.1, Limit: 0.05}))
			for i := range 60 {
				w.persist(chat.Post{ChatID: w.chats[0], ThreadID: root, Text: fmt.Sprintf("reply %d", i),
					Key: fmt.Sprintf("key-%d", i)})
			}
			w.must(w.server.SetFaults(mattermosttest.Faults{}))
			time.Sleep(50 * time.Millisecond) // more than Late: nothing can land any more
			times := map[string]int{}
			for _, p := range w.server.Posts() {
				if p.RootID == root {
					times[p.Message]++
				}
			}
			for i := range 60 {
				if n := times[fmt.Sprintf("reply %d", i)]; n != 1 {
					t.Errorf("reply %d stands there %d times", i, n)
				}
			}
		})
	}
}

// persist posts p as tri-reply would, with a new program at every attempt and a timeout of 10 ms.
func (w *world) persist(p chat.Post) {
	w.t.Helper()
	for range 200 {
		sink := w.sink()
		if !p.Tried.IsZero() {
			_, proof, err := sink.Find(w.t.Context(), p)
			if proof == chat.Found {
				return
			}
			if err != nil || proof != chat.Absent {
				continue
			}
		}
		if _, err := sink.me(w.t.Context()); err != nil {
			continue
		}
		p.Tried, p.Own = time.Now(), true
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Millisecond)
		_, err := sink.Post(ctx, p)
		cancel()
		if err == nil {
			return
		}
		if chat.IsRefused(err) {
			w.t.Fatalf("refused: %v", err)
		}
	}
	w.t.Fatalf("%s: no end", p.Key)
}

// TestDeadSocket: a connection without traffic is replaced.
func TestDeadSocket(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.o.Pulse = 30 * time.Millisecond
	e := hear(t, c, nil)
	w.server.Mute(true)
	id := w.Say(w.chats[0], "ana", "", "into the void")
	deadline := time.Now().Add(30 * time.Second)
	for ; w.server.Requests("websocket") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still on the dead connection")
		}
	}
	w.server.Mute(false)
	e.until("the message", has(id))
}

// TestStaleSince: an empty response to since from a stale cache does not hide messages.
func TestStaleSince(t *testing.T) {
	w := newWorld(t)
	w.must(w.server.SetFaults(mattermosttest.Faults{StaleSince: 1}))
	first := w.Say(w.chats[0], "ana", "", "first")
	at := latest([]event.Event{{ChatID: w.chats[0], CreateTime: stamp(time.Now().UnixMilli())}})
	want := map[string]bool{}
	for i := range 3*maxPage + 1 {
		want[w.Say(w.chats[0], "ana", first, fmt.Sprintf("answer %d", i))] = true
	}
	e := hear(t, w.client(), at)
	e.until("all", func(es []event.Event) bool { return len(missing(want, es)) == 0 })
}

// TestForgotten: if the server has restarted and does not know the connection any more, the history
// is read.
func TestForgotten(t *testing.T) {
	w := newWorld(t)
	e := hear(t, w.client(), nil)
	w.server.CutSockets(true)
	id := w.Say(w.chats[0], "ana", "", "meanwhile")
	e.until("the message", has(id))
}

// TestRevoked: a revoked token ends the source, with the right status and hint.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	ended := make(chan error, 1)
	go func() {
		ended <- w.client().Run(t.Context(), chat.Resume{},
			chattest.Handler{Log: func(string, ...any) {}, Connect: func(up bool) {
				if up {
					w.server.Revoke(w.bot)
					w.server.CutSockets(false)
				}
			}, Event: func(event.Event) error { return nil }})
	}()
	select {
	case err := <-ended:
		if s, _ := sysexit.Of(err); s != sysexit.NoPerm || len(sysexit.Hints(err)) == 0 {
			t.Errorf("ended with %v (status %d, hints %q)", err, s, sysexit.Hints(err))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("goes on with a revoked token")
	}
}

func TestNewRefuses(t *testing.T) {
	good := Options{URL: "https://chat.example.test/", Token: "t", Chats: []string{strings.Repeat("a", 26)}}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for name, break_ := range map[string]func(*Options){
		"no url": func(o *Options) {
			o.URL = ""
		}, "no scheme": func(o *Options) { o.URL = "chat.example.test" },
		"file": func(o *Options) {
			o.URL = "file:///etc"
		}, "password in url": func(o *Options) { o.URL = "https://u:p@h" },
		"query": func(o *Options) { o.URL += "?x=1" }, "no token": func(o *Options) { o.Token = "" },
		"token with a line": func(o *Options) {
			o.Token = "a\nb"
		}, "chat name": func(o *Options) { o.Chats = []string{"town-square"} },
		"path for a chat": func(o *Options) { o.Chats = []string{"../../../../../../users/me"} },
	} {
		o := good
		break_(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		} else if s, _ := sysexit.Of(err); s != sysexit.Config {
			t.Errorf("%s: status %d of %v", name, s, err)
		}
	}
}

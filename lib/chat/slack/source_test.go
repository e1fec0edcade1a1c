package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/slack/slacktest"
	"tri/lib/record/event"
)

// patience is only spent when a test fails.
const patience = 20 * time.Second

// ears is a running source.
type ears struct {
	t     *testing.T
	stop  func() error
	ended chan struct{}

	mu    sync.Mutex
	heard []event.Event
	done  []event.Action
	said  []string
	err   error
}

func (w *world) listens() *ears { return w.listensWith(w.Source(), nil) }

// listensWith waits until the source is connected.
func (w *world) listensWith(s chat.Source, last map[string]time.Time) *ears {
	w.t.Helper()
	l := &ears{t: w.t, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	up := make(chan bool, 100)
	to := chattest.Handler{Connect: func(is bool) { up <- is },
		Log: func(f string, a ...any) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.said = append(l.said, fmt.Sprintf(f, a...))
		},
		Keep: func(b []byte) error { l.mu.Lock(); defer l.mu.Unlock(); w.kept = b; return nil },
		Action: func(a event.Action) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.done = append(l.done, a)
			return nil
		},
		Event: func(e event.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.heard = append(l.heard, e)
			return nil
		},
	}
	resume := chat.Resume{Last: last, State: w.kept}
	go func() {
		defer close(l.ended)
		l.err = s.Run(ctx, resume, to)
	}()
	l.stop = func() error { cancel(); <-l.ended; return l.err }
	w.t.Cleanup(func() { _ = l.stop() })
	select {
	case <-up:
	case <-l.ended:
	case <-time.After(patience):
		w.t.Fatal("hears nothing")
	}
	return l
}

// until waits until a condition holds.
func (l *ears) until(what string, holds func() bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		ok := holds()
		l.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.t.Fatalf("never: %s; heard %+v, said %q", what, l.heard, l.said)
		}
	}
}

func (l *ears) has(id string) func() bool {
	return func() bool {
		return slices.ContainsFunc(l.heard, func(e event.Event) bool { return e.MessageID == id })
	}
}

func (l *ears) actions(n int) []event.Action {
	l.t.Helper()
	l.until(fmt.Sprint(n, " actions"), func() bool { return len(l.done) >= n })
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.done)
}

// TestRenew: Slack renews connections every few hours, and nothing is lost.
func TestRenew(t *testing.T) {
	for _, reason := range []string{"warning", "refresh_requested", "too_many_websockets"} {
		w := newWorld(t)
		l := w.listens()
		l.until("first", l.has(w.Say(dev, "ana", "", "first")))
		for range 3 {
			w.server.Disconnect(reason)
			l.until("after", l.has(w.Say(dev, "ana", "", "after the renewal")))
		}
	}
}

// TestSwitchedOff: if Socket Mode is switched off, the source ends with a hint.
func TestSwitchedOff(t *testing.T) {
	w := newWorld(t)
	l := w.listens()
	w.server.Disconnect("link_disabled")
	select {
	case <-l.ended:
	case <-time.After(patience):
		t.Fatal("goes on")
	}
	if s, _ := sysexit.Of(l.err); s != sysexit.Config || len(sysexit.Hints(l.err)) == 0 {
		t.Errorf("ended with %v (%v)", l.err, s)
	}
}

// TestSilence: a connection that is open and silent is detected, by the history first.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	l := w.listens()
	w.server.Silence()
	l.until("said into the silence", l.has(w.Say(dev, "ana", "", "anybody?")))
}

// TestDead: a connection that does not answer pings is replaced.
func TestDead(t *testing.T) {
	w := newWorld(t)
	base, err := url.Parse(strings.TrimSuffix(w.server.URL, "/api/"))
	w.must(err)
	through := httputil.NewSingleHostReverseProxy(base)
	dead := make(chan struct{})
	var opened atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/apps.connections.open" && opened.Add(1) == 1:
			_, _ = fmt.Fprintf(rw, `{"ok":true,"url":"ws://%s/mute"}`, r.Host)
		case r.URL.Path == "/mute":
			ws, err := websocket.Accept(rw, r, nil)
			if err == nil {
				_ = ws.Write(r.Context(), websocket.MessageText,
					[]byte(`{"type":"hello","num_connections":1}`))
				<-dead // nothing is read, so nothing is answered
				_ = ws.CloseNow()
			}
		default:
			through.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(dead) })
	o := w.options()
	o.URL, o.Pulse, o.Sweep = srv.URL+"/api/", 50*time.Millisecond, time.Hour
	l := w.listensWith(w.client(o), nil)
	l.until("its end", func() bool {
		return slices.ContainsFunc(l.said, func(s string) bool {
			return strings.Contains(s, "no answer in time")
		})
	})
	l.until("another", l.has(w.Say(dev, "ana", "", "anybody?")))
}

// TestMentionIsOne: a mention arrives as message and as app_mention, and is in the history too, but
// is emitted once.
func TestMentionIsOne(t *testing.T) {
	w := newWorld(t)
	l := w.listens()
	id := w.Say(dev, "ana", "", "@tri where?")
	l.until("the mention", l.has(id))
	last := w.Say(dev, "ana", "", "and?")
	l.until("the next", l.has(last))
	w.server.Unfurl(dev, id)
	l.until("the last", l.has(w.Say(dev, "ana", "", "well?")))
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[string]int{}
	for _, e := range l.heard {
		ids[e.Identity()]++
	}
	if len(l.heard) != 3 || len(ids) != 3 {
		t.Errorf("%d events of 3 messages: %+v", len(l.heard), l.heard)
	}
}

// TestTombstone: the deletion of a thread's first message is one event, whether received live or
// found as a tombstone.
func TestTombstone(t *testing.T) {
	w := newWorld(t)
	l := w.listens()
	root := w.Say(dev, "ana", "", "root")
	w.Say(dev, "ben", root, "reply")
	w.Delete(dev, root)
	gone := func(e event.Event) bool { return e.MessageID == root && e.Deleted }
	l.until("the deletion", func() bool { return slices.ContainsFunc(l.heard, gone) })
	heard := l.heard[slices.IndexFunc(l.heard, gone)].Identity()
	w.must(l.stop())
	l = w.listensWith(w.Source(), map[string]time.Time{dev: time.Now()})
	l.until("the trace", func() bool { return slices.ContainsFunc(l.heard, gone) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if read := l.heard[slices.IndexFunc(l.heard, gone)].Identity(); read != heard {
		t.Errorf("heard as %q, read as %q", heard, read)
	}
}

// TestGoneWhileAway: a deletion made while no source was running is found by the history and
// emitted once; a message that is too old, or omitted for another reason, is not reported as
// deleted.
func TestGoneWhileAway(t *testing.T) {
	w := newWorld(t)
	w.server.Ago(9 * 24 * time.Hour)
	ancient := w.Say(dev, "ana", "", "last week")
	w.server.Ago(10 * time.Minute)
	oops, fine := w.Say(dev, "ana", "", "oops"), w.Say(dev, "ana", "", "fine")
	l := w.listensWith(w.Source(), map[string]time.Time{dev: at(ancient)})
	stands := w.server.Say(dev, "U0ANA", "", "stands", slacktest.M{"left_out": true})
	l.until("all", func() bool {
		return l.has(ancient)() && l.has(oops)() && l.has(fine)() && l.has(stands)()
	})
	w.must(l.stop())
	w.Delete(dev, oops)
	for round, want := range []int{1, 0} {
		l = w.listensWith(w.Source(), map[string]time.Time{dev: at(fine)})
		w.must(l.stop())
		gone := slices.DeleteFunc(l.heard, func(e event.Event) bool { return !e.Deleted })
		if len(gone) != want || want == 1 && (gone[0].MessageID != oops || gone[0].EditID != "deleted" ||
			gone[0].Content != "") {
			t.Errorf("round %d: %+v", round, gone)
		}
	}
}

// TestMemory: it is bounded, keeps the newest messages, and loads only valid entries.
func TestMemory(t *testing.T) {
	m := memory{}
	for i := range 3 * maxStood {
		m.add(dev, fmt.Sprintf("%d.000001", 1700000000+i))
		m.add(ops, fmt.Sprintf("%d.000002", 1700000000+i))
	}
	b := m.save()
	if len(b) > 64<<10 || len(m[dev]) > maxStood {
		t.Errorf("%d bytes, %d messages", len(b), len(m[dev]))
	}
	again := memory{}
	again.load(b)
	if last := fmt.Sprintf("%d.000001", 1700000000+3*maxStood-1); !again[dev][last] ||
		len(again[dev])+len(again[ops]) < 2500 {
		t.Errorf("%d and %d messages, the last %v", len(again[dev]), len(again[ops]), again[dev][last])
	}
	for _, bad := range []string{"", "x", `{"C0DEV":7}`, `{"C0DEV":["soon"],"no":["1355517523.000005"]}`,
		`null`} {
		again = memory{}
		again.load([]byte(bad))
		if len(again) != 0 {
			t.Errorf("%q: %v", bad, again)
		}
	}
}

// TestAcknowledged: events are acknowledged only when durable, and then all of them.
func TestAcknowledged(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	full := errors.New("disk full")
	up := make(chan bool, 9)
	ended := make(chan error, 1)
	go func() {
		ended <- w.Source().Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(is bool) {
			up <- is
		}, Event: func(event.Event) error { return full }})
	}()
	<-up
	w.Say(dev, "ana", "", "cannot be kept")
	if err := <-ended; !errors.Is(err, full) {
		t.Fatal(err)
	}
	if n, of := w.server.Acked(); n != 0 || of != 1 {
		t.Errorf("%d of %d acknowledged", n, of)
	}
	l := w.listens()
	l.until("acknowledged", func() bool {
		go w.Say(dev, "ana", "", "another") // the first may go to the connection that ends
		n, _ := w.server.Acked()
		return n > 0
	})
}

// TestRecovered: the number of recovered messages is logged, not counting the overlap.
func TestRecovered(t *testing.T) {
	w := newWorld(t)
	w.server.Ago(5 * time.Minute)
	w.Say(dev, "ana", "", "known")
	known := w.Say(dev, "ana", "", "known, too")
	for range 3 {
		w.Say(ops, "ben", "", "missed")
	}
	l := w.listensWith(w.Source(), map[string]time.Time{dev: at(known), ops: at(known)})
	l.until("all", func() bool { return len(l.heard) >= 5 })
	l.until("said", func() bool {
		return slices.Equal(l.said, []string{"slack: recovered 3 messages and changes of 1 chats"})
	})
}

// TestOldThread: a reply in a thread of some days ago is recovered; one in a thread before the look
// back is not.
func TestOldThread(t *testing.T) {
	w := newWorld(t)
	w.server.Ago(8 * 24 * time.Hour)
	ancient := w.Say(dev, "ana", "", "last week")
	w.server.Ago(5 * 24 * time.Hour)
	old := w.Say(dev, "ana", "", "days ago")
	before := w.Say(dev, "ben", old, "also days ago")
	w.server.Ago(time.Hour)
	since := w.Say(dev, "ana", "", "an hour ago")
	w.server.Ago(time.Minute)
	lost, missed := w.Say(dev, "ben", ancient, "not seen"), w.Say(dev, "ben", old, "just now")
	l := w.listensWith(w.Source(), map[string]time.Time{dev: at(since).Add(30 * time.Minute)})
	if !l.has(missed)() || l.has(before)() || l.has(old)() || l.has(lost)() {
		t.Errorf("%+v", l.heard)
	}
}

// TestMemoryIsSaved: what was emitted is remembered while the source runs, since a kill ends it unasked.
func TestMemoryIsSaved(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Sweep = time.Hour
	source, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := w.listensWith(source, nil)
	id := w.Say(w.Chats()[0], "ana", "", "before the kill")
	l.until("the message", l.has(id))
	l.until("saved", func() bool {
		l.mu.Unlock()
		defer l.mu.Lock()
		w.Say(w.Chats()[0], "ana", "", "and more") // the next save is with a message, a second later
		time.Sleep(50 * time.Millisecond)
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(string(w.kept), id)
	})
}

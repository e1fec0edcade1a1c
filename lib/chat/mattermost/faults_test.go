package mattermost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/mattermost/fake"
	"tri/lib/event"
	"tri/lib/sysexit"
)

// TestEverythingOnceThroughFaults: sockets that are cut, events that are lost,
// doubled and overtaken, a server that fails and is busy, and a watcher that is
// stopped and started: every message and every deletion comes.
func TestEverythingOnceThroughFaults(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			w.must(w.server.SetFaults(fake.Faults{Seed: seed, Close: 0.05, Lose: 0.03, Duplicate: 0.05, Reorder: 0.05, Fail: 0.03, Limit: 0.03}))
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
			w.must(w.server.SetFaults(fake.Faults{}))
			for _, c := range w.chats { // a lost last event is seen when the next comes
				want[w.Say(c, "ana", "", "the end")] = true
			}
			e.until("all", func(es []event.Event) bool { return len(missing(want, es)) == 0 })
		})
	}
}

// missing are those of want that are not among events. A message that was
// deleted before it was told of comes as its deletion only.
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

// latest is what a log that holds events says of each chat.
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

// TestOnceThroughFaults: a poster that does what tri-reply does posts each reply
// once, whatever becomes of requests and answers, also when it gives up on one
// that the server is still working on.
func TestOnceThroughFaults(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			root := w.Say(w.chats[0], "ana", "", "where?")
			w.must(w.server.SetFaults(fake.Faults{Seed: seed, DropAnswer: 0.2, LateAnswer: 0.2, LateStore: 0.2, Late: "20ms", Fail: 0.05, FailAfter: 0.1, Limit: 0.05}))
			for i := range 60 {
				w.persist(chat.Post{ChatID: w.chats[0], ThreadID: root, Text: fmt.Sprintf("reply %d", i), Key: fmt.Sprintf("key-%d", i)})
			}
			w.must(w.server.SetFaults(fake.Faults{}))
			time.Sleep(50 * time.Millisecond) // more than Late: nothing lands any more
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

// persist posts p as tri-reply would, by a new program at every try, that waits
// for an answer for 10 ms.
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
		p.Tried = time.Now()
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

// TestDeadSocket: a connection that stands and says nothing is left.
func TestDeadSocket(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.pulse = 30 * time.Millisecond
	e := hear(t, c, nil)
	w.server.Mute(true)
	id := w.Say(w.chats[0], "ana", "", "into the void")
	for deadline := time.Now().Add(10 * time.Second); w.server.Requests("websocket") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still on the dead connection")
		}
	}
	w.server.Mute(false)
	e.until("the message", has(id))
}

// TestStaleSince: a server that answers since from a stale cache, with nothing,
// does not hide what was written.
func TestStaleSince(t *testing.T) {
	w := newWorld(t)
	w.must(w.server.SetFaults(fake.Faults{StaleSince: 1}))
	first := w.Say(w.chats[0], "ana", "", "first")
	at := latest([]event.Event{{ChatID: w.chats[0], CreateTime: stamp(time.Now().UnixMilli())}})
	want := map[string]bool{}
	for i := range 3*maxPage + 1 {
		want[w.Say(w.chats[0], "ana", first, fmt.Sprintf("answer %d", i))] = true
	}
	e := hear(t, w.client(), at)
	e.until("all", func(es []event.Event) bool { return len(missing(want, es)) == 0 })
}

// TestForgotten: a server that does not know the connection any more, after its
// restart, is read back.
func TestForgotten(t *testing.T) {
	w := newWorld(t)
	e := hear(t, w.client(), nil)
	w.server.CutSockets(true)
	id := w.Say(w.chats[0], "ana", "", "meanwhile")
	e.until("the message", has(id))
}

// TestRevoked: a token that is not accepted any more ends the source, with the
// status and the hint for it.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	ended := make(chan error, 1)
	go func() {
		ended <- w.client().Run(t.Context(), chat.Resume{Say: func(string, ...any) {}, Link: func(up bool) {
			if up {
				w.server.Revoke(w.bot)
				w.server.CutSockets(false)
			}
		}}, func(event.Event) error { return nil })
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

// TestLeft: a chat that we may not read any more does not keep the others from
// being heard.
func TestLeft(t *testing.T) {
	w := newWorld(t)
	w.server.Remove(w.chats[0], w.bot.ID)
	c := w.client()
	c.chats = map[string]bool{w.chats[0]: true, w.chats[1]: true}
	e := hear(t, c, nil)
	id := w.Say(w.chats[1], "ana", "", "here")
	e.until("the message", has(id))
	if _, said := e.heard(); len(said) != 1 || !strings.Contains(said[0], w.chats[0]) {
		t.Errorf("said: %q", said)
	}
}

// TestDirect: what is said to the bot alone mentions it.
func TestDirect(t *testing.T) {
	w := newWorld(t)
	d := w.server.AddDirect(w.people["ana"], w.bot)
	unnamed := hear(t, w.client(), nil)
	w.Say(d.ID, "ana", "", "is this private?")
	mark := w.Say(w.chats[0], "ana", "", "said in the open")
	unnamed.until("the open message", has(mark))
	if es, _ := unnamed.heard(); slices.ContainsFunc(es, func(v event.Event) bool { return v.ChatID == d.ID }) {
		t.Error("a private conversation that is not named is heard")
	}
	unnamed.stop()
	c := w.client()
	c.chats = map[string]bool{d.ID: true}
	e := hear(t, c, nil)
	id := w.Say(d.ID, "ana", "", "where is the retry limit?")
	es := e.until("the message", has(id))
	v := es[len(es)-1]
	if v.ChatName != "ana" || len(v.Mentions) != 1 || v.Mentions[0] != w.bot.ID {
		t.Errorf("came as %+v", v)
	}
}

// TestGuests: what guests and other servers' people say is left out, unless they
// are let in.
func TestGuests(t *testing.T) {
	for _, allow := range []bool{false, true} {
		w := newWorld(t)
		guest := w.server.AddUser("guest", false)
		w.server.MakeGuest(guest.ID)
		w.people["guest"] = guest
		w.Say(w.chats[0], "guest", "", "said before")
		c := w.client()
		c.external = allow
		e := hear(t, c, nil)
		w.Say(w.chats[0], "guest", "", "said now")
		e.until("the message", has(w.Say(w.chats[0], "ana", "", "the end")))
		es, _ := e.heard()
		n := 0
		for _, v := range es {
			if v.Sender.ID == guest.ID {
				n++
			}
		}
		if n > 0 != allow {
			t.Errorf("allowed %v: %d messages of a guest", allow, n)
		}
	}
}

// TestWebhook: a call that has the token brings its post in, once; others bring
// nothing.
func TestWebhook(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.listen, c.hookToken = "127.0.0.1:0", strings.Repeat("h", 26)
	heard, at := make(chan event.Event, 99), make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.calls(ctx, chat.Resume{Say: func(_ string, args ...any) { at <- fmt.Sprint(args...) }}, func(v event.Event) error {
			heard <- v
			return nil
		})
	}()
	url := "http://" + <-at
	id := w.Say(w.chats[0], "ana", "", "where?")
	post := func(kind, body string) int {
		resp, err := http.Post(url, kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	good := fmt.Sprintf(`{"token":%q,"post_id":%q,"text":"something else"}`, c.hookToken, id)
	for _, tt := range []struct {
		kind, body string
		want       int
	}{
		{"application/json", good, 200},
		{"application/x-www-form-urlencoded", "token=" + c.hookToken + "&post_id=" + id, 200},
		{"application/json", strings.Replace(good, id, strings.Repeat("z", 26), 1), 200}, // not there
		{"application/json", strings.Replace(good, id, "../../users", 1), 400},
		{"application/json", strings.Replace(good, "hh", "hi", 1), 401},
		{"application/json", `{"post_id":"` + id + `"}`, 401},
		{"application/json", `{`, 401},
	} {
		if got := post(tt.kind, tt.body); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.body, got, tt.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(heard)
	n := 0
	for v := range heard {
		if n++; v.MessageID != id || v.Content != "where?" {
			t.Errorf("came as %+v", v)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
}

// TestPostErrors: what each answer means for the post.
func TestPostErrors(t *testing.T) {
	const (
		refused = "refused"
		retry   = "retry"
		unknown = "unknown"
	)
	id := strings.Repeat("a", 26)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		thread int // status of the answer when the thread is read
		want   string
		after  time.Duration
	}{
		{"bad request", status(400), 200, refused, 0},
		{"forbidden", status(403), 200, refused, 0},
		{"forbidden, the thread too", status(403), 403, refused, 0},
		{"thread gone", status(400), 404, refused, 0},
		{"too large", status(413), 200, refused, 0},
		{"refused, and nobody knows", status(403), 500, unknown, 0},
		{"token", status(401), 200, retry, time.Minute},
		{"moved", status(301), 200, retry, time.Minute},
		{"timeout of a proxy", status(408), 200, retry, time.Minute},
		{"busy", status(429), 200, retry, 7 * time.Second},
		{"error", status(500), 200, unknown, 0},
		{"bad gateway", status(502), 200, unknown, 0},
		{"unavailable", status(503), 200, unknown, 0},
		{"cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 200, unknown, 0},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":"aaa`)) }, 200, unknown, 0},
		{"another answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`<html>`)) }, 200, unknown, 0},
		{"no id", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }, 200, unknown, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /api/v4/users/me", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"id":%q,"username":"tri"}`, id) })
			mux.HandleFunc("POST /api/v4/posts", tt.answer)
			mux.HandleFunc("GET /api/v4/posts/{id}/thread", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.thread)
				_, _ = w.Write([]byte(`{"order":[],"posts":{}}`))
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			c, err := NewSink(Options{URL: s.URL, Token: "t"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Post(t.Context(), chat.Post{ChatID: id, ThreadID: id, Text: "x", Key: "k"})
			again := (*chat.RetryError)(nil)
			got := unknown
			switch {
			case err == nil:
				t.Fatal("posted")
			case chat.IsRefused(err):
				got = refused
			case errors.As(err, &again):
				got = retry
			}
			if got != tt.want || got == retry && again.After != tt.after {
				t.Errorf("%v: %s, want %s after %v", err, got, tt.want, tt.after)
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "https://elsewhere.example.test/")
		w.WriteHeader(code)
	}
}

// TestStoredAndRefused: a server that stores a post and then says no, as it does
// when it may not show what the post links to, has posted.
func TestStoredAndRefused(t *testing.T) {
	w := newWorld(t)
	w.must(w.server.SetFaults(fake.Faults{FailAfter: 1, FailStatus: http.StatusForbidden}))
	root := w.Say(w.chats[0], "ana", "", "where?")
	got, err := w.sink().Post(t.Context(), chat.Post{ChatID: w.chats[0], ThreadID: root, Text: "here", Key: "k"})
	posts := w.server.Posts()
	if last := posts[len(posts)-1]; err != nil || got.MessageID != last.ID {
		t.Errorf("%+v, %v; %s stands there", got, err, last.ID)
	}
}

// TestNobodyThere: where no connection was made, nothing was posted.
func TestNobodyThere(t *testing.T) {
	w := newWorld(t)
	c := w.sink()
	if _, err := c.me(t.Context()); err != nil {
		t.Fatal(err)
	}
	root := w.Say(w.chats[0], "ana", "", "where?")
	w.server.Close()
	_, err := c.Post(t.Context(), chat.Post{ChatID: w.chats[0], ThreadID: root, Text: "x", Key: "k"})
	if again := (*chat.RetryError)(nil); !errors.As(err, &again) {
		t.Errorf("%v is no RetryError", err)
	}
}

// TestFindWaits: a try whose request the server may still be working on, and
// whose pending id it may have forgotten, is waited for.
func TestFindWaits(t *testing.T) {
	for _, tt := range []struct{ age, wait time.Duration }{
		{time.Second, 0}, {remembered + time.Second, abandoned - remembered - time.Second}, {abandoned + time.Second, 0}, {24 * time.Hour, 0},
	} {
		w := newWorld(t)
		root := w.Say(w.chats[0], "ana", "", "where?")
		p := chat.Post{ChatID: w.chats[0], ThreadID: root, Text: "here", Key: "k", Tried: time.Now().Add(-tt.age)}
		c := w.sink()
		now := time.Now()
		c.now = func() time.Time { return now }
		var waited time.Duration
		c.sleep = func(_ context.Context, d time.Duration) error {
			waited += d
			_, err := w.sink().Post(t.Context(), p) // the earlier try lands
			return err
		}
		_, proof, err := c.Find(t.Context(), p)
		want := chat.Absent
		if tt.wait > 0 {
			want = chat.Found
		}
		if d := waited - tt.wait; err != nil || proof != want || d < -time.Second || d > time.Second {
			t.Errorf("tried %v ago: proof %v, %v, waited %v; want %v after %v", tt.age, proof, err, waited, want, tt.wait)
		}
	}
}

func TestCrowd(t *testing.T) {
	for text, want := range map[string]bool{
		"@all": true, "hi @Channel!": true, "(@here)": true, "`@all`": true, "@all-hands": true, ".@all.": true, "@here_": true, "_@all_": true,
		"@allotment": false, "a@all": false, "@hereby": false, "ana@here.example": false, "all": false,
	} {
		if got := crowd.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := Options{URL: "https://chat.example.test/", Token: "t", Chats: []string{strings.Repeat("a", 26)}}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for name, break_ := range map[string]func(*Options){
		"no url": func(o *Options) { o.URL = "" }, "no scheme": func(o *Options) { o.URL = "chat.example.test" },
		"file": func(o *Options) { o.URL = "file:///etc" }, "password in url": func(o *Options) { o.URL = "https://u:p@h" },
		"query": func(o *Options) { o.URL += "?x=1" }, "no token": func(o *Options) { o.Token = "" },
		"token with a line": func(o *Options) { o.Token = "a\nb" }, "chat name": func(o *Options) { o.Chats = []string{"town-square"} },
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

func TestBackoff(t *testing.T) {
	c := known(t)
	for _, luck := range []float64{0, 0.5, 0.999} {
		c.chance = func() float64 { return luck }
		for try := 1; try <= 40; try++ {
			full := min(500*time.Millisecond<<min(try-1, 7), time.Minute)
			if d := c.backoff(try, nil); d < full/2 || d > full {
				t.Errorf("try %d, luck %v: %v", try, luck, d)
			}
		}
	}
	if d := c.backoff(1, fmt.Errorf("x: %w", &apiError{status: 429, after: 90 * time.Second})); d != 90*time.Second {
		t.Errorf("told to wait 90 s, waits %v", d)
	}
}

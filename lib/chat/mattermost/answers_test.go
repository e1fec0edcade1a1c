package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/mattermost/mattermosttest"
	"tri/lib/chat/session"
)

// TestPostErrors: how each response to a post is classified.
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
		thread int // status of reading the thread
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
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"id":"aaa`))
		}, 200, unknown, 0},
		{"another answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`<html>`))
		}, 200, unknown, 0},
		{"no id", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{}`))
		}, 200, unknown, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /api/v4/users/me", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"id":%q,"username":"tri"}`, id)
			})
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

// TestStoredAndRefused: if the server stores a post and then returns an error, as it does when it
// may not show a link's target, the post counts as posted.
func TestStoredAndRefused(t *testing.T) {
	w := newWorld(t)
	w.must(w.server.SetFaults(mattermosttest.Faults{FailAfter: 1, FailStatus: http.StatusForbidden}))
	root := w.Say(w.chats[0], "ana", "", "where?")
	got, err := w.sink().Post(t.Context(),
		chat.Post{ChatID: w.chats[0], ThreadID: root, Text: "here", Key: "k"})
	posts := w.server.Posts()
	if last := posts[len(posts)-1]; err != nil || got.MessageID != last.ID {
		t.Errorf("%+v, %v; %s stands there", got, err, last.ID)
	}
}

// TestNobodyThere: if no connection was made, nothing was posted.
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
		t.Errorf("%v is not a RetryError", err)
	}
}

// TestFindWaits: Find waits for an attempt that the server may still be processing and whose
// pending id it may have forgotten.
func TestFindWaits(t *testing.T) {
	for _, tt := range []struct{ age, wait time.Duration }{
		{time.Second, 0}, {remembered + time.Second, abandoned - remembered - time.Second},
		{abandoned + time.Second, 0}, {24 * time.Hour, 0},
	} {
		w := newWorld(t)
		root := w.Say(w.chats[0], "ana", "", "where?")
		p := chat.Post{ChatID: w.chats[0], ThreadID: root, Text: "here", Key: "k",
			Tried: time.Now().Add(-tt.age), Own: true}
		now := time.Now()
		var waited time.Duration
		o := w.options(nil)
		o.Now = func() time.Time { return now }
		o.Sleep = func(_ context.Context, d time.Duration) error {
			waited += d
			_, err := w.sink().Post(t.Context(), p) // the earlier attempt lands
			return err
		}
		c, err := NewSink(o)
		if err != nil {
			t.Fatal(err)
		}
		_, proof, err := c.Find(t.Context(), p)
		want := chat.Absent
		if tt.wait > 0 {
			want = chat.Found
		}
		if d := waited - tt.wait; err != nil || proof != want || d < -time.Second || d > time.Second {
			t.Errorf("tried %v ago: proof %v, %v, waited %v; want %v after %v", tt.age, proof, err, waited,
				want, tt.wait)
		}
	}
}

// TestRemovedAmongMany: a part of the changes does not prove that a post was not deleted.
func TestRemovedAmongMany(t *testing.T) {
	id, asked := strings.Repeat("a", 26), 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/users/me", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":%q,"username":"tri"}`, id)
	})
	mux.HandleFunc("GET /api/v4/posts/{id}/thread", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"order":[],"posts":{}}`))
	})
	mux.HandleFunc("GET /api/v4/channels/{id}/posts", func(w http.ResponseWriter, _ *http.Request) {
		now, order, posts := time.Now().UnixMilli(), []string{}, map[string]any{}
		for i := range maxChanges >> asked { // the first time all that fit
			name := fmt.Sprint("p", i)
			order, posts[name] = append(order, name), map[string]any{"id": name, "update_at": now + int64(i)}
		}
		asked++
		_ = json.NewEncoder(w).Encode(map[string]any{"order": order, "posts": posts})
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	c, err := NewSink(Options{URL: s.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	p := chat.Post{ChatID: id, ThreadID: id, Text: "x", Key: "k", Tried: time.Now(), Own: true}
	for _, want := range []chat.Proof{chat.Unprovable, chat.Absent} {
		if _, proof, err := c.Find(t.Context(), p); proof != want || err != nil {
			t.Errorf("asked %d times: proof %v, %v", asked, proof, err)
		}
	}
}

// TestUnwatchedReaction: what people do to their own messages in a private chat is not kept.
func TestUnwatchedReaction(t *testing.T) {
	self, ana, room := strings.Repeat("a", 26), strings.Repeat("b", 26), strings.Repeat("c", 26)
	author := ""
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v4/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"id":%q,"username":"x"}`, strings.ReplaceAll(r.PathValue("id"), "me", self))
	})
	mux.HandleFunc("GET /api/v4/posts/{id}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":%q,"user_id":%q,"channel_id":%q}`, room, author, room)
	})
	mux.HandleFunc("GET /api/v4/channels/{id}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":%q,"type":"D"}`, room)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	c, err := New(Options{URL: s.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	f := frame{Event: "reaction_added"}
	f.Data = fmt.Appendf(nil, `{"reaction":"{\"user_id\":\"%s\",\"post_id\":\"%s\"}"}`, ana, room)
	for by, want := range map[string]int{ana: 0, self: 1} {
		var b session.Batch
		author = by
		err := c.listening(chat.Resume{}, chat.Discard{}).reaction(t.Context(), f, &b)
		if err != nil || len(b.Actions) != want {
			t.Errorf("to a message of %s: %+v, %v", by, b.Actions, err)
		}
	}
}

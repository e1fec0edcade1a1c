package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/webhook"
	"tri/lib/record/event"
)

// TestWebhook: a call with the token causes its post to be emitted, once; other calls have no
// effect.
func TestWebhook(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.o.HookToken = strings.Repeat("h", 26)
	heard := make(chan event.Event, 99)
	l, err := webhook.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- webhook.Serve(ctx, l, nil,
			c.calls(chat.Resume{}, chattest.Handler{Log: t.Logf, Event: func(v event.Event) error {
				heard <- v
				return nil
			}}))
	}()
	url := "http://" + l.Addr().String()
	id := w.Say(w.chats[0], "ana", "", "where?")
	post := func(kind, body string) int {
		resp, err := http.Post(url, kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	good := fmt.Sprintf(`{"token":%q,"post_id":%q,"text":"something else"}`, c.o.HookToken, id)
	for _, tt := range []struct {
		kind, body string
		want       int
	}{
		{"application/json", good, 200},
		{"application/x-www-form-urlencoded", "token=" + c.o.HookToken + "&post_id=" + id, 200},
		{"application/json", strings.Replace(good, id, strings.Repeat("z", 26), 1), 200}, // no such post
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
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestWebhookAfterAGap: a call brings what was missed before it, in all chats, so that no start reads from
// after the gap.
func TestWebhookAfterAGap(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.o.HookToken = strings.Repeat("h", 26)
	said := map[string]string{}
	for i, text := range []string{"seen", "missed", "missed elsewhere", "called for"} {
		said[w.Say(w.chats[i/2%2], "ana", "", text)] = text
	}
	var called string
	for id, text := range said {
		if text == "called for" {
			called = id
		}
	}
	var heard []string
	resume := chat.Resume{Last: map[string]time.Time{w.chats[0]: time.Now().Add(-time.Second)}}
	answer := c.calls(resume, chattest.Handler{Log: t.Logf, Event: func(v event.Event) error {
		heard = append(heard, said[v.MessageID])
		return nil
	}})
	for range 2 {
		got := answer(t.Context(), &webhook.Call{Method: http.MethodPost, Body: fmt.Appendf(nil,
			`{"token":%q,"post_id":%q}`, c.o.HookToken, called)})
		if got.Status != 0 && got.Status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
	}
	slices.Sort(heard) // those of one millisecond are in any order
	if got := strings.Join(heard, ", "); got != "called for, missed, missed elsewhere, seen" {
		t.Errorf("emitted: %s", got)
	}
}

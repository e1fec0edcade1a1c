package lark

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/lark/larktest"
)

func (w *world) ask() chat.Post {
	root := w.Say(dev, "ana", "", "where is the retry limit?")
	return chat.Post{ChatID: dev, ThreadID: root, ReplyToID: root, Text: "It is 5.", Key: "k-1"}
}

// TestAnswers: how each response to a post is classified.
func TestAnswers(t *testing.T) {
	const retry, refused, unknown = "retry", "refused", "unknown"
	for name, tt := range map[string]struct {
		status int
		header string
		body   string
		want   string
		after  time.Duration
	}{
		"frequency": {429, "7", `{"code":99991400,"msg":"request trigger frequency limit"}`,
			retry, 7 * time.Second},
		"frequency, 400":         {400, "3", `{"code":99991400,"msg":"x"}`, retry, 3 * time.Second},
		"of the chat":            {400, "", `{"code":230020,"msg":"x"}`, retry, time.Second},
		"with status 200":        {200, "", `{"code":99991400,"msg":"x"}`, retry, time.Second},
		"token, twice":           {400, "", `{"code":99991663,"msg":"x"}`, retry, time.Minute},
		"scope":                  {400, "", `{"code":99991672,"msg":"x"}`, retry, time.Minute},
		"the bot is off":         {400, "", `{"code":230006,"msg":"x"}`, retry, time.Minute},
		"not in the chat":        {400, "", `{"code":230002,"msg":"x"}`, refused, 0},
		"recalled":               {400, "", `{"code":230011,"msg":"x"}`, refused, 0},
		"muted":                  {400, "", `{"code":230018,"msg":"x"}`, refused, 0},
		"too long":               {400, "", `{"code":230025,"msg":"x"}`, refused, 0},
		"is being sent":          {400, "", `{"code":230049,"msg":"x"}`, unknown, 0},
		"internal":               {200, "", `{"code":2200,"msg":"x"}`, unknown, 0},
		"broken":                 {500, "", ``, unknown, 0},
		"gateway":                {502, "", `<html>`, unknown, 0},
		"not Lark's":             {200, "", `<html>`, unknown, 0},
		"no id":                  {200, "", `{"code":0,"data":{}}`, unknown, 0},
		"sent elsewhere":         {302, "", ``, retry, time.Minute},
		"nobody knows the route": {404, "", `404 page not found`, refused, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/auth/") {
				_, _ = w.Write([]byte(`{"code":0,"tenant_access_token":"t-1","expire":7200}`))
				return
			}
			w.Header().Set("X-Ogw-Ratelimit-Reset", tt.header)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		s, err := NewSink(Options{URL: server.URL, ID: larktest.App, Secret: "x"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Post(t.Context(), chat.Post{ChatID: dev, ThreadID: "om_1", Text: "x", Key: "k"})
		server.Close()
		again, got := (*chat.RetryError)(nil), unknown
		switch {
		case err == nil:
			got = "posted"
		case chat.IsRefused(err):
			got = refused
		case errors.As(err, &again):
			got = retry
			if again.After != tt.after {
				t.Errorf("%s: again after %v, want %v", name, again.After, tt.after)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, tt.want)
		}
	}
}

// TestNotSent: a post that was not sent, or for which no token was available, was not made.
func TestNotSent(t *testing.T) {
	s, err := NewSink(Options{URL: "http://127.0.0.1:1", ID: larktest.App, Secret: "x"})
	if err != nil {
		t.Fatal(err)
	}
	p := chat.Post{ChatID: dev, ThreadID: "om_1", Text: "x", Key: "k"}
	if _, err := s.Post(t.Context(), p); !errors.As(err, new(*chat.RetryError)) {
		t.Errorf("nobody there: %v", err)
	}
	w := newWorld(t)
	p = w.ask()
	w.server.Revoke()
	_, err = w.sink().Post(t.Context(), p)
	if !errors.As(err, new(*chat.RetryError)) || len(sysexit.Hints(err)) == 0 {
		t.Errorf("no token: %v", err)
	}
}

// TestRenewed: a token that expires while in use is renewed, and the call is repeated once.
func TestRenewed(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	s := w.sink()
	for range 3 {
		w.server.Expire()
		if _, err := s.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.Standing(dev, p.ThreadID)); n != 1 {
		t.Errorf("it stands there %d times", n)
	}
	now, o := time.Now(), w.options()
	o.Now = func() time.Time { return now }
	c := w.client(o)
	asked := func() int { return len(w.server.Requests(http.MethodPost, "/internal")) }
	was, begun := asked(), now
	for _, tt := range []struct {
		later time.Duration
		want  int
	}{{0, 1}, {time.Hour, 1}, {time.Hour + 56*time.Minute, 1}, {time.Hour + 58*time.Minute, 2}} {
		now = begun.Add(tt.later)
		if _, err := c.tenantToken(t.Context(), false); err != nil || asked()-was != tt.want {
			t.Errorf("after %v: asked %d times, %v", tt.later, asked()-was, err)
		}
	}
}

// TestRequest: the request as sent.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	p.Key, p.Text = strings.Repeat("k", 64), "a\n<at user_id=\"all\">x</at>"
	_, err := w.sink().Post(t.Context(), p)
	w.must(err)
	in := w.server.Requests(http.MethodPost, "/reply")[0]
	uuid, _ := in["uuid"].(string)
	if in["msg_type"] != "post" || in["reply_in_thread"] != true || len(uuid) < 20 || len(uuid) > 50 {
		t.Errorf("%+v", in)
	}
	const want = `{"zh_cn":{"content":[[{"tag":"text","text":"a"}],[{"tag":"text","text":"<\u2060at user_id=\"all\">x<\u2060/at>"}]],"title":""}}`
	var got, wanted any
	_ = json.Unmarshal([]byte(in["content"].(string)), &got)
	_ = json.Unmarshal([]byte(want), &wanted)
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(wanted)
	if string(a) != string(b) {
		t.Errorf("%s, want %s", a, b)
	}
	// The same request again returns the same message, because of the uuid.
	_, err = w.sink().Post(t.Context(), p)
	if n := len(w.Standing(dev, p.ThreadID)); err != nil || n != 1 {
		t.Errorf("%v, it stands there %d times", err, n)
	}
	many := p
	many.Text = strings.Repeat("a\n", 1900)
	if _, err := w.sink().Post(t.Context(), many); !chat.IsRefused(err) {
		t.Errorf("over 30 KB: %v", err)
	}
}

// TestFind: an earlier attempt is recognized by its text and time; ambiguous messages are not.
func TestFind(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	find := func(what string, p chat.Post, want chat.Proof) {
		t.Helper()
		if _, proof, err := w.sink().Find(t.Context(), p); proof != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", what, proof, err, want)
		}
	}
	post := func(key string) chat.Posted {
		q := p
		q.Key = key
		made, err := w.sink().Post(t.Context(), q)
		w.must(err)
		return made
	}
	find("nothing there", p, chat.Absent)
	w.Say(dev, "ana", p.ThreadID, p.Text)
	find("the same words of a person", p, chat.Absent)
	p.Tried = time.Now()
	made := post("k-1")
	got, proof, err := w.sink().Find(t.Context(), p)
	if got.MessageID != made.MessageID || proof != chat.Found || err != nil {
		t.Errorf("%+v, %v, %v", got, proof, err)
	}
	untold := p
	untold.Tried = time.Time{}
	find("whose try nobody knows", untold, chat.Unprovable)
	later := p
	later.Tried = time.Now().Add(time.Minute)
	find("of another try, long before", later, chat.Absent)
	other := p
	other.Text = "Another."
	find("another text", other, chat.Absent)
	second := post("k-2")
	find("two of them", p, chat.Unprovable)
	w.must(w.server.Recall(second.MessageID))
	find("one, and one recalled", p, chat.Found)
	w.must(w.server.Recall(made.MessageID))
	find("all recalled", p, chat.Unprovable)
	w.server.SetFaults(larktest.Faults{Fail: 1})
	if _, proof, err := w.sink().Find(t.Context(), p); proof != chat.Unprovable || err == nil {
		t.Errorf("no answer: %v, %v", proof, err)
	}
}

// TestFindWaits: Find waits for an attempt that may still be in progress.
func TestFindWaits(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	p.Tried = time.Now()
	o, waited := w.options(), time.Duration(0)
	o.Sleep = func(_ context.Context, d time.Duration) error {
		waited += d
		_, err := w.sink().Post(t.Context(), p) // it lands meanwhile
		return err
	}
	s, err := NewSink(o)
	w.must(err)
	if _, proof, err := s.Find(t.Context(), p); proof != chat.Found || err != nil ||
		waited < settled-time.Minute || waited > settled {
		t.Errorf("%v, %v, waited %v", proof, err, waited)
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.sink(), t.Context()
	p := w.ask()
	made, err := s.Post(ctx, p)
	w.must(err)
	w.must(s.Edit(ctx, dev, made.MessageID, "It is 6."))
	if text, _, err := s.Message(ctx, dev, made.MessageID); text != "It is 6." || err != nil {
		t.Errorf("edited to %q, %v", text, err)
	}
	if err := s.Edit(ctx, dev, p.ThreadID, "x"); err == nil {
		t.Error("edits what somebody else wrote")
	}
	if err := s.Edit(ctx, dev, made.MessageID, " "); !chat.IsRefused(err) {
		t.Errorf("edit to nothing: %v", err)
	}
	for _, on := range []bool{true, false, false} {
		w.must(s.React(ctx, dev, p.ThreadID, "👀", on))
	}
	if got := w.server.Requests(http.MethodPost,
		"/reactions")[0]["reaction_type"].(larktest.M)["emoji_type"]; got != "GLANCE" {
		t.Errorf("reacted with %v", got)
	}
	if n := len(w.server.Requests(http.MethodDelete, "")); n != 1 {
		t.Errorf("%d reactions taken away, want 1", n)
	}
	for _, char := range (&config.Default().Gate.Reactions).Emoji() { // the platform has each, or one near it
		w.must(s.React(ctx, dev, p.ThreadID, char, true))
	}
	if err := s.React(ctx, dev, p.ThreadID, "🦕", true); !errors.Is(err, chat.ErrUnsupported) {
		t.Errorf("no such emoji: %v", err)
	}
	if err := s.Typing(ctx, dev, p.ThreadID); !errors.Is(err, chat.ErrUnsupported) {
		t.Errorf("typing: %v", err)
	}
	if text, gone, err := s.Message(ctx, ops, made.MessageID); text != "" || !gone || err != nil {
		t.Errorf("in another chat: %q, %v, %v", text, gone, err)
	}
}

func TestCard(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.sink(), t.Context()
	c := chat.Card{ChatID: dev, Title: "Draft <at>", Text: "<at user_id=\"all\"></at> **x**", Key: "card-1",
		Buttons: []chat.Button{
			{Name: "approve", Label: "Approve", Value: "d-1", Style: "primary"},
			{Name: "dismiss", Label: "Dismiss", Value: "d-1"},
		}}
	made, err := s.PostCard(ctx, c)
	w.must(err)
	again, err := s.PostCard(ctx, c)
	if err != nil || again.MessageID != made.MessageID {
		t.Errorf("dealt twice: %+v, %v", again, err)
	}
	in := w.server.Requests(http.MethodPost, "/messages")[0]
	card := in["content"].(string)
	for _, want := range []string{`"update_multi":true`, `"value":{"name":"approve","value":"d-1"}`,
		`"type":"primary"`, `"type":"default"`, `"tag":"plain_text"`} {
		if !strings.Contains(card, want) {
			t.Errorf("no %s in %s", want, card)
		}
	}
	if in["receive_id"] != dev || in["msg_type"] != "interactive" || w.Pings(dev, made.MessageID) {
		t.Errorf("%+v", in)
	}
	plain, err := s.PostCard(ctx, chat.Card{ChatID: dev, Text: "no title", Key: "card-0"})
	w.must(err)
	if text, _, err := s.Message(ctx, dev, plain.MessageID); text != "no title" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	c.Buttons, c.Text = nil, "settled"
	w.must(s.UpdateCard(ctx, made.MessageID, c))
	if text, _, err := s.Message(ctx, dev, made.MessageID); text != "Draft <\u2060at>\nsettled" ||
		err != nil {
		t.Errorf("%q, %v", text, err)
	}
	c.ThreadID = w.Say(dev, "ana", "", "x")
	c.Key = "card-2"
	_, err = s.PostCard(ctx, c)
	w.must(err)
	if n := len(w.Standing(dev, c.ThreadID)); n != 1 {
		t.Errorf("%d cards in the thread", n)
	}
	c.Buttons = []chat.Button{{Name: "Not ok", Value: "x y"}}
	if _, err := s.PostCard(ctx, c); err == nil {
		t.Error("a button that no click comes back from")
	}
	c.Buttons, c.Text = nil, strings.Repeat("é", 20000)
	if _, err := s.PostCard(ctx, c); err != nil {
		t.Errorf("a long card: %v", err)
	}
}

// TestConcurrently: posts of many programs at once, each once.
func TestConcurrently(t *testing.T) {
	w := newWorld(t)
	p := w.ask()
	w.Break(chattest.Faults{LoseAnswer: 0.3})
	done := make(chan error)
	for range 8 {
		go func() { _, err := w.sink().Post(t.Context(), p); done <- err }()
	}
	for range 8 {
		<-done
	}
	if n := len(w.Standing(dev, p.ThreadID)); n != 1 {
		t.Errorf("it stands there %d times", n)
	}
}

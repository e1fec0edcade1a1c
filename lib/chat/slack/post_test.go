package slack

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/slack/slacktest"
)

// TestAnswers: how each response to a post is classified.
func TestAnswers(t *testing.T) {
	const (
		unknown = "it may stand there"
		again   = "again later"
		never   = "refused"
	)
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"busy":             {429, `{"ok":false,"error":"ratelimited"}`, again},
		"busy in the body": {200, `{"ok":false,"error":"ratelimited"}`, again},
		"revoked":          {200, `{"ok":false,"error":"token_revoked"}`, again},
		"scope": {200,
			`{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}`, again},
		"cut on its way":      {200, `{"ok":false,"error":"request_timeout"}`, again},
		"elsewhere":           {302, ``, again},
		"no chat":             {200, `{"ok":false,"error":"channel_not_found"}`, never},
		"archived":            {200, `{"ok":false,"error":"is_archived"}`, never},
		"too long":            {200, `{"ok":false,"error":"msg_too_long"}`, never},
		"something new":       {200, `{"ok":false,"error":"moon_phase"}`, never},
		"fatal":               {200, `{"ok":false,"error":"fatal_error"}`, unknown},
		"internal":            {200, `{"ok":false,"error":"internal_error"}`, unknown},
		"no reason":           {200, `{"ok":false}`, unknown},
		"500":                 {500, ``, unknown},
		"a proxy's page":      {200, `<html>welcome</html>`, unknown},
		"half an answer":      {200, `{"ok":true,"ts":"17`, unknown},
		"yes without a ts":    {200, `{"ok":true}`, unknown},
		"yes with another ts": {200, `{"ok":true,"ts":"soon"}`, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Location", "https://example.com/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer srv.Close()
			s, err := NewSink(Options{URL: srv.URL, Token: "xoxb-1"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Post(t.Context(), chat.Post{ChatID: dev, ThreadID: "1355517523.000005",
				Text: "x", Key: "k"})
			got := unknown
			switch {
			case err == nil:
				got = "posted"
			case errors.As(err, new(*chat.RetryError)):
				got = again
			case chat.IsRefused(err):
				got = never
			}
			if got != c.want || asked != 1 {
				t.Errorf("%q (asked %d times), want %q: %v", got, asked, c.want, err)
			}
			if name == "scope" && (!strings.Contains(err.Error(), "needs chat:write") ||
				len(sysexit.Hints(err)) == 0) {
				t.Errorf("%v %q", err, sysexit.Hints(err))
			}
		})
	}
}

// TestNotSent: if the server cannot be reached, nothing was posted.
func TestNotSent(t *testing.T) {
	s, err := NewSink(Options{URL: "http://127.0.0.1:1/", Token: "xoxb-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Post(t.Context(), chat.Post{ChatID: dev, ThreadID: "1355517523.000005", Text: "x", Key: "k"})
	if !errors.As(err, new(*chat.RetryError)) || strings.Contains(err.Error(), "xoxb") {
		t.Error(err)
	}
}

// TestRequest: nothing in a post notifies, links or unfurls.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	root := w.Say(dev, "ana", "", "?")
	text := "see <!channel> & <@U0ANA> https://x.example :tada: `a<b`"
	made, err := w.sink().Post(t.Context(), chat.Post{ChatID: dev, ThreadID: root, Text: text, Key: "k-1"})
	w.must(err)
	in := w.server.Requests("chat.postMessage")[0]
	for k, want := range map[string]any{"parse": "none", "link_names": false, "unfurl_links": false,
		"unfurl_media": false, "thread_ts": root, "channel": dev,
		"text": "see &lt;!channel&gt; &amp; &lt;@U0ANA&gt; https://x.example :tada: `a&lt;b`"} {
		if in[k] != want {
			t.Errorf("%s is %v, want %v", k, in[k], want)
		}
	}
	if w.Pings(dev, made.MessageID) {
		t.Error("it alerts")
	}
}

// TestFindWaits: while an earlier attempt may still land, Find waits before it returns Absent.
func TestFindWaits(t *testing.T) {
	w := newWorld(t)
	root := w.Say(dev, "ana", "", "?")
	p := chat.Post{ChatID: dev, ThreadID: root, Text: "It is 5.", Key: "k-1"}
	now := time.Now()
	for name, c := range map[string]struct {
		tried time.Time
		waits time.Duration
	}{
		"never tried": {time.Time{}, 0}, "just now": {now, settled},
		"a minute ago":              {now.Add(-time.Minute), settled - time.Minute},
		"almost settled":            {now.Add(time.Second - settled), time.Second},
		"long ago":                  {now.Add(-time.Hour), 0},
		"by a clock that was ahead": {now.Add(time.Hour), settled},
	} {
		waited, o := time.Duration(0), w.options()
		o.Now = func() time.Time { return now }
		late := chat.Posted{}
		o.Sleep = func(_ context.Context, d time.Duration) (err error) {
			waited += d
			late, err = w.sink().Post(t.Context(), p) // the earlier attempt lands after all
			return err
		}
		s, err := NewSink(o)
		w.must(err)
		p.Tried, p.Own, p.Key = c.tried, true, strings.ReplaceAll(name, " ", "-")
		got, proof, err := s.Find(t.Context(), p)
		w.must(err)
		if waited != c.waits || waited > 0 && (proof != chat.Found || got != late) ||
			waited == 0 && proof != chat.Absent {
			t.Errorf("%s: waited %v, proof %v, %+v (landed %+v)", name, waited, proof, got, late)
		}
	}
}

// TestFindNotFooled: a key in a message of another account proves nothing.
func TestFindNotFooled(t *testing.T) {
	w := newWorld(t)
	root := w.Say(dev, "ana", "", "?")
	w.server.Say(dev, "U0ANA", root, "It is 5.", slacktest.M{"metadata": metadata("k-1")})
	w.server.Say(dev, "U0CI", root, "It is 5.", slacktest.M{"metadata": metadata("k-1"), "bot_id": "B0CI"})
	if _, proof, err := w.sink().Find(t.Context(),
		chat.Post{ChatID: dev, ThreadID: root, Key: "k-1"}); err != nil || proof != chat.Absent {
		t.Errorf("%v, %v", proof, err)
	}
	for name, p := range map[string]chat.Post{
		"no such thread": {ChatID: dev, ThreadID: "1355517523.000005", Key: "k"},
		"no such chat":   {ChatID: "C0NONE", ThreadID: root, Key: "k"},
		"no ids":         {ChatID: "x", ThreadID: "y"},
	} {
		if _, proof, err := w.sink().Find(t.Context(), p); err != nil || proof != chat.Absent {
			t.Errorf("%s: %v, %v", name, proof, err)
		}
	}
	w.server.SetFaults(slacktest.Faults{Fail: 1})
	if _, proof, err := w.sink().Find(t.Context(),
		chat.Post{ChatID: dev, ThreadID: root, Key: "k"}); err == nil || proof != chat.Unprovable {
		t.Errorf("server down: %v, %v", proof, err)
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.sink(), t.Context()
	root := w.Say(dev, "ana", "", "?")
	for range 2 {
		w.must(s.React(ctx, dev, root, "👀", true))
	}
	for range 2 {
		w.must(s.React(ctx, dev, root, "👀", false))
	}
	w.must(s.React(ctx, dev, root, "☑️", true))
	if err := errors.Join(s.Typing(ctx, dev, root),
		s.React(ctx, dev, root, "no emoji", true)); !errors.Is(err, chat.ErrUnsupported) {
		t.Error(err)
	}
	if got := w.server.Requests("reactions.add"); len(got) != 3 || got[0]["name"] != "eyes" ||
		got[2]["name"] != "ballot_box_with_check" {
		t.Errorf("%v", got)
	}
	p, err := s.Post(ctx, chat.Post{ChatID: dev, ThreadID: root, Text: "reading", Key: "k"})
	w.must(err)
	w.must(s.Edit(ctx, dev, p.MessageID, "reading <2> & 3"))
	if text, _, err := s.Message(ctx, dev, p.MessageID); err != nil || text != "reading <2> & 3" {
		t.Errorf("%q %v", text, err)
	}
	if found, proof, err := s.Find(ctx, chat.Post{ChatID: dev, ThreadID: root, Key: "k"}); err != nil ||
		proof != chat.Found || found.MessageID != p.MessageID {
		t.Errorf("after an edit: %v %v", proof, err)
	}
	if err := s.Edit(ctx, dev, root, "somebody else's"); httpapi.CodeOf(err) != "cant_update_message" {
		t.Error(err)
	}
	if err := s.Edit(ctx, dev, p.MessageID, " "); !chat.IsRefused(err) {
		t.Error(err)
	}
}

func TestCard(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.sink(), t.Context()
	long := strings.Repeat("é", 7000) + "<!channel>"
	card := chat.Card{ChatID: dev, Title: strings.Repeat("t", 200), Text: long, Key: "k",
		Buttons: []chat.Button{
			{Name: "approve", Label: "Post", Value: "d-1", Style: "primary"},
			{Name: "dismiss", Label: "Dismiss", Value: "d-1", Style: "danger"},
		}}
	p, err := s.PostCard(ctx, card)
	w.must(err)
	shows := func() (kinds []string, text string) {
		t.Helper()
		all := w.server.Messages(dev)
		i := slices.IndexFunc(all, func(m slacktest.M) bool { return m["ts"] == p.MessageID })
		for _, b := range all[i]["blocks"].([]any) {
			b := b.(map[string]any)
			kinds = append(kinds, b["type"].(string))
			if x, ok := b["text"].(map[string]any); ok && b["type"] == "section" {
				text += x["text"].(string)
				if x["type"] != "plain_text" {
					t.Errorf("%v is read as markup", x)
				}
			}
		}
		return kinds, text
	}
	if kinds, text := shows(); !slices.Equal(kinds,
		[]string{"header", "section", "section", "section", "actions"}) || text != long {
		t.Errorf("%v, %d bytes", kinds, len(text))
	}
	if w.Pings(dev, p.MessageID) {
		t.Error("it alerts")
	}
	card.Title, card.Text, card.Buttons = "Settled", "by ana", nil
	w.must(s.UpdateCard(ctx, p.MessageID, card))
	if kinds, text := shows(); !slices.Equal(kinds, []string{"header", "section"}) || text != "by ana" {
		t.Errorf("%v %q", kinds, text)
	}
	card.Buttons = []chat.Button{{Name: "Approve!", Value: "x"}}
	if _, err := s.PostCard(ctx, card); err == nil {
		t.Error("a button without a good name")
	}
}

// TestGone: the results of the check before a post.
func TestGone(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.sink(), t.Context()
	root := w.Say(dev, "ana", "", "a root")
	reply := w.Say(dev, "ben", root, "a reply to @ana")
	if text, gone, err := s.Message(ctx, dev, reply); err != nil || gone || text != "a reply to @ana" {
		t.Errorf("%q %v %v", text, gone, err)
	}
	w.Delete(dev, root)
	for id, want := range map[string]bool{root: true, reply: false, "1355517523.000005": true, "x": true} {
		if _, gone, err := s.Message(ctx, dev, id); err != nil || gone != want {
			t.Errorf("%s: gone %v, %v", id, gone, err)
		}
	}
	w.server.SetFaults(slacktest.Faults{Fail: 1})
	if _, gone, err := s.Message(ctx, dev, root); err == nil || gone {
		t.Errorf("server down: gone %v, %v", gone, err)
	}
}

// TestLongText: long messages are received whole, although posts are limited.
func TestLongText(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("ä <&> ", 6000)
	l := w.listens()
	id := w.Say(dev, "ana", "", text)
	l.until("it", l.has(id))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard[0].Content != text {
		t.Errorf("%d of %d bytes", len(l.heard[0].Content), len(text))
	}
}

// TestDeepAnswer: an answer of many levels is refused; a check that recurses into it ends the program.
func TestDeepAnswer(t *testing.T) {
	c, err := newClient(Options{Token: "xoxb-1"})
	if err != nil {
		t.Fatal(err)
	}
	err = c.apiError(http.Header{}, bytes.Repeat([]byte("["), 9<<20))
	if httpapi.StatusOf(err) != http.StatusBadGateway {
		t.Error(err)
	}
}

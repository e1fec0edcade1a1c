package slack

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/session"
	"tri/lib/chat/slack/slacktest"
	"tri/lib/chat/webhook"
)

// hookedAt is a handler at a fixed time, with a count of its deliveries.
func hookedAt(now time.Time) (h *hooked, let func() int) {
	in := make(chan delivery)
	n := make(chan int, 1)
	n <- 0
	go func() {
		for d := range in {
			n <- 1 + <-n
			_ = d.Done(nil)
		}
	}()
	return &hooked{Stamps: stamps("8f742231b10e8888abcd99yyyzzz85a5", func() time.Time { return now }),
		Intake: webhook.Intake[envelope]{In: in}}, func() int { got := <-n; n <- got; return got }
}

func signedCall(at time.Time, body, kind string) *webhook.Call {
	when := strconv.FormatInt(at.Unix(), 10)
	return &webhook.Call{Method: http.MethodPost, Path: "/", Body: []byte(body), Header: http.Header{
		"X-Slack-Request-Timestamp": {when},
		"X-Slack-Signature":         {slacktest.Sign("8f742231b10e8888abcd99yyyzzz85a5", when, []byte(body))},
		"Content-Type":              {kind},
	}}
}

const (
	jsonKind = "application/json"
	formKind = "application/x-www-form-urlencoded"
	anEvent  = `{"type":"event_callback","event":{"type":"message","channel":"C0DEV","ts":"1355517523.000005","user":"U0ANA","text":"hi"}}`
)

// TestSignature is the example of Slack's documentation
// (https://docs.slack.dev/authentication/verifying-requests-from-slack).
func TestSignature(t *testing.T) {
	const body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	h, _ := hookedAt(time.Unix(1531420618, 0))
	c := &webhook.Call{Method: http.MethodPost, Body: []byte(body), Header: http.Header{
		"X-Slack-Request-Timestamp": {"1531420618"},
		"X-Slack-Signature":         {"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
	}}
	if !h.Verify(c) {
		t.Error("the documented signature is refused")
	}
}

// TestEveryBit: a call with any changed bit in signature, time or body is refused.
func TestEveryBit(t *testing.T) {
	now := time.Now()
	h, let := hookedAt(now)
	good := signedCall(now, anEvent, jsonKind)
	flips := 0
	flip := func(what string, value string, call func(string) *webhook.Call) {
		for i := range len(value) * 8 {
			b := []byte(value)
			b[i/8] ^= 1 << (i % 8)
			flips++
			if a := h.handle(t.Context(), call(string(b))); a.Status != http.StatusUnauthorized {
				t.Fatalf("%s, bit %d: status %d", what, i, a.Status)
			}
		}
	}
	with := func(name, value string) *webhook.Call {
		c := *good
		c.Header = good.Header.Clone()
		c.Header.Set(name, value)
		return &c
	}
	for _, name := range []string{"X-Slack-Request-Timestamp", "X-Slack-Signature"} {
		flip(name, good.Header.Get(name), func(v string) *webhook.Call { return with(name, v) })
	}
	flip("body", anEvent, func(v string) *webhook.Call { c := *good; c.Body = []byte(v); return &c })
	if let() != 0 {
		t.Fatalf("%d let in", let())
	}
	if a := h.handle(t.Context(), good); a.Status != 0 || let() != 1 {
		t.Fatalf("the good one: %+v", a)
	}
	t.Logf("%d changed bits refused", flips)
}

// TestReplay: a recorded call is not accepted again, nor one of another time; Slack signs its own
// repeats anew.
func TestReplay(t *testing.T) {
	now := time.Now()
	h, let := hookedAt(now)
	good := signedCall(now, anEvent, jsonKind)
	for i, want := range []int{0, http.StatusUnauthorized, http.StatusUnauthorized} {
		if a := h.handle(t.Context(), good); a.Status != want {
			t.Errorf("time %d: %d", i, a.Status)
		}
	}
	if a := h.handle(t.Context(), signedCall(now.Add(time.Second), anEvent, jsonKind)); a.Status != 0 ||
		let() != 2 {
		t.Errorf("sent again: %d, %d let in", a.Status, let())
	}
	for _, off := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
		if a := h.handle(t.Context(), signedCall(now.Add(off), anEvent,
			jsonKind)); a.Status != http.StatusUnauthorized {
			t.Errorf("%v off: %d", off, a.Status)
		}
	}
	get := signedCall(now.Add(2*time.Second), anEvent, jsonKind)
	get.Method = http.MethodGet
	if a := h.handle(t.Context(), get); a.Status != http.StatusUnauthorized {
		t.Errorf("GET: %d", a.Status)
	}
}

func TestHandshake(t *testing.T) {
	now := time.Now()
	h, let := hookedAt(now)
	const hello = `{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`
	a := h.handle(t.Context(), signedCall(now, hello, jsonKind))
	if a.Status != 0 || string(a.Body) != "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" ||
		a.Type != "text/plain" {
		t.Errorf("%+v", a)
	}
	unsigned := signedCall(now, hello, jsonKind)
	unsigned.Header.Del("X-Slack-Signature")
	if a := h.handle(t.Context(), unsigned); a.Status != http.StatusUnauthorized || len(a.Body) != 0 {
		t.Errorf("unsigned: %+v", a)
	}
	for name, c := range map[string]*webhook.Call{
		"no JSON": signedCall(now, `{"type":`, jsonKind), "no form": signedCall(now, `payload=%zz`, formKind),
		"no payload": signedCall(now, `a=b`, formKind),
	} {
		if a := h.handle(t.Context(), c); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, a.Status)
		}
	}
	if let() != 0 {
		t.Errorf("%d let in", let())
	}
}

// TestNotYetDurable: a call whose event cannot be stored, or is not processed, is answered so that
// Slack sends it again; it is then accepted.
func TestNotYetDurable(t *testing.T) {
	now := time.Now()
	in, over := make(chan delivery, 1), make(chan struct{})
	h := &hooked{Stamps: stamps("8f742231b10e8888abcd99yyyzzz85a5", func() time.Time { return now }),
		Intake: webhook.Intake[envelope]{In: in, Over: over}}
	good := signedCall(now, anEvent, jsonKind)
	go func() { _ = (<-in).Done(context.DeadlineExceeded) }()
	if a := h.handle(t.Context(), good); a.Status != http.StatusServiceUnavailable {
		t.Errorf("not kept: %d", a.Status)
	}
	go func() { _ = (<-in).Done(nil) }()
	if a := h.handle(t.Context(), good); a.Status != 0 {
		t.Errorf("kept: %d", a.Status)
	}
	close(over)
	if a := h.handle(t.Context(), signedCall(now.Add(time.Second), anEvent,
		jsonKind)); a.Status != http.StatusServiceUnavailable {
		t.Errorf("at the end: %d", a.Status)
	}
}

// FuzzHook: only signed calls are accepted.
func FuzzHook(f *testing.F) {
	now := time.Now()
	good := signedCall(now, anEvent, jsonKind)
	f.Add(good.Header.Get("X-Slack-Request-Timestamp"), "v0=00", anEvent, jsonKind, false)
	f.Add("1", "", "payload=%7B%7D", formKind, true)
	f.Add("9", "v1=", `{"type":"url_verification","challenge":7}`, jsonKind, true)
	f.Fuzz(func(t *testing.T, when, signature, body, kind string, sign bool) {
		h, let := hookedAt(now)
		c := signedCall(now, body, kind)
		if !sign {
			c.Header.Set("X-Slack-Request-Timestamp", when)
			c.Header.Set("X-Slack-Signature", signature)
		}
		a := h.handle(t.Context(), c)
		if !sign && a.Status != http.StatusUnauthorized || let() > 1 {
			t.Errorf("status %d, %d let in", a.Status, let())
		}
		close(h.In)
	})
}

// FuzzEvents: no payload, of an event, an interaction or the history, panics or
// becomes an event or action without ids.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(anEvent))
	f.Add([]byte(`{"event":{"type":"message","subtype":"message_changed","channel":"C0DEV","event_ts":"1355517523.000005","message":{"ts":"1355517523.000005","text":"<@U0ANA|x> <!here> <a|b> &amp;lt; :+1::skin-tone-2:"}}}`))
	f.Add([]byte(`{"event":{"type":"reaction_added","user":"U0ANA","reaction":"+1","item":{"type":"message","channel":"C0DEV","ts":"1355517523.000005"},"item_user":"U0TRI","event_ts":"1355517523.000005"}}`))
	f.Add([]byte(`{"type":"block_actions","user":{"id":"U0ANA"},"channel":{"id":"C0DEV"},"message":{"ts":"1355517523.000005"},"actions":[{"action_id":"a","value":"v","action_ts":"1355517523.000005"}]}`))
	f.Add([]byte("{\"event\":{\"type\":\"message\",\"channel\":\"C0DEV\",\"ts\":\"1355517523.000005\",\"text\":\"\xff\xfe\",\"files\":[{}]}}"))
	w := &world{t: &testing.T{}, server: slacktest.New()}
	f.Cleanup(w.server.Close)
	w.server.AddChannel(dev, "dev", nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		w.t = t
		o := w.options()
		o.AllowExternal = true
		l, events, actions := w.hears(o)
		for _, kind := range []string{"events_api", "interactive", "history"} {
			var g session.Batch
			if kind == "history" {
				if m, ok := parse(dev, parsed(b).Get("event")); ok {
					e, ok, err := l.event(t.Context(), &m, room{Name: "dev"})
					w.must(err)
					if ok {
						g.Add(e, e.Identity())
					}
				}
			} else {
				w.must(l.parse(t.Context(), envelope{kind, parsed(b)}, &g))
			}
			w.must(l.Commit(&g))
		}
		for _, e := range *events {
			if e.ChatID == "" || e.MessageID == "" || e.Sender.ID == "" || e.Mentions == nil ||
				e.CreateTime == "" || strings.ToValidUTF8(e.Content, "") != e.Content {
				t.Errorf("%+v", e)
			}
		}
		for _, a := range *actions {
			if a.ID == "" || a.ChatID == "" || a.MessageID == "" || a.Sender.ID == "" || a.Name == "" ||
				strings.HasPrefix(a.At, "0001") {
				t.Errorf("%+v", a)
			}
		}
	})
}

// FuzzText: text is read back unchanged after Slack's processing, except for emoji, which Slack
// stores in one form.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a < b && c > d", "&amp;lt;", "<!channel|x> <@U0ANA>", "`<a>` ```\n:tada:```",
		"root:x:0:0", "\x00\x1b[31m", "https://x.example/?a=1&b=2", "<https://x|y>"} {
		f.Add(s)
	}
	w := &world{t: &testing.T{}, server: slacktest.New()}
	f.Cleanup(w.server.Close)
	f.Fuzz(func(t *testing.T, text string) {
		w.t = t
		if strings.ToValidUTF8(text, "") != text || len([]rune(text)) > 4000 {
			t.Skip()
		}
		got, mentions, err := w.sink().readable(t.Context(), slacktest.Stored(sent(text), "none", false))
		w.must(err)
		if want := w.Sees(text); got != want || len(mentions) > 0 {
			t.Errorf("%q came back as %q, want %q (mentions %v)", text, got, want, mentions)
		}
	})
}

// TestWebhookUnderLoad: concurrent calls each get their own answer.
func TestWebhookUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.hooked = true
	l := w.listens()
	var ids []string
	for range 100 {
		ids = append(ids, w.Say(dev, "ana", "", "hello"))
	}
	for _, id := range ids {
		l.until(id, l.has(id))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for _, e := range l.heard {
		if !slices.Contains(got, e.MessageID) {
			got = append(got, e.MessageID)
		}
	}
	if !slices.Equal(got, ids) {
		t.Error("out of order")
	}
}

func parsed(b []byte) gjson.Result {
	if !gjson.ValidBytes(b) {
		return gjson.Result{}
	}
	return gjson.ParseBytes(b)
}

package teams

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/teams/teamstest"
	"tri/lib/record/event"
)

// TestNotifications: with public_url, messages also arrive from Graph, each once, and the bot's own
// without delay.
func TestNotifications(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	w.listens(&o)
	o.PublicURL = "http://" + o.Listener.Addr().String()
	o.Sweep = time.Hour
	w.server.SetEndpoint("") // no activities
	heard := run(t, o)
	id := w.Say(dev, "ana", "", "by notification")
	if e := heard(); e.MessageID != id || e.Content != "by notification" ||
		e.Sender.ID != teamstest.PersonID("ana") {
		t.Errorf("heard %+v", e)
	}
	posted, err := w.Sink().Post(t.Context(),
		chat.Post{ChatID: dev, ThreadID: id, Text: "an answer", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if e := heard(); e.MessageID != posted.MessageID || e.Sender.Type != "bot" || e.ThreadID == nil ||
		*e.ThreadID != id {
		t.Errorf("heard %+v", e)
	}
}

// run starts a source and returns a function that returns its events one by one.
func run(t *testing.T, o Options) func() event.Event {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	events, ended, up := make(chan event.Event, 1000), make(chan error, 1), make(chan bool, 100)
	go func() {
		ended <- c.Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(on bool) {
			up <- on
		}, Event: func(e event.Event) error { events <- e; return nil }})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-up:
	case <-time.After(20 * time.Second):
		t.Fatal("never up")
	}
	return func() event.Event {
		t.Helper()
		select {
		case e := <-events:
			return e
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is heard")
		}
		return event.Event{}
	}
}

// TestWho: messages of guests, of private chats that are not named, and of chats that are not
// watched are ignored.
func TestWho(t *testing.T) {
	w := newWorld(t)
	w.server.Guest("eve")
	o := w.options()
	o.Chats = nil
	w.listens(&o)
	heard := run(t, o)
	w.Say(dev, "eve", "", "from outside")
	w.Say("a:private", "ana", "", "in private")
	w.Say("19:x_y@unq.gbl.spaces", "ana", "", "in private too")
	id := w.Say(dev, "ana", "", "from inside")
	if e := heard(); e.MessageID != id || e.ChatName != "dev" {
		t.Errorf("heard %+v", e)
	}
}

// TestDenied: without permission in Graph live events still arrive, including edits, but no post
// can be proved.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	w.server.Deny()
	o := w.options()
	w.listens(&o)
	heard := run(t, o)
	id := w.Say(dev, "ana", "", "one")
	heard()
	w.Edit(dev, id, "two")
	if e := heard(); e.Content != "two" || e.EditedAt == "" {
		t.Errorf("heard %+v", e)
	}
	s := w.Sink()
	if _, proof, err := s.Find(t.Context(),
		chat.Post{ChatID: dev, ThreadID: id, Text: "x", Key: "k",
			Tried: time.Now()}); proof != chat.Unprovable || err != nil {
		t.Errorf("proof %v, %v", proof, err)
	}
	if _, _, err := s.Message(t.Context(), dev, id); !errors.Is(err, chat.ErrUnsupported) {
		t.Errorf("message: %v", err)
	}
}

// TestSignals: cards, clicks, edits; an expired token is renewed.
func TestSignals(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	s, err := NewSink(w.options())
	if err != nil {
		t.Fatal(err)
	}
	root := w.Say(dev, "ana", "", "a question")
	card := chat.Card{ChatID: dev, ThreadID: root, Title: "Draft", Text: "**one**\ntwo", Key: "c",
		Buttons: []chat.Button{{Name: "approve", Label: "Approve", Value: "d-1:2", Style: "primary"}}}
	made, err := s.PostCard(ctx, card)
	if err != nil {
		t.Fatal(err)
	}
	w.server.Expire()
	if _, err := s.Post(ctx, chat.Post{ChatID: dev, ThreadID: root, Text: "x", Key: "k"}); !errors.As(err,
		new(*chat.RetryError)) {
		t.Errorf("post with an expired token: %v", err)
	}
	card.Buttons = nil
	if err := s.UpdateCard(ctx, made.MessageID, card); err != nil {
		t.Error(err)
	}
	posted, err := s.Post(ctx, chat.Post{ChatID: dev, ThreadID: root, Text: "working", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Edit(ctx, dev, posted.MessageID, "done"); err != nil {
		t.Error(err)
	}
	if err := s.Typing(ctx, dev, root); err != nil {
		t.Error(err)
	}
	if err := s.React(ctx, dev, root, "👀", true); !errors.Is(err, chat.ErrUnsupported) {
		t.Error(err)
	}
	if got := w.Standing(dev, root); !slices.Contains(got, "done") || slices.Contains(got, "working") {
		t.Errorf("stands %q", got)
	}

	click, err := parseActivity([]byte(`{"type":"invoke","name":"adaptiveCard/action","id":"f:1","timestamp":"2026-11-21T10:00:00Z","replyToId":"17","channelId":"msteams",
		"from":{"id":"29:ana","aadObjectId":"a-1","name":"Ana"},"conversation":{"id":"` + dev +
		`;messageid=16"},
		"value":{"action":{"type":"Action.Execute","verb":"approve","data":{"tri":"d-1:2"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if a := click.actions(); len(a) != 1 || a[0].Name != "approve" || a[0].Value != "d-1:2" ||
		a[0].ChatID != dev || a[0].MessageID != "17" || a[0].Sender.ID != "a-1" {
		t.Errorf("clicked %+v", a)
	}
	liked, err := parseActivity([]byte(`{"type":"messageReaction","id":"f:2","timestamp":"2026-11-21T10:00:00Z","replyToId":"17",
		"from":{"id":"29:ana"},"conversation":{"id":"` + dev +
		`"},"reactionsAdded":[{"type":"like"},{"type":"1f440_eyes"}],"reactionsRemoved":[{"type":"heart"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if a := liked.actions(); len(a) != 3 || a[0].Name != "👍" || a[1].Name != "👀" || !a[2].Removed ||
		a[0].ID == a[1].ID {
		t.Errorf("reacted %+v", a)
	}
}

// TestInsecure: allowed only on addresses that no other machine can reach.
func TestInsecure(t *testing.T) {
	for listen, good := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true,
		":1": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "evil.example:1": false} {
		if _, err := New(Options{AppID: "a", Insecure: true, Listen: listen}); (err == nil) != good {
			t.Errorf("%s: %v", listen, err)
		}
	}
	c, err := New(Options{AppID: "a", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), chat.Resume{}, chattest.Handler{Log: t.Logf}); err == nil {
		t.Error("listens nowhere")
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"<p>one</p>\n<p>&nbsp;</p>\n<p>two</p>": "one\n\ntwo",
		`<div><at id="0">tri</at>&nbsp;where?`:  "@tri where?",
		`<p>see <a href="https://x.example/?a=1&amp;b=2">this</a>, <a href="https://y.example">https://y.example</a></p>`: "see this (https://x.example/?a=1&b=2), https://y.example",
		"<pre><code>a\n  b</code></pre><p>c</p>":                   "a\n  b\nc",
		"<ul><li>one</li><li><p>two</p></li></ul>end":              "- one\n- two\nend",
		`a<br>b<emoji id="x" alt="👍" title="Like"></emoji>`:        "a\nb👍",
		"1 &lt; 2 &amp;&amp; 3 > 2 <3":                             "1 < 2 && 3 > 2 <3",
		"<script>alert(1)</script>x<style>p{}</style>":             "x",
		`<attachment id="1"></attachment><p>quoted</p><!-- no -->`: "quoted",
		"</a></pre></li>x":                                         "\nx",
	} {
		if got := strings.TrimPrefix(plain(in), "\n"); got != strings.TrimPrefix(want, "\n") {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestHTML: a post is found and read back if Graph returns it as HTML.
func TestHTML(t *testing.T) {
	w := newWorld(t)
	w.server.HTML = true
	p := chat.Post{ChatID: dev, ThreadID: w.Say(dev, "ana", "", "?"), Text: "a <b>\n\n  c &amp; d", Key: "k",
		Tried: time.Now()}
	made, err := w.Sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got, proof, err := w.Sink().Find(t.Context(), p); proof != chat.Found ||
		got.MessageID != made.MessageID {
		t.Errorf("proof %v, %v", proof, err)
	}
	if text, _, err := w.Sink().Message(t.Context(), dev, made.MessageID); text != p.Text || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	c, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.o.Listen = l.Addr().String()
	l.Close()
	self, findings := c.Check(t.Context())
	if self.ID != "28:"+teamstest.AppID || len(findings) != 4 || !findings[0].OK ||
		findings[1].Name != "endpoint" || !findings[1].Warn || !findings[2].OK {
		t.Errorf("%+v: %+v", self, findings)
	}
	w.server.Revoke()
	c, _ = New(w.options())
	if _, findings := c.Check(t.Context()); len(findings) != 1 || findings[0].OK || findings[0].Fix == "" {
		t.Errorf("revoked: %+v", findings)
	}
	if !json.Valid([]byte(Guide.Manifest)) {
		t.Error("the manifest is not JSON")
	}
}

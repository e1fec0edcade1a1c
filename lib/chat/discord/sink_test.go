package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/discord/discordtest"
)

func (w *world) question(text string) chat.Post {
	root := w.server.Say(discordtest.Dev, "ana", text, nil)
	return chat.Post{ChatID: discordtest.Dev, ThreadID: root, ReplyToID: root, Text: "It is 5.", Key: "k-1"}
}

// TestThreadIsBegun: a new thread is named after the question.
func TestThreadIsBegun(t *testing.T) {
	w := newWorld(t)
	p := w.question("<@" + discordtest.Bot + ">  where is the\tretry limit? " +
		strings.Repeat("long ", 40) + "\nmore")
	got, err := w.sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ms := w.server.Messages(p.ThreadID)
	m := ms[len(ms)-1]
	if m.ID != got.MessageID || m.Data["flags"] != float64(flagSuppressEmbed) ||
		m.Data["message_reference"] != nil {
		t.Errorf("posted %+v", m)
	}
	var th place
	if err := w.client().get(t.Context(), "channels/"+p.ThreadID, nil, &th); err != nil ||
		!strings.HasPrefix(th.Name, "@tri where is the retry limit? long") || len([]rune(th.Name)) > 100 {
		t.Errorf("the thread is called %q (%v)", th.Name, err)
	}
}

// TestNoThread: without the permission to start a thread the answer is a reply, and is found as
// one, even if a thread was started later.
func TestNoThread(t *testing.T) {
	w := newWorld(t)
	w.server.Deny = mayBegin
	p := w.question("where?")
	got, err := w.sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ms := w.server.Messages(discordtest.Dev)
	if ref, _ := ms[len(ms)-1].Data["message_reference"].(discordtest.M); ref["message_id"] != p.ReplyToID {
		t.Errorf("posted %+v", ms[len(ms)-1])
	}
	for range 2 {
		found, proof, err := w.sink().Find(t.Context(), p)
		if err != nil || proof != chat.Found || found.MessageID != got.MessageID {
			t.Errorf("found %+v, %v, %v", found, proof, err)
		}
		w.server.Thread(p.ThreadID, "later")
	}
}

// TestNonce: while the nonce is remembered, a second post returns the first. Find does not wait
// then; later it waits only until no part of the attempt can be in progress.
func TestNonce(t *testing.T) {
	w := newWorld(t)
	p := w.question("where?")
	first, err := w.sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.sink().Post(t.Context(), p)
	if err != nil || second.MessageID != first.MessageID {
		t.Errorf("posted %v, then %v (%v)", first, second, err)
	}
	other := p
	other.Key = "k-2"
	if third, err := w.sink().Post(t.Context(), other); err != nil || third.MessageID == first.MessageID {
		t.Errorf("another key: %v (%v)", third, err)
	}
	now := time.Now()
	for age, want := range map[time.Duration]time.Duration{0: 0, 30 * time.Second: 0,
		remembered: abandoned - remembered, 90 * time.Second: 30 * time.Second, abandoned: 0, time.Hour: 0} {
		slept := time.Duration(0)
		o := w.options()
		o.Now = func() time.Time { return now }
		o.Sleep = func(_ context.Context, d time.Duration) error { slept += d; return nil }
		s, err := NewSink(o)
		if err != nil {
			t.Fatal(err)
		}
		absent := p
		absent.Text, absent.Tried, absent.Own = "never said", now.Add(-age), true
		if _, proof, err := s.Find(t.Context(), absent); proof != chat.Absent || err != nil || slept != want {
			t.Errorf("tried %v ago: %v, %v, waited %v, want %v", age, proof, err, slept, want)
		}
	}
	// The same text, posted long before the attempt, is another answer.
	late := p
	late.Key, late.Tried = "k-3", now.Add(2*time.Minute)
	if _, proof, err := w.sink().Find(t.Context(), late); proof != chat.Absent || err != nil {
		t.Errorf("an older answer that says the same: %v, %v", proof, err)
	}
}

// TestErrorsOfPost: how each response to a post is classified.
func TestErrorsOfPost(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   string
	}{
		{401, `{"code":0,"message":"401: Unauthorized"}`, "retry"},
		{403, `{"code":50013,"message":"Missing Permissions"}`, "refused"},
		{403, `{"code":160005,"message":"Thread is locked"}`, "refused"},
		{403, `<html>cloudflare`, "retry"},
		{404, `{"code":10003,"message":"Unknown Channel"}`, "refused"},
		{404, `not found`, "retry"},
		{400, `{"code":50035,"message":"Invalid Form Body"}`, "refused"},
		{400, `{"code":20028,"message":"slowmode"}`, "retry"},
		{429, `{"message":"slow","retry_after":7.5,"global":true}`, "retry"},
		{500, `{}`, "unknown"},
		{502, `<html>`, "unknown"},
		{200, `{}`, "unknown"},
		{200, `{`, "unknown"},
		{301, ``, "retry"},
	} {
		w := newWorld(t)
		p := w.question("where?")
		w.server.Thread(p.ThreadID, "t")
		o := w.options()
		o.HTTP = &http.Client{Transport: answering(func(r *http.Request) *http.Response {
			if r.Method != http.MethodPost {
				return nil
			}
			return response(tt.status, tt.body)
		})}
		s, err := NewSink(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Post(t.Context(), p)
		got, again := "unknown", (*chat.RetryError)(nil)
		switch {
		case err == nil:
			got = "posted"
		case chat.IsRefused(err):
			got = "refused"
		case errors.As(err, &again):
			got = "retry"
		}
		if got != tt.want || tt.status == 429 && again.After < 7*time.Second {
			t.Errorf("%d %s: %s (%v), want %s", tt.status, tt.body, got, err, tt.want)
		}
	}
}

// TestMessageInThread: a message is found in any thread of the chat, including archived ones and
// those of a forum.
func TestMessageInThread(t *testing.T) {
	w := newWorld(t)
	root := w.server.Say(discordtest.Dev, "ana", "where?", nil)
	w.server.Thread(root, "where?")
	reply := w.server.Say(root, "ben", "there, <@"+discordtest.Bot+">", nil)
	w.server.Thread(w.server.Say(discordtest.Dev, "ana", "another", nil), "another")
	w.server.Archive(root)
	post := w.server.Post("ana", "title", "a question")
	for id, in := range map[string][2]string{reply: {discordtest.Dev, "there, @tri"},
		root: {discordtest.Dev, "where?"}, post: {discordtest.Forum, "a question"}} {
		text, gone, err := w.sink().Message(t.Context(), in[0], id)
		if err != nil || gone || text != in[1] {
			t.Errorf("message %s: %q, gone %v, %v; want %q", id, text, gone, err, in[1])
		}
	}
	for _, id := range []string{"1", "x", "9" + reply} {
		if _, gone, err := w.sink().Message(t.Context(), discordtest.Dev, id); err != nil || !gone {
			t.Errorf("message %s: gone %v, %v", id, gone, err)
		}
	}
}

// TestSignals: reactions, typing, edits and cards.
func TestSignals(t *testing.T) {
	w := newWorld(t)
	s, p := w.sink(), w.question("where?")
	posted, err := s.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	must("react", s.React(t.Context(), discordtest.Dev, p.ThreadID, "👀", true))
	must("react", s.React(t.Context(), discordtest.Dev, p.ThreadID, "👀", false))
	must("react in the thread", s.React(t.Context(), discordtest.Dev, posted.MessageID, "❤️", true))
	if got, want := w.server.Reacted(), []string{"+👀 " + p.ThreadID, "-👀 " + p.ThreadID,
		"+❤️ " + posted.MessageID}; !slices.Equal(got, want) {
		t.Errorf("reactions %q, want %q", got, want)
	}
	must("typing", s.Typing(t.Context(), discordtest.Dev, p.ThreadID))
	must("edit", s.Edit(t.Context(), discordtest.Dev, posted.MessageID, "It is 6."))
	if text, _, _ := s.Message(t.Context(), discordtest.Dev, posted.MessageID); text != "It is 6." {
		t.Errorf("edited to %q", text)
	}
	if err := s.Edit(t.Context(), discordtest.Dev, p.ThreadID, "mine"); err == nil {
		t.Error("somebody else's message was edited")
	}
	card := chat.Card{ChatID: discordtest.Help, Title: "A draft", Text: "@everyone look", Key: "c-1",
		Buttons: []chat.Button{
			{Name: "approve", Label: "Approve", Value: "v", Style: "primary"},
			{Name: "dismiss", Label: "No", Value: "v", Style: "danger"}}}
	dealt, err := s.PostCard(t.Context(), card)
	must("deal", err)
	again, err := w.sink().PostCard(t.Context(), card)
	if must("deal again", err); again.MessageID != dealt.MessageID ||
		w.Pings(discordtest.Help, dealt.MessageID) {
		t.Errorf("dealt %v, then %v", dealt, again)
	}
	rows, _ := w.server.Messages(discordtest.Help)[0].Data["components"].([]any)
	if len(rows) != 1 || len(rows[0].(discordtest.M)["components"].([]any)) != 2 {
		t.Errorf("buttons are %v", rows)
	}
	card.Buttons, card.Text = nil, "approved"
	must("redeal", w.sink().UpdateCard(t.Context(), dealt.MessageID, card))
	if m := w.server.Messages(discordtest.Help)[0]; len(m.Data["components"].([]any)) != 0 ||
		m.Data["content"] != "**A draft**\napproved" {
		t.Errorf("settled as %+v", m.Data)
	}
	card.Title = ""
	must("redeal without title", w.sink().UpdateCard(t.Context(), dealt.MessageID, card))
	if m := w.server.Messages(discordtest.Help)[0]; m.Data["content"] != "approved" {
		t.Errorf("without title: %+v", m.Data)
	}
	card.Buttons = []chat.Button{{Name: "approve", Value: strings.Repeat("x", 100)}}
	if _, err := s.PostCard(t.Context(), card); err == nil {
		t.Error("a button that carries 108 characters was dealt")
	}
}

// TestNoHistory: without the permission to read the history it is empty. That does not prove a post
// absent or a message deleted.
func TestNoHistory(t *testing.T) {
	w := newWorld(t)
	p := w.question("where?")
	if _, err := w.sink().Post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	e := w.hear(w.options(), nil, nil)
	id := w.server.Say(discordtest.Dev, "ana", "it stands", nil)
	e.message(id)
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	w.server.Deny = mayReadBack
	w.server.Forget()
	if _, proof, _ := w.sink().Find(t.Context(), p); proof != chat.Unprovable {
		t.Errorf("proof %v, want Unprovable", proof)
	}
	again := w.hear(w.options(), e.last(), e.memory)
	again.message(w.server.Say(discordtest.Help, "ana", "the end", nil))
	if es := again.of(id); len(es) > 0 {
		t.Errorf("it came as %+v", es)
	}
}

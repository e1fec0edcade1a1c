package chattest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// Sink runs the tests that every sink must pass.
func Sink(t *testing.T, f Factory) {
	t.Run("Post", func(t *testing.T) { post(t, f(t)) })
	t.Run("Find", func(t *testing.T) { findPost(t, f(t)) })
	t.Run("Message", func(t *testing.T) { message(t, f(t)) })
	t.Run("Texts", func(t *testing.T) { sentTexts(t, f(t)) })
	t.Run("Refused", func(t *testing.T) { refused(t, f(t)) })
	t.Run("NoPing", func(t *testing.T) { noPing(t, f(t)) })
}

func ask(w World) chat.Post {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where is the retry limit?")
	return chat.Post{ChatID: c, ThreadID: root, ReplyToID: root, Text: "It is 5: client.go:42.", Key: "k-1"}
}

func send(t *testing.T, w World, p chat.Post) chat.Posted {
	t.Helper()
	got, err := w.Sink().Post(context.Background(), p)
	// Nothing was posted, for example because a server has not noticed the end of the previous
	// connection: retry.
	for end := time.Now().Add(20 * time.Second); errors.As(err, new(*chat.RetryError)) &&
		time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		got, err = w.Sink().Post(context.Background(), p)
	}
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	if got.MessageID == "" {
		t.Fatal("post: no message id")
	}
	if age := time.Since(got.At); age > time.Hour || age < -time.Hour {
		t.Errorf("posted at %v, now is %v", got.At, time.Now())
	}
	return got
}

// post: a reply arrives as a message of the bot, in the thread, once.
func post(t *testing.T, w World) {
	l := listen(t, w, nil)
	p := ask(w)
	got := send(t, w, p)
	if !has(w, Own) {
		l.message(p.ChatID, w.Say(p.ChatID, "ana", p.ThreadID, "thanks"))
		if es := l.heard(); find(es, p.ChatID, got.MessageID) != nil || count(es, "bot") != 0 {
			t.Errorf("the bot hears itself:\n%s", list(es))
		}
		return
	}
	e := l.message(p.ChatID, got.MessageID)
	id, _ := w.Bot()
	if e.Sender.Type != "bot" || e.Sender.ID != id {
		t.Errorf("own message is of %+v, want the bot %s", e.Sender, id)
	}
	threaded := e.ThreadID != nil && *e.ThreadID == p.ThreadID
	if e.Content != p.Text || e.ChatID != p.ChatID || has(w, Threads) && !threaded {
		t.Errorf("posted %+v, came as %+v", p, e)
	}
	after := l.message(p.ChatID, w.Say(p.ChatID, "ana", p.ThreadID, "thanks"))
	n := 0
	for _, e := range l.heard() {
		if e.Sender.Type == "bot" {
			n++
		}
	}
	if n != 1 || after.Sender.Type != "user" {
		t.Errorf("%d messages of the bot, want 1", n)
	}
}

// findPost: a new program finds a post by its key, in its thread; a key that was never used is
// provably absent, whatever else was posted.
func findPost(t *testing.T, w World) {
	needs(t, w, Memory)
	ctx := context.Background()
	p := ask(w)
	if _, proof, err := w.Sink().Find(ctx, p); err != nil || proof != chat.Absent {
		t.Fatalf("before the post: proof %v, %v, want Absent", proof, err)
	}
	tried(w, &p)
	posted := send(t, w, p)
	other := p
	other.Key, other.Text = "k-2", "Another part."
	tried(w, &other)
	second := send(t, w, other)
	for _, c := range []struct {
		p    chat.Post
		want chat.Posted
	}{{p, posted}, {other, second}} {
		got, proof, err := w.Sink().Find(ctx, c.p)
		if err != nil || proof != chat.Found || got.MessageID != c.want.MessageID {
			t.Errorf("find %s: %+v, proof %v, %v, want message %s", c.p.Key, got, proof, err,
				c.want.MessageID)
		}
	}
	for _, key := range []string{"k", "k-", "k-11", "never-used"} {
		unknown := p
		unknown.Key = key
		if !has(w, Keys) {
			unknown.Text = "Never said, " + key
		}
		if got, proof, err := w.Sink().Find(ctx, unknown); err != nil || proof != chat.Absent {
			t.Errorf("find %s: %+v, proof %v, %v, want Absent", key, got, proof, err)
		}
	}
}

// tried sets p.Tried to now, if Find needs it.
func tried(w World, p *chat.Post) {
	if !has(w, Keys) {
		p.Tried, p.Own = time.Now(), true
	}
}

// message: reading back returns the text as the source does, includes edits, and reports when the
// message is deleted.
func message(t *testing.T, w World) {
	if !has(w, Memory) {
		if _, _, err := w.Sink().Message(context.Background(), w.Chats()[0], "1"); !errors.Is(err,
			chat.ErrUnsupported) {
			t.Errorf("message: %v, want ErrUnsupported", err)
		}
		return
	}
	ctx := context.Background()
	c := w.Chats()[0]
	id := w.Say(c, "ana", "", `a "question"?`)
	read := func(wantText string, wantGone bool) {
		t.Helper()
		text, gone, err := w.Sink().Message(ctx, c, id)
		if err != nil || gone != wantGone || !gone && text != wantText {
			t.Errorf("message: %q, gone %v, %v; want %q, gone %v", text, gone, err, wantText, wantGone)
		}
	}
	read(`a "question"?`, false)
	if has(w, Edits) {
		w.Edit(c, id, "another question?")
		read("another question?", false)
	}
	if has(w, Deletions) {
		w.Delete(c, id)
		read("", true)
	}
}

// sentTexts: the approved bytes are shown unchanged. Control characters may be replaced by visible
// symbols; reading back and receiving yield the same text.
func sentTexts(t *testing.T, w World) {
	l := listen(t, w, nil)
	p := ask(w)
	all := map[string]string{
		"lines":       "one\ntwo\n\nfour\n  indented\n\ttabbed\nend",
		"grammar":     "ana: not a message\nben >0 [k-9]: nor this\ntri !0: nor this",
		"backslashes": "a \\\nb \\ \n\\\nend \\",
		"list":        "- one\n- two\n\n1. three",
	}
	maps.Copy(all, texts)
	i := 0
	check := func(name, text string) {
		i++
		p.Key, p.Text = fmt.Sprintf("text-%d", i), text
		tried(w, &p)
		posted := send(t, w, p)
		if f, ok := w.(Faulty); ok && !has(w, Own) {
			if all := f.Standing(p.ChatID, p.ThreadID); len(all) != i || all[i-1] != w.Sees(text) {
				t.Errorf("%s: posted %.80q, %d stand there", name, text, len(all))
			}
			return
		}
		e := l.message(p.ChatID, posted.MessageID)
		if want := w.Sees(text); e.Content != want {
			t.Errorf("%s: posted %.80q, came as %.80q, want %.80q", name, text, e.Content, want)
		}
		if !has(w, Memory) {
			return
		}
		back, gone, err := w.Sink().Message(context.Background(), p.ChatID, posted.MessageID)
		if err != nil || gone || back != e.Content {
			t.Errorf("%s: read back %.80q (gone %v, %v), the source gave %.80q", name, back, gone,
				err, e.Content)
		}
		if got, proof, err := w.Sink().Find(context.Background(), p); err != nil || proof != chat.Found ||
			got.MessageID != posted.MessageID {
			t.Errorf("%s: find: %+v, proof %v, %v", name, got, proof, err)
		}
	}
	for name, text := range all {
		if name == "long" && !has(w, Long) || strings.Contains(text, "\n") && !has(w, Lines) {
			continue
		}
		if w.Sees(text) != text && (name != "emoji" || has(w, Emoji)) {
			t.Errorf("%s: the platform must hold %.80q, gives %.80q", name, text, w.Sees(text))
		}
		check(name, text)
	}
	check("control", "bell \a escape \x1b[31mred\x1b[0m return \r null \x00 del \x7f csi \u009b end")
	check("bidi", "user \u202e txt.exe \u2066 x \u2028 y")

	// No part of a post became a message of its own.
	if es := l.heard(); has(w, Own) && count(es, "bot") != i {
		t.Errorf("%d posts came as %d messages of the bot:\n%s", i, count(es, "bot"), list(es))
	}
}

func count(es []event.Event, senderType string) int {
	n := 0
	for _, e := range es {
		if e.Sender.Type == senderType {
			n++
		}
	}
	return n
}

// refused: an impossible post is reported as refused and is not made.
func refused(t *testing.T, w World) {
	ctx := context.Background()
	p := ask(w)
	nowhere := p
	nowhere.ChatID = "no-such-chat"
	long := p
	long.Text = strings.Repeat("é", w.Sink().Limit()+1)
	for name, bad := range map[string]chat.Post{"unknown chat": nowhere, "over the limit": long} {
		if _, err := w.Sink().Post(ctx, bad); !chat.IsRefused(err) {
			t.Errorf("%s: %v, want refused", name, err)
		}
	}
	if _, proof, err := w.Sink().Find(ctx, p); has(w, Memory) && (err != nil || proof != chat.Absent) {
		t.Errorf("after refusals: proof %v, %v, want Absent", proof, err)
	}
	full := p
	full.Text = strings.Repeat("é", w.Sink().Limit())
	send(t, w, full)
}

// noPing: a draft with a mass mention notifies nobody.
func noPing(t *testing.T, w World) {
	p := ask(w)
	for i, text := range []string{"@all look", "ask @channel", "@here", "@everyone!", "<!channel> hi",
		"<!here>", "@room"} {
		p.Key, p.Text = fmt.Sprintf("ping-%d", i), text
		posted, err := w.Sink().Post(context.Background(), p)
		if chat.IsRefused(err) {
			continue
		}
		if err != nil {
			t.Fatalf("post %q: %v", text, err)
		}
		if w.Pings(p.ChatID, posted.MessageID) {
			t.Errorf("%q alerts everybody", text)
		}
	}
}

package chattest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/record/event"
)

// Source runs the tests that every source must pass.
func Source(t *testing.T, f Factory) {
	t.Run("Missed", func(t *testing.T) { missed(t, f(t)) })
	t.Run("MissedChanges", func(t *testing.T) { missedChanges(t, f(t)) })
	t.Run("NotDurable", func(t *testing.T) { notDurable(t, f(t)) })
	t.Run("Order", func(t *testing.T) { order(t, f(t)) })
	t.Run("Shape", func(t *testing.T) { shape(t, f(t)) })
	t.Run("Changes", func(t *testing.T) { changed(t, f(t)) })
	t.Run("Threads", func(t *testing.T) { threads(t, f(t)) })
	t.Run("Mention", func(t *testing.T) { mention(t, f(t)) })
	t.Run("Typing", func(t *testing.T) { typing(t, f(t)) })
	t.Run("Texts", func(t *testing.T) { heardTexts(t, f(t)) })
}

// missed: messages posted while no source was running are emitted, in order, in every chat and
// inside threads.
func missed(t *testing.T, w World) {
	needs(t, w, History)
	chats := w.Chats()
	l := listen(t, w, nil)
	root := w.Say(chats[0], "ana", "", "before")
	l.message(chats[0], root)
	before := l.stop()

	want := map[string][]string{}
	for i := range 5 {
		for _, c := range chats {
			want[c] = append(want[c], w.Say(c, "ben", "", fmt.Sprintf("missed %d", i)))
		}
	}
	want[chats[0]] = append(want[chats[0]], w.Say(chats[0], "ana", root, "missed in a thread"))

	l = listen(t, w, before)
	es := l.until("what was missed", func(es []event.Event) bool {
		return find(es, chats[0], want[chats[0]][5]) != nil && find(es, chats[1], want[chats[1]][4]) != nil
	})
	for _, c := range chats {
		// from before, posted too early to be received
		got := slices.DeleteFunc(ids(es, c), func(id string) bool {
			return strings.HasPrefix(find(es, c, id).Content, "warming up")
		})
		if !slices.Equal(got, want[c]) {
			t.Errorf("chat %s: missed %v, emitted %v", c, want[c], got)
		}
	}
}

// missedChanges: so are edits and deletions, also of old messages.
func missedChanges(t *testing.T, w World) {
	needs(t, w, History, Edits)
	c := w.Chats()[0]
	l := listen(t, w, nil)
	edited := w.Say(c, "ana", "", "to be edited")
	deleted := w.Say(c, "ana", "", "to be deleted")
	l.message(c, edited)
	l.message(c, deleted)
	before := l.stop()

	w.Edit(c, edited, "edited while nobody listened")
	deletes := has(w, Deletions) && has(w, Traces)
	if deletes {
		w.Delete(c, deleted)
	}

	l = listen(t, w, before)
	es := l.until("the missed edit and deletion", func(es []event.Event) bool {
		return len(changes(es, c, edited)) > 0 && (!deletes || len(changes(es, c, deleted)) > 0)
	})
	if e := changes(es, c, edited)[0]; e.Content != "edited while nobody listened" || e.Deleted {
		t.Errorf("edit came as %q, deleted %v", e.Content, e.Deleted)
	}
	if !deletes {
		return
	}
	if e := changes(es, c, deleted)[0]; !e.Deleted {
		t.Errorf("deletion came as %+v", e)
	}
}

// notDurable: an event that could not be stored ends the source with the reason, and is emitted
// again at the next start.
func notDurable(t *testing.T, w World) {
	needs(t, w, History)
	c := w.Chats()[0]
	l := listen(t, w, nil)
	refused := errors.New("disk full")
	l.mu.Lock()
	l.refuse = refused
	l.mu.Unlock()
	id := w.Say(c, "ana", "", "cannot be kept")
	select {
	case <-l.ended:
	case <-time.After(patience):
		t.Fatal("the source goes on although the event could not be kept")
	}
	if !errors.Is(l.err, refused) {
		t.Errorf("Run returned %v, want the error of emit", l.err)
	}
	before := l.stop()
	listen(t, w, before).message(c, id)
}

// order: per chat, events are in the order of the messages.
func order(t *testing.T, w World) {
	chats := w.Chats()
	l := listen(t, w, nil)
	want := map[string][]string{}
	for i := range 30 {
		c := chats[i%2]
		want[c] = append(want[c], w.Say(c, []string{"ana", "ben", "chen"}[i%3], "",
			fmt.Sprintf("message %d", i)))
	}
	last := func(c string) string { return want[c][len(want[c])-1] }
	es := l.until("30 messages", func(es []event.Event) bool {
		return find(es, chats[0], last(chats[0])) != nil && find(es, chats[1], last(chats[1])) != nil
	})
	for _, c := range chats {
		got := ids(es, c)
		if n := len(got) - len(want[c]); n < 0 || !slices.Equal(got[n:], want[c]) {
			t.Errorf("chat %s: said %v, emitted %v", c, want[c], got)
		}
	}
}

// shape: the fields that every reader relies on are set.
func shape(t *testing.T, w World) {
	c := w.Chats()[1]
	l := listen(t, w, nil)
	e := l.message(c, w.Say(c, "ana", "", "where is the retry limit?"))
	if e.Platform == "" || e.ChatID != c || e.ChatName == "" || e.MsgType == "" || e.Sender.ID == "" {
		t.Errorf("a field is missing in %+v", e)
	}
	if e.Sender.Type != "user" {
		t.Errorf("a person's sender type is %q", e.Sender.Type)
	}
	if e.Content != "where is the retry limit?" || e.ThreadID != nil || e.EditedAt != "" || e.Deleted ||
		e.Mentions == nil {
		t.Errorf("plain message came as %+v", e)
	}
	at, err := time.Parse(time.RFC3339Nano, e.CreateTime)
	if err != nil || at.Location() != time.UTC {
		t.Errorf("create_time %q is not RFC 3339 in UTC (%v)", e.CreateTime, err)
	}
}

// changed: an edit or deletion is an event of the same message, each with its own identity, even in
// quick succession.
func changed(t *testing.T, w World) {
	needs(t, w, Edits)
	c := w.Chats()[0]
	l := listen(t, w, nil)
	id := w.Say(c, "ana", "", "first")
	l.message(c, id)
	w.Edit(c, id, "second")
	l.until("first edit", func(es []event.Event) bool { return len(changes(es, c, id)) == 1 })
	w.Edit(c, id, "third")
	l.until("second edit", func(es []event.Event) bool { return len(changes(es, c, id)) == 2 })
	es := l.heard()
	if has(w, Deletions) {
		w.Delete(c, id)
		es = l.until("deletion", func(es []event.Event) bool { return len(changes(es, c, id)) == 3 })
	}

	got := changes(es, c, id)
	for i, text := range []string{"second", "third"} {
		if e := got[i]; e.Content != text || e.EditedAt == "" || e.Deleted || e.ChatID != c {
			t.Errorf("edit %d came as %+v", i+1, e)
		}
	}
	if !has(w, Deletions) {
		return
	}
	if e := got[2]; !e.Deleted || e.Content != "" {
		t.Errorf("deletion came as %+v", e)
	}
}

// typing: an indicator names its chat and the person by the id of their messages, and expires.
func typing(t *testing.T, w World) {
	typist, ok := w.(Typist)
	if !ok {
		t.Skip("the platform shows no bot who types")
	}
	c := w.Chats()[0]
	l := listen(t, w, nil)
	said := l.message(c, w.Say(c, "ana", "", "a first line"))
	typist.Type(c, "ana")
	select {
	case got := <-l.typing:
		if left := time.Until(got.ExpiresAt); !got.Is(&said) || got.Kind != "typing" || left <= 0 ||
			left > time.Minute {
			t.Errorf("ana types: reported as %+v", got)
		}
	case <-time.After(patience):
		t.Error("ana types: not reported")
	}
}

// threads: thread_id is the root's id for the reply, for a reply to the reply and for an edit of
// it; chat_id remains the parent chat.
func threads(t *testing.T, w World) {
	needs(t, w, Threads)
	c := w.Chats()[0]
	l := listen(t, w, nil)
	root := w.Say(c, "ana", "", "a question")
	reply := w.Say(c, "ben", root, "an answer")
	later := w.Say(c, "ana", root, "thanks")
	l.message(c, later)
	w.Edit(c, reply, "a better answer")
	es := l.until("edit of the reply", func(es []event.Event) bool { return len(changes(es, c, reply)) == 1 })
	for _, e := range append(changes(es, c, reply), *find(es, c, reply), *find(es, c, later)) {
		if e.ThreadID == nil || *e.ThreadID != root || e.ChatID != c {
			t.Errorf("%q: thread %v in chat %s, want %s in %s", e.Content, e.ThreadID, e.ChatID, root, c)
		}
		if r := find(es, c, root); r.Key() != e.Key() {
			t.Errorf("%q: key %s, its root has %s", e.Content, e.Key(), r.Key())
		}
	}
}

// mention: a message that addresses the bot mentions it.
func mention(t *testing.T, w World) {
	c := w.Chats()[0]
	id, handle := w.Bot()
	l := listen(t, w, nil)
	e := l.message(c, w.Say(c, "ana", "", handle+" where is the retry limit?"))
	if !slices.Contains(e.Mentions, id) {
		t.Errorf("%q mentions %v, want %s in it", e.Content, e.Mentions, id)
	}
	if e := l.message(c, w.Say(c, "ana", "", "nobody in particular")); len(e.Mentions) != 0 {
		t.Errorf("%q mentions %v", e.Content, e.Mentions)
	}
}

// heardTexts: messages arrive byte for byte.
func heardTexts(t *testing.T, w World) {
	c := w.Chats()[0]
	l := listen(t, w, nil)
	for name, text := range texts {
		if name == "long" && !has(w, Long) {
			continue
		}
		want := text
		if h, ok := w.(interface{ Hears(text string) string }); ok {
			want = h.Hears(text) // the text as the platform lets a person write it
		}
		if e := l.message(c, w.Say(c, "ana", "", text)); e.Content != want {
			t.Errorf("%s: said %.80q, came as %.80q", name, text, e.Content)
		}
	}
}

// ids returns the messages of a chat in the order of their first events.
func ids(es []event.Event, chatID string) []string {
	var out []string
	for _, e := range es {
		if e.ChatID == chatID && !slices.Contains(out, e.MessageID) {
			out = append(out, e.MessageID)
		}
	}
	return out
}

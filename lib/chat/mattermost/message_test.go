package mattermost

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

var update = flag.Bool("update", false, "rewrite the expected events")

// known is a client that knows the people and the chat of testdata, and has no server.
func known(t *testing.T) *Client {
	t.Helper()
	c, err := New(Options{URL: "https://chat.example.test/mm", Token: "t", Now: func() time.Time {
		return time.UnixMilli(1795251840999)
	}})
	if err != nil {
		t.Fatal(err)
	}
	self := user{ID: "c67kji6hgjgyferdzz8pjop8mw", Username: "tri", IsBot: true}
	c.self.Put("", self)
	for _, u := range []user{self, {ID: "cfjzbcypotboi85sn4y6cw7esh", Username: "ana"},
		{ID: "hegf79pp1pdimgxemc3csdzgzh", Username: "ben"},
		{ID: "3gzthjkembnaim5t4htbkxxtdw", Username: "theadmin"}} {
		c.learn(u)
	}
	c.rooms.Put("6bwdybw6wtnjz8myft7q3imrph",
		room{ID: "6bwdybw6wtnjz8myft7q3imrph", Type: "O", Name: "dev", DisplayName: "Dev"})
	return c
}

func golden(t *testing.T, name string, events []event.Event) {
	t.Helper()
	var got bytes.Buffer
	for _, e := range events {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(b, '\n'))
	}
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v; got\n%swant\n%s", err, got.String(), want)
	}
}

// TestFrames: frames recorded from server 9.9 (names shortened) become the events of the golden
// file.
func TestFrames(t *testing.T) {
	c := known(t)
	var events []event.Event
	l := c.listening(chat.Resume{}, chattest.Handler{Log: t.Errorf, Event: func(e event.Event) error {
		events = append(events, e)
		return nil
	}})
	text, err := os.ReadFile("testdata/frames.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		if f.Event == "hello" {
			l.connection = f.connectionID()
		}
		f.Seq = 0 // numbers are tested elsewhere
		var b session.Batch
		if err := errors.Join(l.parse(t.Context(), f, &b), l.commit(&b)); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "testdata/frames-events.ndjson", events)
}

// TestSince: so does a recorded response to since, with a deleted thread and the old version of an
// edited post.
func TestSince(t *testing.T) {
	c := known(t)
	text, err := os.ReadFile("testdata/since.json")
	if err != nil {
		t.Fatal(err)
	}
	var answer list
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	for _, id := range answer.Order {
		p := answer.Posts[id]
		if p.old() {
			continue
		}
		e, err := c.event(t.Context(), &p, nil)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	golden(t, "testdata/since-events.ndjson", events)
}

func TestOneDeletionOneIdentity(t *testing.T) {
	c := known(t)
	self, _ := c.self.Get("")
	told := event.Event{}
	for i, at := range []int64{1795251840300, 1795251840999} {
		e, err := c.event(t.Context(), &post{ID: "k9baudc3z788jqrse7ci8fz5ea",
			ChannelID: "6bwdybw6wtnjz8myft7q3imrph", UserID: self.ID, CreateAt: 1, DeleteAt: at}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && e.Identity() != told.Identity() {
			t.Errorf("told at %s it is %q, at %s %q", told.EditedAt, told.Identity(), e.EditedAt,
				e.Identity())
		}
		told = e
	}
}

func TestSender(t *testing.T) {
	c := known(t)
	self, _ := c.self.Get("")
	ana := "cfjzbcypotboi85sn4y6cw7esh"
	for _, tt := range []struct {
		name  string
		id    string
		props map[string]any
		want  event.Sender
	}{
		{"person", ana, nil, event.Sender{ID: ana, Type: "user", Name: "ana"}},
		{"self", self.ID, nil, event.Sender{ID: self.ID, Type: "bot", Name: "tri"}},
		{"bot", ana, map[string]any{"from_bot": "true"}, event.Sender{ID: ana, Type: "bot", Name: "ana"}},
		{"webhook", ana, map[string]any{"from_webhook": "true", "override_username": "ci"},
			event.Sender{ID: ana, Type: "bot", Name: "ci"}},
		{"borrowed name", ana, map[string]any{"override_username": "boss"},
			event.Sender{ID: ana, Type: "user", Name: "ana"}},
	} {
		got, err := c.sender(t.Context(), &post{UserID: tt.id, Props: tt.props}, self)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestKind(t *testing.T) {
	files := func(mime string) (p post) {
		p.Metadata.Files = []file{{MIME: mime}}
		return p
	}
	reply := files("image/png")
	reply.Message, reply.RootID = "look", "root"
	image, pdf := files("image/png"), files("application/pdf")
	for _, tt := range []struct {
		p    post
		want string
	}{
		{post{Message: "x"}, "text"},
		{post{Message: "x", RootID: "r"}, "thread_reply"},
		{post{Message: "x joined", Type: "system_join_channel"}, "system"},
		{post{Message: "waves", Type: "me"}, "text"},
		{image, "image"}, {pdf, "file"}, {reply, "thread_reply"},
	} {
		if got := tt.p.kind(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.p, got, tt.want)
		}
	}
}

func TestHandles(t *testing.T) {
	for _, tt := range []struct {
		text string
		want [][]string
	}{
		{"nobody", nil},
		{"@tri where", [][]string{{"tri"}}},
		{"ask @Ana.Maria, or @ben.", [][]string{{"ana.maria"}, {"ben.", "ben"}}},
		{"(@tri) @tri-_.: x", [][]string{{"tri"}, {"tri-_.", "tri-_", "tri-", "tri"}}},
		{"mail ana@example.test or @@ben", nil},
		{"@", nil}, {"@-x", nil}, {"是@tri吗", [][]string{{"tri"}}},
	} {
		if got := handles(tt.text); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzHandles(f *testing.F) {
	f.Add("ask @Ana.Maria, or @ben.")
	f.Add("@a@b @@c \xff@d")
	f.Fuzz(func(t *testing.T, text string) {
		found := handles(text)
		if len(found) > maxMentions {
			t.Errorf("%d handles", len(found))
		}
		for _, forms := range found {
			if len(forms) == 0 || slices.Contains(forms, "") {
				t.Errorf("%q: %q", text, forms)
			}
		}
	})
}

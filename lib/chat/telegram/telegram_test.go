package telegram

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/telegram/telegramtest"
	"tri/lib/record/event"
)

// hearing is a source that knows its bot and has no server.
func hearing(t *testing.T, chats ...string) *listening {
	t.Helper()
	c, err := New(Options{Token: "77:x", Chats: chats})
	if err != nil {
		t.Fatal(err)
	}
	c.self.Put("", user{ID: telegramtest.BotID, IsBot: true, Username: "Tri_Bot"})
	return &listening{Client: c, Handler: chattest.Handler{Log: t.Logf}}
}

func TestEvents(t *testing.T) {
	ana := `"from":{"id":5,"first_name":"Ana","last_name":"B"},"date":1700000000`
	group := `"chat":{"id":-1001234,"type":"supergroup","title":"Dev"}`
	for _, tt := range []struct {
		name, update string
		want         func(*event.Event)
	}{
		{"plain", `{"message":{"message_id":7,` + ana + `,` + group + `,"text":"hello"}}`,
			func(e *event.Event) { e.Content = "hello" }},
		{"a reply in a supergroup has its root",
			`{"message":{"message_id":9,"message_thread_id":7,` + ana + `,` + group +
				`,"text":"x","reply_to_message":{"message_id":8,` + group + `}}}`, func(e *event.Event) {
				root := "7"
				e.MessageID, e.Permalink, e.ThreadID, e.ReplyToID, e.MsgType, e.Content = "9",
					"https://t.me/c/1234/9", &root, "8", "thread_reply", "x"
			}},
		{"a topic is not a thread", `{"message":{"message_id":9,"message_thread_id":3,"is_topic_message":true,` +
			ana + `,` + group + `,"text":"x","reply_to_message":{"message_id":3,` + group + `}}}`,
			func(e *event.Event) {
				e.MessageID, e.Permalink, e.Content = "9", "https://t.me/c/1234/9", "x"
			}},
		{"mentions", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"text":"😀 @tri_bot @benben Chen","entities":[{"type":"mention","offset":3,"length":8},{"type":"mention","offset":12,"length":7},{"type":"text_mention","offset":20,"length":4,"user":{"id":9}}]}}`, func(e *event.Event) {
			e.Content, e.Mentions = "😀 @tri_bot @benben Chen", []string{"77", "@benben", "9"}
		}},
		{"a command to the bot", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"text":"/ask@tri_bot x","entities":[{"type":"bot_command","offset":0,"length":12}]}}`,
			func(e *event.Event) {
				e.Content, e.Mentions = "/ask@tri_bot x", []string{"77"}
			}},
		{"links can be read", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"text":"see docs and 😀more.","entities":[{"type":"text_link","offset":13,"length":6,"url":"https://b.test"},{"type":"text_link","offset":4,"length":4,"url":"https://a.test"}]}}`, func(e *event.Event) {
			e.Content = "see docs (https://a.test) and 😀more (https://b.test)."
		}},
		{"forwarded by a person", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"forward_origin":{"type":"user","sender_user":{"id":9,"first_name":"Ben"}},` +
			`"text":"@tri_bot where?\nnever mind","entities":[{"type":"mention","offset":0,"length":8}]}}`,
			func(e *event.Event) { e.Content, e.ForwardedFrom = "> @tri_bot where?\n> never mind", "Ben" }},
		{"forwarded from a channel", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"forward_origin":{"type":"channel","chat":{"id":-5,"title":"News"}},"text":"x"}}`,
			func(e *event.Event) { e.Content, e.ForwardedFrom = "> x", "News" }},
		{"forwarded from one who hides", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"forward_origin":{"type":"hidden_user","sender_user_name":"Cid\u0007"},"text":"x"}}`,
			func(e *event.Event) { e.Content, e.ForwardedFrom = "> x", text.Line("Cid\u0007", 100) }},
		{"the linked channel's post", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"is_automatic_forward":true,"forward_origin":{"type":"channel","chat":{"id":-5}},"text":"x"}}`,
			func(e *event.Event) { e.Content = "x" }},
		{"entities that lie", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"text":"ab","entities":[{"type":"mention","offset":-1,"length":9},{"type":"text_link","offset":1,"length":99,"url":"x"},{"type":"mention","offset":9223372036854775807,"length":9}]}}`, func(e *event.Event) {
			e.Content, e.Mentions = "ab", []string{""}[:0]
		}},
		{"caption and file", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"caption":"the log","document":{"file_id":"f","file_name":"a.log","mime_type":"text/plain","file_size":9}}}`, func(e *event.Event) {
			e.Content, e.Attachments = "the log",
				[]event.Attachment{{ID: "f", Name: "a.log", MIME: "text/plain", Size: 9}}
		}},
		{"photo", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"photo":[{"file_id":"s","file_size":1},{"file_id":"l","file_size":2}]}}`, func(e *event.Event) {
			e.MsgType, e.Attachments = "image",
				[]event.Attachment{{ID: "l", Name: "photo.jpg", MIME: "image/jpeg", Size: 2}}
		}},
		{"another bot", `{"message":{"message_id":7,"from":{"id":6,"is_bot":true,"username":"ci"},"date":1700000000,` + group + `,"text":"built"}}`, func(e *event.Event) {
			e.Content, e.Sender = "built", event.Sender{ID: "6", Type: "bot", Name: "ci"}
		}},
		{"a channel speaks", `{"channel_post":{"message_id":7,"date":1700000000,` + group +
			`,"text":"news"}}`, func(e *event.Event) {
			e.Content, e.Sender = "news", event.Sender{ID: "-1001234", Type: "user", Name: "Dev"}
		}},
		{"somebody joined", `{"message":{"message_id":7,` + ana + `,` + group +
			`,"new_chat_members":[{"id":8}]}}`, func(e *event.Event) { e.MsgType = "system" }},
		{"edited", `{"edited_message":{"message_id":7,"edit_date":1700000005,` + ana + `,` + group +
			`,"text":"hello!"}}`, func(e *event.Event) {
			e.Content, e.EditedAt, e.EditID = "hello!", "2023-11-14T22:13:25Z", editID(1700000005, "hello!")
		}},
	} {
		want := event.Event{
			Platform: "telegram", ChatID: "-1001234", ChatName: "Dev", MessageID: "7",
			CreateTime: "2023-11-14T22:13:20Z", MsgType: "text",
			Sender: event.Sender{ID: "5", Type: "user", Name: "Ana B"}, Mentions: []string{},
			Permalink: "https://t.me/c/1234/7",
		}
		tt.want(&want)
		var u update
		if err := json.Unmarshal([]byte(tt.update), &u); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, ok := hearing(t).event(&u); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

// TestWatched: a private chat must be named; its messages mention the bot.
func TestWatched(t *testing.T) {
	for _, tt := range []struct {
		chats []string
		room  room
		want  bool
	}{
		{nil, room{ID: -5, Type: "group"}, true},
		{nil, room{ID: 5, Type: "private"}, false},
		{[]string{"5"}, room{ID: 5, Type: "private"}, true},
		{[]string{"5"}, room{ID: -5, Type: "group"}, false},
	} {
		if got := hearing(t, tt.chats...).watches(&tt.room); got != tt.want {
			t.Errorf("%v of %v: %v", tt.room, tt.chats, got)
		}
	}
	l := hearing(t, "5")
	e := l.normal(&message{ID: 1, Chat: room{ID: 5, Type: "private"}, From: &user{ID: 5}, Text: "where?"})
	if !reflect.DeepEqual(e.Mentions, []string{"77"}) {
		t.Errorf("said to the bot alone: %v", e.Mentions)
	}
}

// TestTwoEditsInASecond: two edits in one second are different events.
func TestTwoEditsInASecond(t *testing.T) {
	first, second, again := editID(1, "a"), editID(1, "b"), editID(1, "a")
	if first == second || first != again {
		t.Error("edits are confused")
	}
}

func TestActions(t *testing.T) {
	var us []update
	if err := json.Unmarshal([]byte(`[
		{"update_id":1,"callback_query":{"id":"c9","from":{"id":5,"username":"ana"},"data":"approve:abc:1","message":{"message_id":3,"chat":{"id":-5}}}},
		{"update_id":2,"message_reaction":{"chat":{"id":-5},"message_id":3,"date":1700000000,"user":{"id":5},"old_reaction":[{"type":"emoji","emoji":"👀"}],"new_reaction":[{"type":"emoji","emoji":"👍"},{"type":"custom_emoji"}]}},
		{"update_id":3,"message_reaction":{"chat":{"id":-5},"message_id":3,"old_reaction":[],"new_reaction":[{"type":"emoji","emoji":"👍"}]}},
		{"update_id":4,"callback_query":{"id":"","data":"x"}},
		{"update_id":5,"message_reaction":{"chat":{"id":5,"type":"private"},"message_id":3,"date":1700000000,"user":{"id":5},"old_reaction":[],"new_reaction":[{"type":"emoji","emoji":"👍"}]}}]`), &us); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range us {
		for _, a := range hearing(t).actions(&us[i]) {
			got = append(got,
				strings.Join([]string{a.ID, a.ChatID, a.MessageID, a.Sender.ID, a.Name, a.Value}, "|")+
					map[bool]string{true: "|removed"}[a.Removed])
		}
	}
	want := []string{"click c9|-5|3|5|approve|abc:1", "update 2 👍 false|-5|3|5|👍|",
		"update 2 👀 true|-5|3|5|👀||removed"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPostErrors: how each response to a post is classified.
func TestPostErrors(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   string
		after  time.Duration
	}{
		{400, `{"description":"Bad Request: message to be replied not found"}`, "refused", 0},
		{403, `{"description":"Forbidden: bot was kicked"}`, "refused", 0},
		{401, `{"description":"Unauthorized"}`, "retry", time.Minute},
		{429, `{"description":"Too Many","parameters":{"retry_after":17}}`, "retry", 17 * time.Second},
		// redirects are not followed: nothing was posted
		{500, `{}`, "unknown", 0}, {502, `<html>`, "unknown", 0}, {302, ``, "retry", time.Minute},
		{200, `{"ok":true,"result":{}}`, "unknown", 0}, {200, `{`, "unknown", 0},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		c, err := NewSink(Options{URL: srv.URL, Token: "77:x"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Post(t.Context(), chat.Post{ChatID: "-5", ThreadID: "1", ReplyToID: "1",
			Text: "x", Key: "k"})
		srv.Close()
		got, again := "unknown", (*chat.RetryError)(nil)
		switch {
		case err == nil:
			got = "posted"
		case chat.IsRefused(err):
			got = "refused"
		case errors.As(err, &again):
			got = "retry"
		}
		if got != tt.want || again != nil && again.After != tt.after {
			t.Errorf("%d %s: %s (%v), want %s", tt.status, tt.body, got, err, tt.want)
		}
		if strings.Contains(err.Error(), "77:x") {
			t.Errorf("the error tells the token: %v", err)
		}
	}
}

func TestNew(t *testing.T) {
	for _, o := range []Options{{}, {Token: "x"}, {Token: "77:"}, {Token: "77:a/b"}, {Token: "77:a b"},
		{Token: "77:x", Chats: []string{"dev"}}, {Token: "77:x", URL: "nowhere"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		} else if s, _ := sysexit.Of(err); s != sysexit.Config {
			t.Errorf("%+v: status %d", o, s)
		}
	}
}

// TestCard: buttons go out and their clicks would fit back; code is shown as code.
func TestCard(t *testing.T) {
	w := newWorld(t)
	s := w.Sink().(*Sink)
	card := chat.Card{ChatID: w.Chats()[0], Title: "Draft 3", Text: "It is `5`.",
		Buttons: []chat.Button{{Name: "approve", Label: "Approve", Value: strings.Repeat("a", 48)}}}
	got, err := s.PostCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	card.Buttons, card.Text = nil, "Approved by ana."
	if err := s.UpdateCard(t.Context(), got.MessageID, card); err != nil {
		t.Fatal(err)
	}
	if sent := w.server.Sent(); len(sent) != 1 || sent[0].Text != "Draft 3\n\nApproved by ana." {
		t.Errorf("%+v", sent)
	}
	card.Buttons = []chat.Button{{Name: "approve", Value: strings.Repeat("a", 60)}}
	if _, err := s.PostCard(t.Context(), card); err == nil {
		t.Error("a button that cannot come back is dealt")
	}
	if got := code("😀 `x` y ```\na\n```"); len(got) != 2 || got[0]["offset"] != 3 || got[0]["length"] != 3 ||
		got[1]["type"] != "pre" {
		t.Errorf("%v", got)
	}
}

// FuzzUpdates: every update is confirmed once, and no event lacks an id.
func FuzzUpdates(f *testing.F) {
	f.Add(`{"update_id":1,"message":{"message_id":7,"chat":{"id":-5},"text":"x","entities":[{"type":"text_link","offset":0,"length":1,"url":"u"}]}}`)
	f.Add(`{"update_id":1,"edited_message":{"message_id":7,"chat":{"id":-5},"edit_date":9}}`)
	f.Add(`{"update_id":-1}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		l := hearing(t)
		l.Handler = chattest.Handler{Event: func(e event.Event) error {
			if e.ChatID == "" || e.MessageID == "" || e.Platform == "" || e.Mentions == nil {
				t.Errorf("%s came as %+v", raw, e)
			}
			return nil
		}}
		if err := l.take([]json.RawMessage{json.RawMessage(raw)}); err != nil {
			t.Error(err)
		}
	})
}

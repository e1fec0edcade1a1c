package matrix

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/matrix/matrixtest"
	"tri/lib/record/event"
)

// known is a client that knows its room and its people, and has no server.
func known(t *testing.T) *Client {
	t.Helper()
	c, err := New(Options{URL: "http://127.0.0.1:1", Token: "t", Chats: []string{"!dev:a.test"}})
	if err != nil {
		t.Fatal(err)
	}
	c.self.Put("", "@tri:a.test")
	c.rooms.Put("!dev:a.test", room{name: "Dev"})
	for _, p := range []string{"@ana:a.test", "@tri:a.test", "@far:b.test"} {
		c.people.Put(p, strings.Trim(strings.Split(p, ":")[0], "@"))
	}
	c.threads.Put("$1", memo{sender: "@ana:a.test", at: 1700000000000, thread: "$0"})
	return c
}

func TestEvents(t *testing.T) {
	root := "$0"
	for _, tt := range []struct {
		name, in string
		want     func(*event.Event) // nil: no event
	}{
		{"plain", `{"type":"m.room.message","content":{"msgtype":"m.text","body":"hi"}}`,
			func(e *event.Event) { e.Content = "hi" }},
		{"in a thread", `{"type":"m.room.message","content":{"msgtype":"m.text","body":"hi","m.relates_to":{"rel_type":"m.thread","event_id":"$0","is_falling_back":true,"m.in_reply_to":{"event_id":"$5"}}}}`, func(e *event.Event) {
			e.Content, e.ThreadID, e.MsgType = "hi", &root, "thread_reply"
		}},
		{"a reply in a thread",
			`{"type":"m.room.message","content":{"msgtype":"m.text","body":"hi","m.relates_to":{"rel_type":"m.thread","event_id":"$0","m.in_reply_to":{"event_id":"$5"}}}}`, func(e *event.Event) {
				e.Content, e.ThreadID, e.MsgType, e.ReplyToID = "hi", &root, "thread_reply", "$5"
			}},
		{"a reply with its quote",
			`{"type":"m.room.message","content":{"msgtype":"m.text","body":"> <@ben:a.test> where?\n> there?\n\nhere","m.relates_to":{"m.in_reply_to":{"event_id":"$5"}}}}`, func(e *event.Event) {
				e.Content, e.ReplyToID = "here", "$5"
			}},
		{"a mention", `{"type":"m.room.message","content":{"msgtype":"m.text","body":"tri: where?","m.mentions":{"user_ids":["@ben:a.test","@ben:a.test",""]}}}`, func(e *event.Event) {
			e.Content, e.Mentions = "tri: where?", []string{"@ben:a.test", "@tri:a.test"}
		}},
		{"an edit of a reply",
			`{"type":"m.room.message","content":{"msgtype":"m.text","body":"* new","m.new_content":{"msgtype":"m.text","body":"new"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}`, func(e *event.Event) {
				e.MessageID, e.Content, e.ThreadID, e.MsgType, e.EditID, e.EditedAt = "$1", "new", &root,
					"thread_reply", "$9", "2023-11-14T22:13:21.000Z"
				e.CreateTime, e.Permalink = "2023-11-14T22:13:20.000Z", "https://matrix.to/#/%21dev:a.test/$1"
			}},
		{"an edit of what somebody else said",
			`{"sender":"@tri:a.test","type":"m.room.message","content":{"msgtype":"m.text","body":"* new","m.new_content":{"body":"new"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}`, nil},
		{"a deletion", `{"type":"m.room.redaction","redacts":"$1","content":{}}`, func(e *event.Event) {
			e.MessageID, e.ThreadID, e.MsgType, e.Deleted, e.EditID, e.EditedAt = "$1", &root, "thread_reply",
				true, "deleted", "2023-11-14T22:13:21.000Z"
			e.CreateTime, e.Permalink = "2023-11-14T22:13:20.000Z", "https://matrix.to/#/%21dev:a.test/$1"
		}},
		{"our own", `{"sender":"@tri:a.test","type":"m.room.message","content":{"msgtype":"m.text","body":"It is 5."}}`, func(e *event.Event) {
			e.Content, e.Sender = "It is 5.", event.Sender{ID: "@tri:a.test", Type: "bot", Name: "tri"}
		}},
		{"a notice", `{"type":"m.room.message","content":{"msgtype":"m.notice","body":"built"}}`,
			func(e *event.Event) { e.Content, e.Sender.Type = "built", "bot" }},
		{"an image", `{"type":"m.room.message","content":{"msgtype":"m.image","body":"a.png","url":"mxc://x","info":{"mimetype":"image/png","size":3}}}`, func(e *event.Event) {
			e.MsgType, e.Attachments = "image",
				[]event.Attachment{{ID: "mxc://x", Name: "a.png", MIME: "image/png", Size: 3}}
		}},
		{"a file with words",
			`{"type":"m.room.message","content":{"msgtype":"m.file","body":"the log","filename":"a.log","url":"mxc://x"}}`, func(e *event.Event) {
				e.MsgType, e.Content, e.Attachments = "file", "the log",
					[]event.Attachment{{ID: "mxc://x", Name: "a.log"}}
			}},
		{"from another server", `{"sender":"@far:b.test","type":"m.room.message","content":{"body":"hi"}}`,
			nil},
		{"state", `{"type":"m.room.message","state_key":"","content":{"body":"hi"}}`, nil},
		{"deleted before", `{"type":"m.room.message","content":{}}`, nil},
		{"no sense", `{"type":"m.room.message","content":{"body":[1]}}`, func(*event.Event) {}},
		{"content is not an object", `{"type":"m.room.message","content":"x"}`, func(*event.Event) {}},
	} {
		x := roomEvent{}
		in := strings.Replace(tt.in, `{`, `{"event_id":"$9","origin_server_ts":1700000001000,`, 1)
		if !strings.Contains(in, `"sender"`) {
			in = strings.Replace(in, `{`, `{"sender":"@ana:a.test",`, 1)
		}
		if err := json.Unmarshal([]byte(in), &x); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, ok, err := known(t).event(t.Context(), "!dev:a.test", &x)
		if err != nil || ok != (tt.want != nil) {
			t.Errorf("%s: %+v %v %v", tt.name, got, ok, err)
			continue
		}
		if tt.want == nil {
			continue
		}
		want := event.Event{
			Platform: "matrix", ChatID: "!dev:a.test", ChatName: "Dev", MessageID: "$9",
			CreateTime: "2023-11-14T22:13:21.000Z", MsgType: "text",
			Sender: event.Sender{ID: "@ana:a.test", Type: "user", Name: "ana"}, Mentions: []string{},
			Permalink: "https://matrix.to/#/%21dev:a.test/$9",
		}
		tt.want(&want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

// TestTargets: an edit, a deletion or a reaction may name any event. What the server does not give is left
// out; it must not stop what comes after it.
func TestTargets(t *testing.T) {
	status := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "\x00") {
			w.WriteHeader(http.StatusInternalServerError) // as a database that has no character 0
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"errcode":"M_UNKNOWN"}`))
	}))
	defer srv.Close()
	for _, status = range []int{400, 403, 404, 410, 500} {
		for _, in := range []string{
			`{"type":"m.room.message","content":{"body":"* x","m.new_content":{"body":"x"},"m.relates_to":{"rel_type":"m.replace","event_id":"$far"}}}`,
			`{"type":"m.room.redaction","redacts":"$far","content":{}}`,
			`{"type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$far","key":"✅"}}}`,
		} {
			for _, target := range []string{"$far", `$far\u0000`, "", "..", "$" + strings.Repeat("x", 255)} {
				c := known(t)
				var err error
				if c.api, err = httpapi.New(httpapi.Options{Base: srv.URL}); err != nil {
					t.Fatal(err)
				}
				var x roomEvent
				in := strings.Replace(in, "$far", target, 1)
				in = strings.Replace(in, `{`, `{"event_id":"$9","sender":"@ana:a.test",`, 1)
				if err := json.Unmarshal([]byte(in), &x); err != nil {
					t.Fatal(err)
				}
				_, said, err := c.event(t.Context(), "!dev:a.test", &x)
				_, done, err2 := c.action(t.Context(), "!dev:a.test", &x)
				err = errors.Join(err, err2)
				if said || done || (err != nil) != (status == 500 && target == "$far") {
					t.Errorf("%d %s: %v %v %v", status, in, said, done, err)
				}
			}
		}
	}
}

// TestForgedRedaction: a redaction that names two events deletes neither message, and removes no reaction.
func TestForgedRedaction(t *testing.T) {
	c := known(t)
	c.threads.Put("$theirs", memo{sender: "@ben:a.test", at: 1})
	c.threads.Put("$mine", memo{sender: "@ana:a.test", at: 1})
	for redacts, want := range map[string]string{"$mine": "", "$theirs": "$theirs"} {
		in := `{"event_id":"$9","sender":"@ana:a.test","type":"m.room.redaction","redacts":"` + redacts +
			`","content":{"redacts":"$theirs"}}`
		var x roomEvent
		if err := json.Unmarshal([]byte(in), &x); err != nil {
			t.Fatal(err)
		}
		if e, _, err := c.event(t.Context(), "!dev:a.test", &x); err != nil || e.MessageID != want {
			t.Errorf("%s: it deletes %q, want %q; %v", in, e.MessageID, want, err)
		}
	}
}

// TestActions: a reaction to a message of the bot or of who reacts, and its removal, are actions.
func TestActions(t *testing.T) {
	c := known(t)
	c.threads.Put("$own", memo{sender: "@tri:a.test"})
	var got []string
	for _, in := range []string{
		`{"event_id":"$r1","sender":"@ana:a.test","type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$own","key":"👍"}}}`,
		`{"event_id":"$r2","sender":"@ana:a.test","type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"👎"}}}`,
		`{"event_id":"$r5","sender":"@ben:a.test","type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"👎"}}}`,
		`{"event_id":"$r3","sender":"@tri:a.test","type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$own","key":"✅"}}}`,
		`{"event_id":"$r4","sender":"@far:b.test","type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$own","key":"✅"}}}`,
		`{"event_id":"$d","sender":"@ana:a.test","type":"m.room.redaction","content":{"redacts":"$r1"}}`,
		`{"event_id":"$e","sender":"@ana:a.test","type":"m.room.redaction","content":{"redacts":"$1"}}`,
	} {
		var x roomEvent
		if err := json.Unmarshal([]byte(in), &x); err != nil {
			t.Fatal(err)
		}
		a, ok, err := c.action(t.Context(), "!dev:a.test", &x)
		if err != nil {
			t.Error(err)
		}
		if ok {
			got = append(got, strings.Join([]string{a.ID, a.MessageID, a.Sender.Name, a.Name}, " ")+
				map[bool]string{true: " removed"}[a.Removed])
		}
	}
	if want := []string{"$r1 $own ana 👍", "$r2 $1 ana 👎", "$d $own ana 👍 removed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRich: clients render the text, with code as code, and no outside text is markup.
func TestRich(t *testing.T) {
	for in, want := range map[string]string{
		"a `b<c>` & **d**":               "a <code>b&lt;c&gt;</code> &amp; <strong>d</strong>",
		"x\n```go\na := `1` **no**\n```": "x<br><pre><code>a := `1` **no**\n</code></pre>",
		"<img src=x onerror=`y`>":        "&lt;img src=x onerror=<code>y</code>&gt;",
		"run ```make test``` now":        "run <pre><code>make test</code></pre> now",
		"`\x000\x00` and `b`":            "<code>\x000\x00</code> and <code>b</code>",
		"a ` b ```x < `y` ``` c ` d":     "a <code> b <pre><code>x &lt; `y` </code></pre> c </code> d",
	} {
		if got := rich(in); got != want && !strings.Contains(in, "\x00") {
			t.Errorf("%q: %q, want %q", in, got, want)
		} else if strings.Contains(got, "<img") {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestLongest: every text of the length that Limit allows fits into an event, and so does an edit.
func TestLongest(t *testing.T) {
	w := newWorld(t)
	s, c := w.sink(), w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	for _, char := range []string{"x", "語", `"`, "\n", "👀"} {
		text := "`x` " + strings.Repeat(char, s.Limit()-5) + "."
		got, err := s.Post(t.Context(),
			chat.Post{ChatID: c, ThreadID: root, ReplyToID: root, Text: text, Key: char})
		if err == nil {
			err = s.Edit(t.Context(), c, got.MessageID, text)
		}
		if err != nil {
			t.Errorf("%q: %v", char, err)
		}
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	s, c := w.sink(), w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	ctx := t.Context()
	err := errors.Join(s.React(ctx, c, root, "👀", true), s.React(ctx, c, root, "✅", true),
		s.React(ctx, c, root, "👀", false), s.Typing(ctx, c, root))
	got, postErr := s.Post(ctx, chat.Post{ChatID: c, ThreadID: root, ReplyToID: root,
		Text: "It is `5`.", Key: "k"})
	if err = errors.Join(err, postErr); err != nil {
		t.Fatal(err)
	}
	if err := s.Edit(ctx, c, got.MessageID, "It is 6."); err != nil {
		t.Fatal(err)
	}
	if text, gone, err := s.Message(ctx, c, got.MessageID); err != nil || gone || text != "It is 6." {
		t.Errorf("%q %v %v", text, gone, err)
	}
	card := chat.Card{ChatID: c, Title: "Draft", Text: "It is 5.", Key: "card",
		Buttons: []chat.Button{{Name: "approve", Label: "Approve"}}}
	dealt, err := s.PostCard(ctx, card)
	again, err2 := s.PostCard(ctx, card)
	if err := errors.Join(err, err2); err != nil || dealt.MessageID != again.MessageID {
		t.Errorf("%v: dealt %s and %s", err, dealt.MessageID, again.MessageID)
	}
	reactions := map[string]int{}
	for _, e := range w.server.Events(c) {
		if rel, _ := e.Content["m.relates_to"].(matrixtest.M); e.Type == "m.reaction" && !e.Redacted {
			reactions[rel["event_id"].(string)+" "+rel["key"].(string)]++
		}
	}
	if reactions[root+" ✅"] != 1 || reactions[root+" 👀"] != 0 || reactions[dealt.MessageID+" ✅"] == 0 {
		t.Errorf("%v", reactions)
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
		{403, `{"errcode":"M_FORBIDDEN"}`, "refused", 0}, {413, `{"errcode":"M_TOO_LARGE"}`, "refused", 0},
		{400, `{"errcode":"M_UNKNOWN"}`, "refused", 0}, {404, `{"errcode":"M_NOT_FOUND"}`, "refused", 0},
		{401, `{"errcode":"M_UNKNOWN_TOKEN"}`, "retry", time.Minute}, {404, `<html>`, "retry", time.Minute},
		{302, ``, "retry", time.Minute},
		{429, `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":7000}`, "retry", 7 * time.Second},
		{500, `{}`, "unknown", 0}, {502, `<html>`, "unknown", 0}, {200, `{}`, "unknown", 0},
		{200, `{`, "unknown", 0},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		c, err := NewSink(Options{URL: srv.URL, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Post(t.Context(), chat.Post{ChatID: "!a:b", ThreadID: "$1", ReplyToID: "$1",
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
	}
}

func TestNew(t *testing.T) {
	for _, o := range []Options{{}, {Token: "t"}, {URL: "http://a", Token: "a b"},
		{URL: "http://a", Token: "t", Chats: []string{"#dev:a"}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		} else if s, _ := sysexit.Of(err); s != sysexit.Config {
			t.Errorf("%+v: status %d", o, s)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"event_id":"$9","sender":"@ana:a.test","type":"m.room.message","content":{"body":"> <@a>\n\nx","m.relates_to":{"m.in_reply_to":{"event_id":"$1"}}}}`)
	f.Add(`{"event_id":"$9","sender":"@ana:a.test","type":"m.room.redaction","redacts":"$1"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		c := known(t)
		for _, x := range parse([]json.RawMessage{json.RawMessage(raw)}) {
			// Only events that need no request.
			if x.Sender != "@ana:a.test" || x.Content.Relates.Type == "m.replace" ||
				x.Type == "m.room.redaction" {
				continue
			}
			if e, ok, err := c.event(t.Context(), "!dev:a.test", &x); err != nil ||
				ok && (e.MessageID == "" || e.Sender.ID == "" || e.Mentions == nil) {
				t.Errorf("%s came as %+v %v", raw, e, err)
			}
		}
	})
}

package lark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/lark/larktest"
	"tri/lib/record/event"
)

var knownRoom = room{Name: "dev", Tenant: larktest.Tenant}

// known is a client that knows its bot and a chat, and has no server.
func known(t testing.TB, o Options) *Client {
	t.Helper()
	o.URL, o.ID, o.Secret = "http://127.0.0.1:1", larktest.App, "x"
	c, err := newClient(o)
	if err != nil {
		t.Fatal(err)
	}
	c.self.Put("", account{OpenID: larktest.BotUser, Name: larktest.BotName})
	c.rooms.Put(dev, knownRoom)
	c.people.Put("ou_ana", "ana")
	c.roots.Put("omt_1", "om_root")
	return c
}

// TestGolden: payloads of events and of the history, and the resulting records. Each file has both,
// one line of JSON each.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	c := known(t, Options{})
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := gjson.ParseBytes(b)
		m, ok := parseEvent(r.Get("event"))
		if r.Get("history").Exists() {
			m, ok = parseHistory(r.Get("history"))
		} else {
			m.Changed = time.Time{}
		}
		if !ok {
			t.Errorf("%s: not read", name)
			continue
		}
		got, ok, err := c.event(t.Context(), &m, knownRoom)
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if raw := r.Get("event").Raw + r.Get("history").Raw; string(got.Raw) != raw {
			t.Errorf("%s: kept as %s", name, got.Raw)
		}
		got.Raw = nil
		want := event.Event{}
		if err := json.Unmarshal([]byte(r.Get("want").Raw), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			b, _ := json.Marshal(got)
			t.Errorf("%s:\n got %s\nwant %s", name, b, r.Get("want").Raw)
		}
	}
}

func TestNotHeard(t *testing.T) {
	c := known(t, Options{})
	for name, in := range map[string]string{
		"no ids":          `{"message":{"chat_id":"oc_dev","create_time":"1700000000000"}}`,
		"no time":         `{"message":{"chat_id":"oc_dev","message_id":"om_1"}}`,
		"another's id":    `{"message":{"chat_id":"../x","message_id":"om_1","create_time":"1700000000000"}}`,
		"fields of trash": `{"message":{"chat_id":["oc_dev"],"message_id":7,"create_time":{}}}`,
	} {
		if m, ok := parseEvent(gjson.Parse(in)); ok {
			t.Errorf("%s: %+v", name, m)
		}
	}
	guest := message{Chat: dev, ID: "om_1", Created: time.Now(), Sender: "ou_guest", By: "user",
		Tenant: "elsewhere", Kind: "text", Raw: `{"text":"x"}`}
	if _, ok, err := c.event(t.Context(), &guest, knownRoom); ok || err != nil {
		t.Errorf("somebody of another organization: %v, %v", ok, err)
	}
	c.o.AllowExternal = true
	c.people.Put("ou_guest", "")
	if _, ok, err := c.event(t.Context(), &guest, knownRoom); !ok || err != nil {
		t.Errorf("let in: %v, %v", ok, err)
	}
}

func TestPrivate(t *testing.T) {
	w := newWorld(t)
	w.server.AddChat("oc_two", "", larktest.M{"chat_mode": "p2p", "name": ""})
	w.server.AddChat("oc_ext", "with others", larktest.M{"external": true})
	for _, tt := range []struct {
		chats []string
		ext   bool
		want  []string
	}{
		{nil, false, []string{dev}}, {nil, true, []string{dev, "oc_ext"}},
		{[]string{"oc_two"}, false, []string{"oc_two"}}, {[]string{ops}, true, nil},
	} {
		o := w.options()
		o.Chats, o.AllowExternal = tt.chats, tt.ext
		c := w.client(o)
		var heard []string
		for _, id := range []string{dev, "oc_ext", "oc_two", "oc_nowhere"} {
			_, ok, err := c.watches(t.Context(), id)
			w.must(err)
			if ok {
				heard = append(heard, id)
			}
		}
		if !slices.Equal(heard, tt.want) {
			t.Errorf("%v, external %v: hears %v, want %v", tt.chats, tt.ext, heard, tt.want)
		}
	}
	o := w.options()
	o.Chats = []string{"oc_two"}
	c := w.client(o)
	r, _, err := c.watches(t.Context(), "oc_two")
	w.must(err)
	m := message{Chat: "oc_two", ID: "om_1", Created: time.Now(), Sender: "ou_ana", Kind: "text",
		Raw: `{"text":"hi"}`}
	e, _, err := c.event(t.Context(), &m, r)
	if err != nil || !slices.Equal(e.Mentions, []string{larktest.BotUser}) || e.Sender.Name != "ana" {
		t.Errorf("what is said to the bot alone: %+v, %v", e, err)
	}
}

func TestMillis(t *testing.T) {
	want := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)
	for _, s := range []string{"1700000000", "1700000000000", "1700000000000000"} {
		if got := millis(s); !got.Equal(want) {
			t.Errorf("%s: %v", s, got)
		}
	}
	for _, s := range []string{"", "x", "-1", "0", "17000000000000000000", "1e9"} {
		if !millis(s).IsZero() {
			t.Errorf("%q is a time", s)
		}
	}
}

// TestLong: messages longer than the limit for posts are received.
func TestLong(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("the retry limit ", 2000) + "."
	id := w.Say(dev, "ana", "", text)
	got, gone, err := w.sink().Message(t.Context(), dev, id)
	if err != nil || gone || got != text {
		t.Errorf("%d characters, %v, %v", len(got), gone, err)
	}
}

func TestClick(t *testing.T) {
	good := `{"header":{"event_id":"e1","event_type":"card.action.trigger","create_time":"1700000000000000"},"event":{"operator":{"open_id":"ou_ana"},"action":{"tag":"button","value":{"name":"approve","value":"d-1:2"}},"context":{"open_message_id":"om_1","open_chat_id":"oc_dev"}}}`
	want := event.Action{ID: "click e1", Platform: "lark", ChatID: dev, MessageID: "om_1",
		At: "2023-11-14T22:13:20.000Z", Sender: event.Sender{ID: "ou_ana", Type: "user"}, Name: "approve",
		Value: "d-1:2"}
	if got, ok := click(gjson.Parse(good)); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, cut := range []string{`"e1"`, `"ou_ana"`, `"approve"`, `"om_1"`, `"oc_dev"`,
		`"1700000000000000"`} {
		if got, ok := click(gjson.Parse(strings.Replace(good, cut, `"<x>"`, 1))); ok && cut != `"e1"` {
			t.Errorf("%s: %+v", cut, got)
		}
	}
}

// FuzzEvents: no payload panics or becomes an event or action without ids.
func FuzzEvents(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(gjson.GetBytes(b, "event").Raw))
		f.Add([]byte(gjson.GetBytes(b, "history").Raw))
	}
	f.Add([]byte(`{"chat_id":"oc_dev","message_id":"om_1","create_time":"1","body":{"content":"{\"content\":[[{\"tag\":\"at\"}]]}"},"msg_type":"post"}`))
	c := known(f, Options{AllowExternal: true})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := gjson.ParseBytes(b)
		for _, read := range []func(gjson.Result) (message, bool){parseEvent, parseHistory} {
			m, ok := read(r)
			if !ok {
				continue
			}
			m.Topic, m.Sender = "", "ou_ana"
			e, ok, err := c.event(t.Context(), &m, knownRoom)
			if err != nil || ok && (e.ChatID == "" || e.MessageID == "" || e.Sender.ID == "" ||
				e.CreateTime == "" || e.Mentions == nil) {
				t.Errorf("%+v, %v", e, err)
			}
			if line, err := json.Marshal(e); err == nil {
				if _, err := event.Parse(line); ok && err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
		if a, ok := click(r); ok && (a.ChatID == "" || a.MessageID == "" || a.Sender.ID == "" ||
			a.Name == "") {
			t.Errorf("%+v", a)
		}
	})
}

// FuzzText: posted text is read back unchanged and notifies nobody.
func FuzzText(f *testing.F) {
	f.Add("a\nb\n\n<at user_id=\"all\">x</at> <b> [x](y) @_user_1 @_all")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text {
			return
		}
		content, err := sent(text)
		if err != nil {
			t.Fatal(err)
		}
		if at.MatchString(gjson.Parse(content).String()) {
			t.Errorf("%q alerts", content)
		}
		m := message{Kind: "post", Raw: gjson.Get(content, "zh_cn").Raw}
		if got, mentions, _ := m.readable("", ""); len(mentions) > 0 ||
			got != strings.ReplaceAll(shown(text), "@_all", "@all") {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}

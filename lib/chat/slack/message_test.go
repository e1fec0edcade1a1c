package slack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/session"
	"tri/lib/chat/slack/slacktest"
	"tri/lib/record/event"
)

var update = flag.Bool("update", false, "write what the decoder says into testdata")

// hears is a listening client without a connection, with its emitted events.
func (w *world) hears(o Options) (*listening, *[]event.Event, *[]event.Action) {
	events, actions := []event.Event{}, []event.Action{}
	to := chattest.Handler{
		Log: w.t.Logf, Action: func(a event.Action) error { actions = append(actions, a); return nil },
		Event: func(e event.Event) error { events = append(events, e); return nil },
	}
	l := w.client(o).listening(chat.Resume{}, to)
	return l, &events, &actions
}

// TestEvents: each payload of testdata/events, in Slack's documented form, becomes the event beside
// it, or none.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	w.server.AddUser("guest", slacktest.M{"is_restricted": true})
	w.server.AddChannel("C0NOT", "not-watched", nil)
	o := w.options()
	o.Chats = []string{dev, ops}
	l, events, _ := w.hears(o)
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		w.must(err)
		*events, l.Recent = []event.Event{}, session.Recent{}
		var g session.Batch
		w.must(l.parse(t.Context(), envelope{"events_api", gjson.ParseBytes(b)}, &g))
		w.must(l.Commit(&g))
		got, err := json.MarshalIndent(*events, "", " ")
		w.must(err)
		wanted := strings.TrimSuffix(name, ".json") + ".want"
		if *update {
			w.must(os.WriteFile(wanted, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(wanted)
		w.must(err)
		if !bytes.Equal(bytes.TrimSpace(want), got) {
			t.Errorf("%s: came as\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestExternal: whose messages are refused, and which are accepted with allow_external.
func TestExternal(t *testing.T) {
	for name, c := range map[string]struct {
		user, msg, room slacktest.M
	}{
		"guest":                 {user: slacktest.M{"is_restricted": true}},
		"single-channel guest":  {user: slacktest.M{"is_restricted": true, "is_ultra_restricted": true}},
		"stranger":              {user: slacktest.M{"is_stranger": true}},
		"of another workspace":  {user: slacktest.M{"team_id": "T9OTHER"}},
		"sent from another one": {msg: slacktest.M{"user_team": "T9OTHER", "team": "T9OTHER"}},
		"unknown to Slack":      {msg: slacktest.M{"user": "U0GHOST"}},
		"shared channel":        {room: slacktest.M{"is_ext_shared": true}},
		"to be shared":          {room: slacktest.M{"is_pending_ext_shared": true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			who := w.server.AddUser("zoe", c.user)
			w.server.AddChannel("C0MIX", "mix", c.room)
			w.server.Say("C0MIX", who, "", "hello", c.msg)
			for _, allowed := range []bool{false, true} {
				o := w.options()
				o.Chats, o.AllowExternal = []string{"C0MIX"}, allowed
				l, events, _ := w.hears(o)
				w.must(l.catchUp(t.Context()))
				if got := len(*events) == 1; got != allowed {
					t.Errorf("allowed %v: %d events", allowed, len(*events))
				}
			}
		})
	}
}

// TestPrivate: private chats are read only if they are named.
func TestPrivate(t *testing.T) {
	w := newWorld(t)
	w.server.AddChannel("G0HUSH", "hush", slacktest.M{"is_private": true})
	w.server.AddChannel("D0ANA", "", slacktest.M{"is_private": true, "is_im": true, "user": "U0ANA"})
	w.Say("G0HUSH", "ana", "", "psst")
	w.Say("D0ANA", "ana", "", "only you")
	for _, named := range [][]string{nil, {"G0HUSH", "D0ANA"}} {
		o := w.options()
		o.Chats = named
		l, events, _ := w.hears(o)
		w.must(l.catchUp(t.Context()))
		if len(*events) != len(named) {
			t.Errorf("named %v: heard %+v", named, *events)
		}
		if i := slices.IndexFunc(*events, func(e event.Event) bool {
			return e.ChatID == "D0ANA"
		}); named != nil && (i < 0 || !slices.Equal((*events)[i].Mentions, []string{slacktest.BotUser}) ||
			(*events)[i].ChatName != "ana") {
			t.Errorf("a direct message came as %+v", *events)
		}
	}
}

func TestActions(t *testing.T) {
	for _, hooked := range []bool{false, true} {
		w := newWorld(t)
		w.hooked = hooked
		root := w.Say(dev, "ana", "", "where?")
		posted, err := w.sink().PostCard(t.Context(),
			chat.Card{ChatID: dev, ThreadID: root, Title: "A draft", Text: "It is 5.", Key: "k",
				Buttons: []chat.Button{{Name: "approve", Label: "Post", Value: "d-1"}}})
		w.must(err)
		l := w.listens()
		w.server.React(dev, root, "U0BEN", "eyes", true) // not the bot's message, nor theirs
		w.server.React(dev, root, "U0ANA", "x", true)    // their own
		w.server.React(dev, posted.MessageID, "U0ANA", "+1::skin-tone-2", true)
		w.server.React(dev, posted.MessageID, slacktest.BotUser, "x", true) // by the bot
		w.server.React(dev, posted.MessageID, "U0BEN", "partyparrot", false)
		w.server.Click(dev, posted.MessageID, "U0BEN", "approve", "d-1")
		w.server.Click(dev, posted.MessageID, "U0BEN", "Approve all", "<x>") // not one of the card's buttons
		w.server.Click(dev, posted.MessageID, "U0BEN", "dismiss", "d-1")
		got := l.actions(5)
		want := []event.Action{
			{Name: "❌", MessageID: root, Sender: event.Sender{ID: "U0ANA", Type: "user"}},
			{Name: "👍", Sender: event.Sender{ID: "U0ANA", Type: "user"}},
			{Name: ":partyparrot:", Sender: event.Sender{ID: "U0BEN", Type: "user"}, Removed: true},
			{Name: "approve", Value: "d-1", Sender: event.Sender{ID: "U0BEN", Type: "user", Name: "ana"}},
			{Name: "dismiss", Value: "d-1", Sender: event.Sender{ID: "U0BEN", Type: "user", Name: "ana"}},
		}
		ids := map[string]bool{}
		for i, a := range got {
			ids[a.ID] = true
			if a.Name != want[i].Name || a.Value != want[i].Value || a.Sender != want[i].Sender ||
				a.Removed != want[i].Removed || a.ChatID != dev ||
				a.MessageID != cmp.Or(want[i].MessageID, posted.MessageID) ||
				a.At == "" || a.Platform != platform {
				t.Errorf("action %d is %+v, want %+v", i, a, want[i])
			}
		}
		if len(ids) != 5 {
			t.Errorf("ids %v", ids)
		}
	}
}

// TestNames: what a text names need not be there. It must not keep the text from being read.
func TestNames(t *testing.T) {
	for _, code := range []string{"user_not_found", "channel_not_found", "invalid_arguments"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "auth.test") {
				_, _ = w.Write([]byte(`{"ok":true,"user_id":"U1","team_id":"T1"}`))
				return
			}
			fmt.Fprintf(w, `{"ok":false,"error":%q}`, code)
		}))
		defer srv.Close()
		c, err := newClient(Options{URL: srv.URL, Token: "xoxb-1"})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := c.readable(t.Context(), "<@U404> in <#C404>")
		if got != "@U404 in #C404" || err != nil {
			t.Errorf("%s: %q, %v", code, got, err)
		}
	}
}

// TestMemoryFits: what is saved is within the limit of chat.Handler, also where each message is in a chat of
// its own.
func TestMemoryFits(t *testing.T) {
	m := memory{}
	for i := range 5000 {
		m.add(fmt.Sprintf("C%010d", i), fmt.Sprintf("17%08d.000000", i))
	}
	saved, again := m.save(), memory{}
	if again.load(saved); len(saved) > 64<<10 || len(again) < 1500 || !again["C0000004999"]["1700004999.000000"] {
		t.Errorf("%d bytes, %d messages", len(saved), len(again))
	}
}

// TestUnwatchedReaction: what people do to their own messages in a chat that is not watched is not kept.
func TestUnwatchedReaction(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Chats = nil
	l, _, _ := w.hears(o)
	self, err := l.me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for author, want := range map[string]int{"U0ANA": 0, self.User: 1} {
		var g session.Batch
		in := fmt.Sprintf(`{"event":{"type":"reaction_added","user":"U0ANA","reaction":"+1","item":{"type":"message",
			"channel":"G0PRIV","ts":"1355517523.000005"},"item_user":%q,"event_ts":"1355517523.000005"}}`, author)
		err := l.parse(t.Context(), envelope{"events_api", gjson.Parse(in)}, &g)
		if err != nil || len(g.Actions) != want {
			t.Errorf("to a message of %s: %+v, %v", author, g.Actions, err)
		}
	}
}

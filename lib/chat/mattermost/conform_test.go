package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/mattermost/mattermosttest"
)

// world is a fake server, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *mattermosttest.Server
	bot    mattermosttest.User
	people map[string]mattermosttest.User
	chats  [2]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := mattermosttest.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &world{t: t, server: s, people: map[string]mattermosttest.User{}}
	w.bot = s.AddUser("tri", true)
	for _, name := range []string{"ana", "ben", "chen"} {
		w.people[name] = s.AddUser(name, false)
	}
	w.chats = [2]string{s.AddChannel("town-square").ID, s.AddChannel("dev").ID}
	return w
}

func (w *world) sink() *Sink { return newSink(w.client()) }

// client is a program that has just started, with short delays.
func (w *world) client() *Client { return w.clientOver(nil) }

func (w *world) clientOver(h *http.Client) *Client {
	w.t.Helper()
	c, err := New(w.options(h))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) options(h *http.Client) Options {
	return Options{URL: w.server.URL, Token: w.bot.Token, HTTP: h,
		Sleep: func(ctx context.Context, d time.Duration) error {
			return httpapi.Sleep(ctx, min(d, 10*time.Millisecond))
		}}
}

func (w *world) Source() chat.Source      { return w.client() }
func (w *world) Sink() chat.Sink          { return w.sink() }
func (w *world) Chats() [2]string         { return w.chats }
func (w *world) Bot() (id, handle string) { return w.bot.ID, "@tri" }
func (w *world) Edit(_, id, text string)  { w.must(w.server.Edit(id, text)) }
func (w *world) Delete(_, id string)      { w.must(w.server.Delete(id)) }
func (w *world) Sees(text string) string  { return shown(text) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Say(chatID, person, thread, text string) string {
	w.t.Helper()
	p, err := w.server.Say(mattermosttest.Post{ChannelID: chatID, UserID: w.people[person].ID, RootID: thread,
		Message: text})
	w.must(err)
	return p.ID
}

func (w *world) Type(chatID, person string) { w.server.Type(chatID, w.people[person].ID) }

func (w *world) forge(person string, p chat.Post) {
	w.t.Helper()
	_, err := w.server.Say(mattermosttest.Post{ChannelID: p.ChatID, UserID: w.people[person].ID,
		RootID: p.ThreadID, Message: p.Text, Props: map[string]any{keyProp: p.Key}})
	w.must(err)
}

// atEveryone matches mass mentions as the server does (model.findAtChannelMention).
var atEveryone = regexp.MustCompile(`(?i)\B@(channel|all|here)\b`)

func (w *world) Pings(_, id string) bool {
	for _, p := range w.server.Posts() {
		if p.ID == id {
			return atEveryone.MatchString(p.Message)
		}
	}
	w.t.Fatalf("no post %s", id)
	return false
}

func (w *world) Break(f chattest.Faults) {
	w.t.Helper()
	w.must(w.server.SetFaults(mattermosttest.Faults{
		Seed: f.Seed, Close: f.Cut, Duplicate: f.Duplicate, Reorder: f.Reorder, Lose: f.Lose,
		Fail: f.Fail, Limit: f.Busy, DropAnswer: f.LoseAnswer, FailAfter: f.FailAfter,
	}))
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	w.t.Helper()
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

func (w *world) File(chatID, person, name string) string {
	w.t.Helper()
	p := mattermosttest.Post{ChannelID: chatID, UserID: w.people[person].ID}
	p.Metadata.Files = []map[string]any{{"id": "f", "name": name, "mime_type": "text/plain", "size": 12}}
	p, err := w.server.Say(p)
	w.must(err)
	return p.ID
}

func (w *world) Garble() { w.server.Garble() }
func (w *world) Revoke() { w.server.Revoke(w.bot) }

func (w *world) Standing(chatID, thread string) (texts []string) {
	for _, p := range w.server.Posts() {
		if p.ChannelID == chatID && p.RootID == thread && p.UserID == w.bot.ID {
			texts = append(texts, p.Message)
		}
	}
	return texts
}

func TestConformance(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newWorld(t) }
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return newWorld(t) })
	})
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
}

func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  mattermost:\n    url: %s\n    token_env: TRI_LOAD_TOKEN\n", w.server.URL),
		[]string{"TRI_LOAD_TOKEN=" + w.bot.Token}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

//go:build peers

package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
)

// server is a real Mattermost server for this test alone, used as its first user.
// scripts/peers/mattermost starts one and names it in TRI_PEER_MATTERMOST.
type server struct {
	t     *testing.T
	url   string
	admin *Client
	team  string
}

const password = "Passw0rd!x1"

// run distinguishes the names of test runs.
var run = time.Now().Unix()

func newServer(t *testing.T) *server {
	t.Helper()
	url := os.Getenv("TRI_PEER_MATTERMOST")
	if url == "" {
		t.Fatal("TRI_PEER_MATTERMOST is not set: run scripts/peers/mattermost")
	}
	s := &server{t: t, url: url}
	// The first account of a server is its administrator.
	none, err := New(Options{URL: url, Token: "none"})
	s.must(err)
	_ = none.once(t.Context(), http.MethodPost, "users",
		map[string]any{"email": "admin@example.test", "username": "theadmin", "password": password}, &user{})
	s.admin = s.login("theadmin")
	var team struct{ ID string }
	s.must(s.admin.once(t.Context(), http.MethodPost, "teams",
		map[string]any{"name": s.name("team"), "display_name": "Team", "type": "O"}, &team))
	s.team = team.ID
	return s
}

var names atomic.Int64

func (s *server) name(what string) string { return fmt.Sprintf("%s-%d-%d", what, run, names.Add(1)) }

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// login returns a client with the session of an account.
func (s *server) login(name string) *Client {
	s.t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"login_id":%q,"password":%q}`, name, password))
	resp, err := http.Post(s.url+"/api/v4/users/login", "application/json", body)
	s.must(err)
	s.must(resp.Body.Close())
	c, err := New(Options{URL: s.url, Token: resp.Header.Get("Token")})
	s.must(err)
	return c
}

// join makes a user (or a bot) a member of the team and of chats.
func (s *server) join(id string, chats ...string) {
	s.t.Helper()
	s.must(s.admin.once(s.t.Context(), http.MethodPost, "teams/"+s.team+"/members",
		map[string]any{"team_id": s.team, "user_id": id}, &struct{}{}))
	for _, c := range chats {
		s.must(s.admin.once(s.t.Context(), http.MethodPost, "channels/"+c+"/members",
			map[string]any{"user_id": id}, &struct{}{}))
	}
}

// realWorld is a pair of new channels on a real server.
type realWorld struct {
	*server
	chats  [2]string
	bot    user
	token  string
	people map[string]*Client
}

func newRealWorld(t *testing.T) *realWorld {
	t.Helper()
	w := &realWorld{server: newServer(t), people: map[string]*Client{}}
	ctx := t.Context()
	for i := range w.chats {
		var made room
		w.must(w.admin.once(ctx, http.MethodPost, "channels",
			map[string]any{"team_id": w.team, "name": w.name("chat"),
				"display_name": fmt.Sprintf("Chat %d", i), "type": "O"}, &made))
		w.chats[i] = made.ID
	}
	var bot struct {
		ID   string `json:"user_id"`
		Name string `json:"username"`
	}
	w.must(w.admin.once(ctx, http.MethodPost, "bots",
		map[string]any{"username": w.name("tri"), "display_name": "tri"}, &bot))
	w.bot = user{ID: bot.ID, Username: bot.Name}
	var token struct{ Token string }
	w.must(w.admin.once(ctx, http.MethodPost, "users/"+bot.ID+"/tokens",
		map[string]any{"description": "test"}, &token))
	w.token = token.Token
	w.join(bot.ID, w.chats[:]...)
	for _, person := range []string{"ana", "ben", "chen"} {
		var made user
		name := w.name(person)
		w.must(w.admin.once(ctx, http.MethodPost, "users",
			map[string]any{"email": name + "@example.test", "username": name, "password": password}, &made))
		w.join(made.ID, w.chats[:]...)
		w.people[person] = w.login(name)
		for _, c := range w.chats { // being added to a channel counts as a mention
			w.must(w.people[person].once(ctx, http.MethodPost, "channels/members/me/view",
				map[string]any{"channel_id": c}, &struct{}{}))
		}
	}
	return w
}

func (w *realWorld) client() *Client { return w.clientOver(nil) }

func (w *realWorld) sink() *Sink { return newSink(w.client()) }

func (w *realWorld) clientOver(h *http.Client) *Client {
	w.t.Helper()
	c, err := New(Options{URL: w.url, Token: w.token, Chats: w.chats[:], HTTP: h})
	w.must(err)
	return c
}

func (w *realWorld) Source() chat.Source      { return w.client() }
func (w *realWorld) Sink() chat.Sink          { return w.sink() }
func (w *realWorld) Chats() [2]string         { return w.chats }
func (w *realWorld) Bot() (id, handle string) { return w.bot.ID, "@" + w.bot.Username }
func (w *realWorld) Sees(text string) string  { return shown(text) }

func (w *realWorld) Say(chatID, person, thread, text string) string {
	w.t.Helper()
	var made post
	w.must(w.people[person].once(w.t.Context(), http.MethodPost, "posts",
		map[string]any{"channel_id": chatID, "root_id": thread, "message": text}, &made))
	return made.ID
}

func (w *realWorld) forge(person string, p chat.Post) {
	w.t.Helper()
	w.must(w.people[person].once(w.t.Context(), http.MethodPost, "posts", map[string]any{
		"channel_id": p.ChatID, "root_id": p.ThreadID, "message": p.Text,
		"props": map[string]any{keyProp: p.Key},
	}, &post{}))
}

func (w *realWorld) Edit(_, id, text string) {
	w.t.Helper()
	w.must(w.admin.once(w.t.Context(), http.MethodPut, "posts/"+id+"/patch",
		map[string]any{"message": text}, &post{}))
}

func (w *realWorld) Delete(_, id string) {
	w.t.Helper()
	w.must(w.admin.once(w.t.Context(), http.MethodDelete, "posts/"+id, nil, &struct{}{}))
}

// Pings asks the server whether another user has a mention.
func (w *realWorld) Pings(chatID, id string) bool {
	w.t.Helper()
	var counts struct {
		Mentions int `json:"mention_count"`
	}
	w.must(w.people["ben"].get(context.Background(), "users/me/teams/"+w.team+"/unread", nil, &counts))
	return counts.Mentions > 0
}

func TestRealServer(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newRealWorld(t) }
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
	for name, test := range moreTests {
		t.Run(name, func(t *testing.T) { test(t, newRealWorld(t)) })
	}
}

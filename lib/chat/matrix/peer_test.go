//go:build peers

package matrix

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
)

// realWorld is a pair of new rooms on a real homeserver, which scripts/peers/matrix names in
// TRI_PEER_MATRIX.
type realWorld struct {
	t      *testing.T
	url    string
	people map[string]*Client
	ids    map[string]string
	token  string
	chats  [2]string

	mu    sync.Mutex
	wrote map[string]string // author of each message
}

var (
	run   = time.Now().UnixNano() % 1e9
	names atomic.Int64
)

// account creates an account and returns its token.
func account(t *testing.T, url, name string) (*Client, string) {
	t.Helper()
	api, err := httpapi.New(httpapi.Options{Base: url + "/_matrix/client"})
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Token string `json:"access_token"`
	}
	in := map[string]any{"username": fmt.Sprintf("%s-%d-%d", name, run, names.Add(1)),
		"password": "Passw0rd!x1", "auth": map[string]any{"type": "m.login.dummy"}}
	if err := api.Once(t.Context(), httpapi.Request{Method: http.MethodPost, Path: path("register"), JSON: in},
		&made); err != nil {
		t.Fatal(explain(err))
	}
	c, err := New(Options{URL: url, Token: made.Token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.me(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, made.Token
}

func newRealWorld(t *testing.T) *realWorld {
	t.Helper()
	url := os.Getenv("TRI_PEER_MATRIX")
	if url == "" {
		t.Fatal("TRI_PEER_MATRIX is not set: run scripts/peers/matrix")
	}
	w := &realWorld{t: t, url: url, people: map[string]*Client{}, wrote: map[string]string{}}
	bot, token := account(t, url, "tri")
	self, err := bot.me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.token, w.ids = token, map[string]string{"tri": self}
	for _, name := range []string{"ana", "ben", "chen"} {
		w.people[name], _ = account(t, url, name)
	}
	w.people["tri"] = bot
	for i := range w.chats {
		var made struct {
			ID string `json:"room_id"`
		}
		w.post("ana", path("createRoom"),
			map[string]any{"name": fmt.Sprint("Chat ", i), "preset": "public_chat",
				"power_level_content_override": map[string]any{"users_default": 100}}, &made)
		w.chats[i] = made.ID
		for _, name := range []string{"ben", "chen", "tri"} {
			w.post(name, path("join", made.ID), struct{}{}, nil)
		}
	}
	return w
}

func (w *realWorld) post(who, path string, in, out any) {
	w.t.Helper()
	if err := explain(w.people[who].api.Once(w.t.Context(),
		httpapi.Request{Method: http.MethodPost, Path: path, JSON: in}, out)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *realWorld) put(who, path string, in any) string {
	w.t.Helper()
	var made struct {
		ID string `json:"event_id"`
	}
	if err := explain(w.people[who].api.Once(w.t.Context(),
		httpapi.Request{Method: http.MethodPut, Path: path, JSON: in}, &made)); err != nil {
		w.t.Fatal(err)
	}
	return made.ID
}

func (w *realWorld) Source() chat.Source {
	c, err := New(Options{URL: w.url, Token: w.token, Chats: w.chats[:]})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *realWorld) Sink() chat.Sink {
	s, err := NewSink(Options{URL: w.url, Token: w.token})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *realWorld) Chats() [2]string { return w.chats }
func (w *realWorld) Bot() (id, handle string) {
	return w.ids["tri"], strings.Split(w.ids["tri"], ":")[0]
}
func (w *realWorld) Sees(text string) string   { return shown(text) }
func (w *realWorld) Hears(text string) string  { return shown(text) }
func (w *realWorld) Pings(string, string) bool { return false } // its clients decide, by m.mentions

func (w *realWorld) Say(chatID, person, thread, text string) string {
	body := map[string]any{"msgtype": "m.text", "body": text}
	if thread != "" {
		body["m.relates_to"] = map[string]any{"rel_type": "m.thread", "event_id": thread,
			"is_falling_back": true}
	}
	id := w.put(person, path("rooms", chatID, "send", "m.room.message", fmt.Sprint("t", names.Add(1))), body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote[id] = person
	return id
}

func (w *realWorld) Edit(chatID, id, text string) {
	w.put(w.wrote[id], path("rooms", chatID, "send", "m.room.message", fmt.Sprint("t", names.Add(1))),
		map[string]any{
			"msgtype": "m.text", "body": "* " + text,
			"m.new_content": map[string]any{"msgtype": "m.text", "body": text},
			"m.relates_to":  map[string]any{"rel_type": "m.replace", "event_id": id},
		})
}

func (w *realWorld) Delete(chatID, id string) {
	w.put(w.wrote[id], path("rooms", chatID, "redact", id, fmt.Sprint("t", names.Add(1))), struct{}{})
}

func TestRealServer(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newRealWorld(t) }
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
	t.Run("Gap", func(t *testing.T) { chattest.Gap(t, newRealWorld(t), 350) })
}

func (w *realWorld) Burst(chatID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

package teams

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/teams/teamstest"
)

const dev, ops = "19:dev@thread.tacv2", "19:ops@thread.tacv2"

// world is the fake tenant, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *teamstest.Server
	chats  [2]string
	listen string // of the tri-watch that is loaded
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: teamstest.New(), chats: [2]string{dev, ops}}
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) options() Options {
	return Options{
		AppID: teamstest.AppID, Tenant: teamstest.Tenant, Secret: teamstest.Secret,
		Groups: []string{teamstest.Group}, Chats: w.chats[:],
		ServiceURL: w.server.URL + "/connector/", GraphURL: w.server.URL + "/graph", LoginURL: w.server.URL,
		OpenIDURL: w.server.URL + "/v1/.well-known/openidconfiguration", Sweep: 50 * time.Millisecond,
		Sleep: func(ctx context.Context, d time.Duration) error {
			return httpapi.Sleep(ctx, min(d, 5*time.Millisecond))
		},
	}
}

// listens gives a source an address and sets it as the server's endpoint.
func (w *world) listens(o *Options) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	o.Listener = l
	w.server.SetEndpoint("http://" + l.Addr().String() + "/api/messages")
}

func (w *world) Source() chat.Source {
	o := w.options()
	w.listens(&o)
	c, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) Sink() chat.Sink {
	s, err := NewSink(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) Chats() [2]string                    { return w.chats }
func (w *world) Bot() (id, handle string)            { return "28:" + teamstest.AppID, "@tri" }
func (w *world) Sees(text string) string             { return shown(text) }
func (w *world) Edit(chatID, messageID, text string) { w.server.Edit(chatID, messageID, text) }
func (w *world) Delete(chatID, messageID string)     { w.server.Delete(chatID, messageID) }
func (w *world) Lacks(f chattest.Feature) bool {
	return f == chattest.Long || f == chattest.Keys || f == chattest.Threads && !channel(w.chats[0])
}

func (w *world) Say(chatID, person, thread, text string) string {
	return w.server.Say(chatID, person, thread, text)
}

func (w *world) Pings(chatID, messageID string) bool {
	for _, m := range w.server.Messages(chatID) {
		if m.ID == messageID {
			return m.Activity["entities"] != nil || m.Activity["textFormat"] != "plain"
		}
	}
	return true
}

func (w *world) Break(f chattest.Faults) {
	w.server.SetFaults(teamstest.Faults{Seed: f.Seed, Lose: f.Lose + f.Cut, Duplicate: f.Duplicate,
		Reorder: f.Reorder,
		Fail:    f.Fail, Busy: f.Busy, LoseAnswer: f.LoseAnswer, FailAfter: f.FailAfter})
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	if w.listen == "" {
		w.server.SetEndpoint("") // no source is listening
	}
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

func (w *world) File(chatID, person, name string) string {
	return w.server.File(chatID, person, name)
}

func (w *world) Garble() {
	w.server.Send(teamstest.M{"type": 5, "id": []int{1}})
	w.server.Send(teamstest.M{"type": "message", "serviceUrl": w.server.URL + "/connector/",
		"channelId": "msteams", "conversation": "no object"})
	w.server.Send(teamstest.M{"type": "message", "text": string(make([]byte, 3<<20))})
}

func (w *world) Revoke() { w.server.Revoke() }

func (w *world) Standing(chatID, thread string) (texts []string) {
	for _, m := range w.server.Messages(chatID) {
		if m.Bot && m.Deleted == nil && (m.Root == thread || !channel(chatID)) {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func conforms(t *testing.T, chats [2]string) {
	world := func(t *testing.T) *world {
		w := newWorld(t)
		w.chats = chats
		return w
	}
	t.Run("Source", func(t *testing.T) {
		chattest.Source(t, func(t *testing.T) chattest.World { return world(t) })
	})
	t.Run("Sink", func(t *testing.T) {
		chattest.Sink(t, func(t *testing.T) chattest.World { return world(t) })
	})
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return world(t) })
	})
}

func TestConformance(t *testing.T) {
	t.Run("Channel", func(t *testing.T) { t.Parallel(); conforms(t, [2]string{dev, ops}) })
	t.Run("Chat", func(t *testing.T) {
		t.Parallel()
		conforms(t, [2]string{"19:one@thread.v2", "19:two@thread.v2"})
	})
}

// Config implements chattest.Loaded.
func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  teams:\n    app_id: %s\n    tenant: %s\n    listen: %s\n    groups: [%s]\n    service_url: %s/connector/\n    graph_url: %s/graph\n    login_url: %s\n    openid_url: %s\n    secret_env: TRI_LOAD_SECRET\n",
		teamstest.AppID, teamstest.Tenant, w.listen, teamstest.Group, w.server.URL, w.server.URL,
		w.server.URL, w.options().OpenIDURL), []string{"TRI_LOAD_SECRET=" + teamstest.Secret}
}

func TestLoad(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.listen = l.Addr().String()
	l.Close()
	w.server.SetEndpoint("http://" + w.listen + "/api/messages")
	w.server.Hurry(48)
	chattest.Load(t, w)
}

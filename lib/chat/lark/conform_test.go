package lark

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/lark/larktest"
)

const dev, ops = "oc_dev", "oc_ops"

// world is the fake organization, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *larktest.Server
	hooked bool // events arrive by webhook
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: larktest.New()}
	t.Cleanup(w.server.Close)
	for _, name := range []string{"ana", "ben", "chen"} {
		w.server.AddUser(name, larktest.Tenant)
	}
	w.server.AddChat(dev, "dev", nil)
	w.server.AddChat(ops, "ops", nil)
	return w
}

// options are those of a program with short delays.
func (w *world) options() Options {
	return Options{
		URL: w.server.URL, ID: larktest.App, Secret: w.server.Secret, EncryptKey: w.server.EncryptKey,
		Token: w.server.Token, Sweep: 100 * time.Millisecond,
		Sleep: func(ctx context.Context, d time.Duration) error {
			return httpapi.Sleep(ctx, min(d, 5*time.Millisecond))
		},
	}
}

func (w *world) client(o Options) *Client {
	w.t.Helper()
	c, err := New(o)
	w.must(err)
	return c
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Source() chat.Source {
	w.t.Helper()
	o := w.options()
	if w.hooked {
		var err error
		o.Listener, err = net.Listen("tcp", "127.0.0.1:0")
		w.must(err)
		w.server.Hook("http://" + o.Listener.Addr().String() + "/lark")
	}
	return w.client(o)
}

func (w *world) Sink() chat.Sink { return w.sink() }

func (w *world) sink() *Sink {
	w.t.Helper()
	s, err := NewSink(w.options())
	w.must(err)
	return s
}

func (w *world) Chats() [2]string         { return [2]string{dev, ops} }
func (w *world) Bot() (id, handle string) { return larktest.BotUser, "@" + larktest.BotName }
func (w *world) Edit(_, id, text string)  { w.must(w.server.Edit(id, text)) }
func (w *world) Delete(_, id string)      { w.must(w.server.Recall(id)) }
func (w *world) Sees(text string) string  { return shown(text) }
func (w *world) Break(f chattest.Faults)  { w.server.SetFaults(larktest.Faults(f)) }
func (w *world) Garble()                  { w.server.Garble() }
func (w *world) Revoke()                  { w.server.Revoke() }

// Lacks: posts have at most 4,000 characters, and their key cannot be read back. Longer messages
// are received anyway: see TestLong.
func (w *world) Lacks(f chattest.Feature) bool { return f == chattest.Long || f == chattest.Keys }

func (w *world) Say(chat, person, thread, text string) string {
	return w.server.Say(chat, "ou_"+person, thread, text)
}

func (w *world) File(chat, person, name string) string {
	return w.server.Send(chat, "ou_"+person, "", "file", `{"file_key":"file_1","file_name":"`+name+`"}`, nil)
}

func (w *world) Burst(chat string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chat, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

// Pings looks for an element that notifies.
func (w *world) Pings(chat, id string) bool {
	for _, m := range w.server.Messages(chat) {
		if m["message_id"] == id {
			content := m["body"].(larktest.M)["content"].(string)
			return strings.Contains(content, `"at"`) || strings.Contains(content, `<at`) ||
				strings.Contains(content, `\u003cat`)
		}
	}
	w.t.Fatalf("no message %s", id)
	return false
}

func (w *world) Standing(chat, thread string) (texts []string) {
	for _, m := range w.server.Messages(chat) {
		if m["root_id"] != thread || m["sender"].(larktest.M)["id"] != larktest.App {
			continue
		}
		posted := message{Kind: m["msg_type"].(string), Raw: m["body"].(larktest.M)["content"].(string)}
		text, _, _ := posted.readable(larktest.BotUser, larktest.App)
		texts = append(texts, text)
	}
	return texts
}

func TestConformance(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newWorld(t) }
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return newWorld(t) })
	})
}

// TestConformanceByWebhook: the same, by webhook.
func TestConformanceByWebhook(t *testing.T) {
	world := func(t *testing.T) chattest.World {
		w := newWorld(t)
		w.hooked = true
		return w
	}
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return world(t).(chattest.Faulty) })
	})
}

// Config implements chattest.Loaded.
func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  lark:\n    app_id: %s\n    api_url: %s\n    secret_env: TRI_LOAD_SECRET\n",
		larktest.App, w.server.URL), []string{"TRI_LOAD_SECRET=" + w.server.Secret}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

package slack

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
	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
	"tri/lib/chat/slack/slacktest"
)

const dev, ops = "C0DEV", "C0OPS"

// world is the fake workspace, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *slacktest.Server
	hooked bool   // events arrive by webhook
	kept   []byte // the source's saved state
	paced  bool   // messages are slow enough for faults to occur between them
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: slacktest.New()}
	t.Cleanup(w.server.Close)
	for _, name := range []string{"ana", "ben", "chen"} {
		w.server.AddUser(name, nil)
	}
	w.server.AddChannel(dev, "dev", nil)
	w.server.AddChannel(ops, "ops", nil)
	return w
}

// options are those of a program with short delays.
func (w *world) options() Options {
	return Options{
		URL: w.server.URL, Token: w.server.BotToken, AppToken: w.server.AppToken, Secret: w.server.Secret,
		Sweep: 100 * time.Millisecond,
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
		w.server.Hook("http://" + o.Listener.Addr().String() + "/slack/events")
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

func (w *world) Chats() [2]string           { return [2]string{dev, ops} }
func (w *world) Bot() (id, handle string)   { return slacktest.BotUser, "@" + slacktest.BotName }
func (w *world) Edit(chat, id, text string) { w.must(w.server.Edit(chat, id, text)) }
func (w *world) Delete(chat, id string)     { w.must(w.server.Delete(chat, id)) }
func (w *world) Sees(text string) string    { return w.Hears(sink.Pictures(text)) }
func (w *world) Hears(text string) string   { return emoji.Read(slacktest.Colons(text)) }
func (w *world) Garble()                    { w.server.Garble() }
func (w *world) Revoke()                    { w.server.Revoke() }
func (w *world) Lacks(f chattest.Feature) bool {
	return f == chattest.Traces || f == chattest.Emoji || f == chattest.Long
}

func (w *world) Break(f chattest.Faults) {
	w.paced = f != chattest.Faults{}
	w.server.SetFaults(slacktest.Faults(f))
}

func (w *world) Say(chat, person, thread, text string) string {
	if w.paced {
		time.Sleep(300 * time.Microsecond)
	}
	return w.server.Say(chat, "U0"+strings.ToUpper(person), thread, text, nil)
}

func (w *world) File(chat, person, name string) string {
	return w.server.Say(chat, "U0"+strings.ToUpper(person), "", "",
		slacktest.M{"subtype": "file_share", "files": []slacktest.M{
			{"id": "F1", "name": name, "mimetype": "text/plain", "size": 12,
				"url_private": "https://files.slack.com/" + name},
		}})
}

func (w *world) Burst(chat string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chat, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

// Pings looks for markup that notifies.
func (w *world) Pings(chat, id string) bool {
	for _, m := range w.server.Messages(chat) {
		if m["ts"] == id {
			text := m["text"].(string)
			return strings.Contains(text, "<!") || strings.Contains(text, "<@")
		}
	}
	w.t.Fatalf("no message %s", id)
	return false
}

func (w *world) Standing(chat, thread string) (texts []string) {
	for _, m := range w.server.Messages(chat) {
		if m["thread_ts"] == thread && m["user"] == slacktest.BotUser {
			text, _, err := w.sink().readable(context.Background(), m["text"].(string))
			w.must(err)
			texts = append(texts, text)
		}
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

// TestConformanceByWebhook: the same, by the Events API.
func TestConformanceByWebhook(t *testing.T) {
	world := func(t *testing.T) chattest.World {
		w := newWorld(t)
		w.hooked = true
		return w
	}
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return world(t).(chattest.Faulty) })
	})
}

// Config implements chattest.Loaded.
func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  slack:\n    enabled: true\n    api_url: %s\n", w.server.URL),
		[]string{"SLACK_BOT_TOKEN=" + w.server.BotToken, "SLACK_APP_TOKEN=" + w.server.AppToken}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

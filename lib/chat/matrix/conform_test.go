package matrix

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/matrix/matrixtest"
	"tri/lib/record/event"
)

// world is the fake homeserver, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *matrixtest.Server
}

func newWorld(t *testing.T) *world {
	w := &world{t, matrixtest.New()}
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) options() Options {
	return Options{URL: w.server.URL, Token: w.server.Token, Wait: 2 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(d, 5*time.Millisecond)):
				return nil
			}
		}}
}

func (w *world) Source() chat.Source {
	c, err := New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) sink() *Sink {
	s, err := NewSink(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) Sink() chat.Sink          { return w.sink() }
func (w *world) Chats() [2]string         { return [2]string{"!dev:fake.test", "!help:fake.test"} }
func (w *world) Bot() (id, handle string) { return w.server.Bot, "@tri" }
func (w *world) Sees(text string) string  { return shown(text) }

func (w *world) Say(chatID, person, thread, text string) string {
	content := matrixtest.M{"msgtype": "m.text", "body": text}
	if thread != "" {
		content["m.relates_to"] = matrixtest.M{"rel_type": "m.thread", "event_id": thread,
			"is_falling_back": true, "m.in_reply_to": matrixtest.M{"event_id": thread}}
	}
	return w.server.Add(chatID, "m.room.message", "@"+person+":fake.test", content)
}

func (w *world) Type(chatID, person string) { w.server.Type(chatID, "@"+person+":fake.test") }

func (w *world) author(chatID, id string) string {
	for _, e := range w.server.Events(chatID) {
		if e.ID == id {
			return e.Sender
		}
	}
	w.t.Fatalf("no event %s", id)
	return ""
}

func (w *world) Edit(chatID, id, text string) {
	w.server.Add(chatID, "m.room.message", w.author(chatID, id),
		matrixtest.M{"msgtype": "m.text", "body": "* " + text,
			"m.new_content": matrixtest.M{"msgtype": "m.text", "body": text},
			"m.relates_to":  matrixtest.M{"rel_type": "m.replace", "event_id": id}})
}

func (w *world) Delete(chatID, id string) {
	w.server.Add(chatID, "m.room.redaction", w.author(chatID, id), matrixtest.M{"redacts": id})
}

// Pings reports whether a client would notify everybody; if a message has m.mentions, only that
// counts.
func (w *world) Pings(chatID, id string) bool {
	for _, e := range w.server.Events(chatID) {
		if e.ID == id {
			mentions, said := e.Content["m.mentions"].(matrixtest.M)
			return !said || mentions["room"] == true
		}
	}
	return false
}

func (w *world) Break(f chattest.Faults) {
	w.server.SetFaults(matrixtest.Faults{Seed: f.Seed, Cut: f.Cut, Forget: f.Lose, Fail: f.Fail, Busy: f.Busy,
		LoseAnswer: f.LoseAnswer, FailAfter: f.FailAfter})
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

func (w *world) File(chatID, person, name string) string {
	return w.server.Add(chatID, "m.room.message", "@"+person+":fake.test",
		matrixtest.M{"msgtype": "m.file", "body": name, "url": "mxc://fake.test/1",
			"info": matrixtest.M{"mimetype": "text/plain", "size": 12}})
}

func (w *world) Garble() { w.server.Garble() }
func (w *world) Revoke() { w.server.Revoke() }

func (w *world) Standing(chatID, thread string) (texts []string) {
	for _, e := range w.server.Events(chatID) {
		rel, _ := e.Content["m.relates_to"].(matrixtest.M)
		if body, ok := e.Content["body"].(string); ok && e.Sender == w.server.Bot &&
			rel["event_id"] == thread {
			texts = append(texts, body)
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

func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  matrix:\n    url: %s\n    token_env: TRI_LOAD_TOKEN\n", w.server.URL),
		[]string{"TRI_LOAD_TOKEN=" + w.server.Token}
}

// TestSilentRoom: what was said in an absence in a room that is not in the log is read back to where the last
// sync ended, however old it is.
func TestSilentRoom(t *testing.T) {
	w := newWorld(t)
	room := w.Chats()[1]
	const n = 250
	for i := range n {
		w.Say(room, "ana", "", fmt.Sprint("message ", i))
	}
	w.server.Backdate(room, time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	heard, ended := make(chan string, n), make(chan error)
	source := w.Source()
	go func() {
		ended <- source.Run(ctx, chat.Resume{Last: map[string]time.Time{w.Chats()[0]: time.Now()},
			State: []byte(`{"since":"s0"}`)}, chattest.Handler{Log: t.Logf, Event: func(e event.Event) error {
			heard <- e.Content
			return nil
		}})
	}()
	for i := range n {
		select {
		case got := <-heard:
			if want := fmt.Sprint("message ", i); got != want {
				t.Fatalf("heard %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d were heard", i, n)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

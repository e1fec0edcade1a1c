package telegram

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/telegram/telegramtest"
	"tri/lib/record/event"
)

// world is the fake Bot API, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *telegramtest.Server

	mu   sync.Mutex
	said map[string]telegramtest.M
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: telegramtest.New(), said: map[string]telegramtest.M{}}
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

func (w *world) Sink() chat.Sink {
	c, err := NewSink(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) Chats() [2]string { return [2]string{"-100200300", "-100200301"} }
func (w *world) Bot() (id, handle string) {
	return strconv.Itoa(telegramtest.BotID), "@" + telegramtest.BotName
}
func (w *world) Sees(text string) string { return text }
func (w *world) Pings(string, string) bool {
	return false // Telegram has no message that notifies everybody in a group
}

func (w *world) Lacks(f chattest.Feature) bool {
	return f == chattest.Deletions || f == chattest.Memory || f == chattest.Own || f == chattest.Long
}

func (w *world) Say(chatID, person, thread, text string) string {
	c, _ := strconv.ParseInt(chatID, 10, 64)
	root, _ := strconv.ParseInt(thread, 10, 64)
	n := w.server.NextMessage()
	m := telegramtest.Message(n, c, root, person, text)
	w.mu.Lock()
	w.said[id(n)] = m
	w.mu.Unlock()
	w.server.Update("message", m)
	return id(n)
}

func (w *world) Edit(_, messageID, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := telegramtest.M{}
	maps.Copy(m, w.said[messageID])
	m["text"], m["edit_date"] = text, time.Now().Unix()
	w.server.Update("edited_message", m)
}

func (w *world) Delete(string, string) { w.t.Error("a bot hears of no deletion") }

func (w *world) Break(f chattest.Faults) {
	w.server.SetFaults(telegramtest.Faults{Seed: f.Seed, Cut: f.Cut, Duplicate: f.Duplicate, Fail: f.Fail,
		Busy: f.Busy, LoseAnswer: f.LoseAnswer, FailAfter: f.FailAfter})
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

func (w *world) File(chatID, person, name string) string {
	c, _ := strconv.ParseInt(chatID, 10, 64)
	n := w.server.NextMessage()
	m := telegramtest.Message(n, c, 0, person, "")
	m["document"] = telegramtest.M{"file_id": "f1", "file_name": name, "mime_type": "text/plain",
		"file_size": 12}
	w.server.Update("message", m)
	return id(n)
}

func (w *world) Garble() { w.server.Garble() }
func (w *world) Revoke() { w.server.Revoke() }

func (w *world) Standing(chatID, thread string) (texts []string) {
	for _, m := range w.server.Sent() {
		if id(m.ChatID) == chatID && id(m.ReplyTo) == thread {
			texts = append(texts, m.Text)
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
	return fmt.Sprintf("  telegram:\n    enabled: true\n    api_url: %s\n    token_env: TRI_LOAD_TOKEN\n",
		w.server.URL), []string{"TRI_LOAD_TOKEN=" + w.server.Token}
}

// TestRenumbered: updates whose numbers begin again below the offset are delivered and confirmed.
func TestRenumbered(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	heard, ended := make(chan string, 9), make(chan error)
	source := w.Source()
	go func() {
		hear := func(e event.Event) error { heard <- e.Content; return nil }
		ended <- source.Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Event: hear})
	}()
	for i, text := range []string{"before", "after", "and later"} {
		if i == 1 {
			w.server.Renumber(500)
		}
		w.Say(w.Chats()[0], "ana", "", text)
		select {
		case got := <-heard:
			if got != text {
				t.Fatalf("heard %q, want %q", got, text)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q was never heard", text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

// TestReactionsAllowed: Telegram takes each default reaction, or the nearest that it allows.
func TestReactionsAllowed(t *testing.T) {
	server := telegramtest.New()
	defer server.Close()
	s, err := NewSink(Options{URL: server.URL, Token: server.Token})
	if err != nil {
		t.Fatal(err)
	}
	for _, char := range append((&config.Default().Gate.Reactions).Emoji(), "❤") {
		for _, on := range []bool{true, false} {
			if err := s.React(t.Context(), "-5", "3", char, on); err != nil {
				t.Errorf("%s %v: %v", char, on, err)
			}
		}
	}
	if err := s.React(t.Context(), "-5", "3", "🔍", true); err == nil {
		t.Error("it takes what Telegram does not allow")
	}
}

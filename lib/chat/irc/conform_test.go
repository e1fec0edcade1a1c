package irc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/irc/irctest"
)

// world is the fake network, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *irctest.Server
	sinks  []*Sink
}

func newWorld(t *testing.T) *world {
	s, err := irctest.New(true)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, server: s}
	t.Cleanup(func() {
		for _, s := range w.sinks {
			s.drop()
		}
		w.server.Close()
	})
	return w
}

func (w *world) options() Options {
	return Options{Address: w.server.Addr, NoTLS: true, Nick: "tri", Password: "secret",
		Chats: []string{"#dev", "#help"},
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

// Sink returns a poster in a new program: the previous one has ended.
func (w *world) Sink() chat.Sink {
	for _, s := range w.sinks {
		s.drop()
	}
	s, err := NewSink(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.sinks = []*Sink{s}
	return s
}

func (w *world) Chats() [2]string          { return [2]string{"#dev", "#help"} }
func (w *world) Bot() (id, handle string)  { return "tri", "@tri" }
func (w *world) Sees(body string) string   { return text.Visible(body) }
func (w *world) Hears(text string) string  { return withoutFormatting(text) }
func (w *world) Pings(string, string) bool { return false } // IRC has no such message

func (w *world) Lacks(f chattest.Feature) bool {
	switch f {
	case chattest.Edits, chattest.Deletions, chattest.Threads, chattest.Memory, chattest.Files,
		chattest.Lines, chattest.Long:
		return true
	case chattest.History:
		return !w.server.Modern
	}
	return false
}

func (w *world) Say(chatID, person, _, text string) string { return w.server.Say(person, chatID, text) }
func (w *world) Edit(string, string, string)               { w.t.Error("there are no edits") }
func (w *world) Delete(string, string)                     { w.t.Error("there are no deletions") }
func (w *world) File(string, string, string) string        { w.t.Error("there are no files"); return "" }
func (w *world) Garble()                                   { w.server.Garble() }
func (w *world) Revoke()                                   { w.server.Revoke() }

func (w *world) Break(f chattest.Faults) {
	w.server.SetFaults(irctest.Faults{Seed: f.Seed, Cut: min(f.Cut, 0.5), Duplicate: f.Duplicate,
		LoseAnswer: f.LoseAnswer, Fail: max(f.Fail, f.FailAfter), Busy: f.Busy})
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.Say(chatID, "ana", "", fmt.Sprintf("burst %d", i)))
	}
	return ids
}

func (w *world) Standing(chatID, _ string) (texts []string) {
	for _, m := range w.server.All() {
		if m.Channel == chatID && (m.Nick == "tri_" || m.Nick == "tri__") { // it may not have left yet
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
	return fmt.Sprintf("  irc:\n    address: %s\n    no_tls: true\n", w.server.Addr), nil
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

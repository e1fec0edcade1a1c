package discord

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/discord/discordtest"
)

// world is the fake Discord, implementing chattest's interfaces.
type world struct {
	t      *testing.T
	server *discordtest.Server
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: discordtest.New()}
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) options() Options {
	return Options{
		URL: w.server.URL, Token: discordtest.Token,
		Chats: []string{discordtest.Dev, discordtest.Help, discordtest.Forum},
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(d, 5*time.Millisecond)):
				return nil
			}
		},
	}
}

func (w *world) client() *Client {
	w.t.Helper()
	c, err := New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) sink() *Sink { return newSink(w.client()) }

func (w *world) Source() chat.Source      { return w.client() }
func (w *world) Sink() chat.Sink          { return w.sink() }
func (w *world) Chats() [2]string         { return [2]string{discordtest.Dev, discordtest.Help} }
func (w *world) Bot() (id, handle string) { return discordtest.Bot, "<@" + discordtest.Bot + ">" }
func (w *world) Edit(_, id, text string)  { w.server.Edit(id, text) }
func (w *world) Delete(_, id string)      { w.server.Delete(id) }
func (w *world) Sees(text string) string  { return shown(text) }

// Lacks: a message has 2,000 characters. Deletions made while no source was running are sent only
// to a resumed session, or detected by a source that remembers the messages it has emitted.
func (w *world) Lacks(f chattest.Feature) bool {
	return f == chattest.Long || f == chattest.Traces || f == chattest.Keys
}

func (w *world) Say(chatID, person, thread, text string) string {
	if thread == "" {
		return w.server.Say(chatID, person, text, nil)
	}
	w.server.Thread(thread, "a thread")
	return w.server.Say(thread, person, text, nil)
}

func (w *world) Type(chatID, person string) {
	w.server.Tell("TYPING_START", discordtest.M{"channel_id": chatID, "guild_id": discordtest.Guild,
		"user_id": discordtest.Person(person)["id"]})
}

func (w *world) Pings(_, id string) bool {
	for _, place := range []string{discordtest.Dev, discordtest.Help, id} {
		for _, m := range w.server.Messages(place) {
			if m.ID == id {
				return m.Data["mention_everyone"] == true
			}
		}
	}
	return false
}

func (w *world) Break(f chattest.Faults) {
	w.server.SetFaults(discordtest.Faults{
		Seed: f.Seed, Cut: f.Cut, Duplicate: f.Duplicate, Reorder: f.Reorder, Lose: f.Lose,
		Fail: f.Fail, Busy: f.Busy, LoseAnswer: f.LoseAnswer, FailAfter: f.FailAfter,
	})
}

func (w *world) Burst(chatID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, w.server.Say(chatID, "ana", fmt.Sprintf("burst %d", i), nil))
	}
	return ids
}

func (w *world) File(chatID, person, name string) string {
	return w.server.Say(chatID, person, "", discordtest.M{"attachments": []discordtest.M{{
		"id": "1", "filename": name, "content_type": "text/plain; charset=utf-8", "size": 12,
		"url": "https://cdn.discordapp.com/attachments/1/1/" + name,
	}}})
}

func (w *world) Garble() {
	w.server.Raw([]byte(`{"op":0,"s":`))
	w.server.Raw([]byte(`[]`))
	w.server.Raw([]byte(`{"op":0,"t":"MESSAGE_CREATE","d":{"id":7,"content":[]}}`))
	big := make([]byte, maxFrame+1)
	for i := range big {
		big[i] = ' '
	}
	w.server.Raw(big)
}

func (w *world) Revoke() { w.server.Revoke() }

func (w *world) Standing(_, thread string) (texts []string) {
	for _, m := range w.server.Messages(thread) {
		if m.Author == "" {
			texts = append(texts, m.Data["content"].(string))
		}
	}
	return texts
}

// keeping is a world whose sources remember their session, which Discord resumes, and, if Discord
// has discarded it, the emitted messages.
type keeping struct {
	*world
	forgets bool

	mu   sync.Mutex
	text []byte
}

func (w *keeping) Lacks(f chattest.Feature) bool {
	return f != chattest.Traces && w.world.Lacks(f)
}

func (w *keeping) Load() ([]byte, error) {
	if w.forgets {
		w.server.Forget()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text, nil
}

func (w *keeping) Save(b []byte) error {
	if len(b) > 64<<10 {
		return fmt.Errorf("%d bytes", len(b))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = b
	return nil
}

func TestConformance(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newWorld(t) }
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Sink", func(t *testing.T) { chattest.Sink(t, world) })
	t.Run("Faulted", func(t *testing.T) {
		chattest.Faulted(t, func(t *testing.T) chattest.Faulty { return newWorld(t) })
	})
}

func TestConformanceResumed(t *testing.T) {
	for name, forgets := range map[string]bool{"resumed": false, "forgotten": true} {
		t.Run(name, func(t *testing.T) {
			chattest.Source(t, func(t *testing.T) chattest.World {
				return &keeping{world: newWorld(t), forgets: forgets}
			})
			chattest.Faulted(t, func(t *testing.T) chattest.Faulty {
				return &keeping{world: newWorld(t), forgets: forgets}
			})
		})
	}
}

func (w *world) Config() (yaml string, env []string) {
	return fmt.Sprintf("  discord:\n    enabled: true\n    api_url: %s\n", w.server.URL),
		[]string{"DISCORD_TOKEN=" + discordtest.Token}
}

func TestLoad(t *testing.T) { chattest.Load(t, newWorld(t)) }

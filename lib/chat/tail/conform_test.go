package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
)

// world is a folder of WeeChat's logs, implementing chattest's interfaces.
type world struct {
	t   *testing.T
	dir string

	mu    sync.Mutex
	first map[string]string // the first line of each log
	again map[string]int
	saved []byte
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: t.TempDir(), first: map[string]string{}, again: map[string]int{}}
}

func (w *world) path(room string) string { return filepath.Join(w.dir, room+".weechatlog") }

func (w *world) options() Options {
	return Options{Files: []string{w.path("#dev"), w.path("#help")}, Tick: 20 * time.Millisecond}
}

func (w *world) Source() chat.Source {
	c, err := New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) Sink() chat.Sink          { w.t.Fatal("nothing is posted to a log"); return nil }
func (w *world) Chats() [2]string         { return [2]string{"#dev", "#help"} }
func (w *world) Bot() (id, handle string) { return "tri", "@tri" }
func (w *world) Sees(text string) string  { return text }
func (w *world) Pings(string, string) bool {
	return false
}
func (w *world) Edit(string, string, string) { w.t.Error("there are no edits") }
func (w *world) Delete(string, string)       { w.t.Error("there are no deletions") }

func (w *world) Lacks(f chattest.Feature) bool {
	switch f {
	case chattest.History, chattest.Long, chattest.Emoji:
		return false
	}
	return true
}

func (w *world) Load() ([]byte, error) { w.mu.Lock(); defer w.mu.Unlock(); return w.saved, nil }
func (w *world) Save(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = append([]byte(nil), b...)
	return nil
}

// Say appends a line and returns its expected id.
func (w *world) Say(room, person, _, text string) string {
	return w.write(room, fmt.Sprintf("2026-11-22 10:00:00\t%s\t%s", person, text))
}

func (w *world) write(room, text string) string {
	w.t.Helper()
	f, err := os.OpenFile(w.path(room), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		w.t.Fatal(err)
	}
	if info.Size() == 0 {
		first := text[:min(len(text), window)]
		if w.first[room] == first {
			w.again[room]++
		} else {
			w.first[room], w.again[room] = first, 0
		}
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		w.t.Fatal(err)
	}
	p := position{First: hash([]byte(w.first[room])), Again: w.again[room]}
	return p.id(info.Size(), []byte(strings.TrimRight(text, "\r\n")))
}

func TestConformance(t *testing.T) {
	world := func(t *testing.T) chattest.World { return newWorld(t) }
	t.Run("Source", func(t *testing.T) { chattest.Source(t, world) })
	t.Run("Poll", func(t *testing.T) {
		chattest.Source(t, func(t *testing.T) chattest.World { return &polled{newWorld(t)} })
	})
	t.Run("Forgetful", func(t *testing.T) {
		chattest.Source(t, func(t *testing.T) chattest.World { return &forgetful{newWorld(t)} })
	})
}

// polled is a world without change notifications.
type polled struct{ *world }

func (w *polled) Source() chat.Source {
	o := w.options()
	o.Poll = true
	c, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// forgetful is a world that loses the saved state.
type forgetful struct{ *world }

func (w *forgetful) Load() ([]byte, error) { return nil, nil }
func (w *forgetful) Save([]byte) error     { return nil }

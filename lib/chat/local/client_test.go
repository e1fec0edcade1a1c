package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// world is a chat in a folder, with people who write with echo.
type world struct {
	t   *testing.T
	dir string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir()}
	for _, c := range w.Chats() {
		w.append(c, "")
	}
	return w
}

func (w *world) client() *Client {
	c, err := New(Options{Dir: w.dir})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) Source() chat.Source { return w.client() }

func (w *world) Sink() chat.Sink { return w.sink() }

func (w *world) sink() *Sink { return &Sink{w.client()} }

func (w *world) Chats() [2]string { return [2]string{"dev", "help-全"} }

func (w *world) Bot() (id, handle string) { return "tri", "@tri" }

func (w *world) Sees(body string) string { return text.Visible(body) }

func (w *world) Pings(room, mess string) bool { return false } // no other program reads a room

// append works like echo: one write at the end. It returns the write's offset.
func (w *world) append(room, text string) int64 {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.dir, room), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
	end, err := f.Seek(0, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return end - int64(len(text))
}

func (w *world) Say(room, person, thread, text string) string {
	if thread != "" {
		person += " >" + thread
	}
	return strconv.FormatInt(w.append(room, person+": "+text+"\n"), 10)
}

func (w *world) Edit(room, message, text string) {
	off, err := strconv.Atoi(message)
	if err != nil {
		w.t.Fatal(err)
	}
	h, _, _ := parse(w.read(room)[off:])
	w.append(room, fmt.Sprintf("%s !%s: %s\n", h.name, message, text))
}

func (w *world) Delete(room, message string) { w.Edit(room, message, "") }

func (w *world) read(room string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, room))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func TestSource(t *testing.T) {
	chattest.Source(t, func(t *testing.T) chattest.World { return newWorld(t) })
}

func TestSink(t *testing.T) {
	chattest.Sink(t, func(t *testing.T) chattest.World { return newWorld(t) })
}

// once reads the rooms and returns also the log messages.
func (w *world) once() (events []event.Event, said []string) {
	w.t.Helper()
	c, err := New(Options{Dir: w.dir, Once: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	to := chattest.Handler{
		Log:   func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
		Event: func(e event.Event) error { events = append(events, e); return nil },
	}
	if err := c.Run(context.Background(), chat.Resume{}, to); err != nil {
		w.t.Fatal(err)
	}
	return events, said
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		line string
		head head
		text string
	}{
		{"ana: hi", head{name: "ana"}, "hi"},
		{"ana:", head{name: "ana"}, ""},
		{"ana:  two spaces ", head{name: "ana"}, " two spaces "},
		{"ana >12: hi", head{name: "ana", mark: '>', id: 12}, "hi"},
		{"ana !12:", head{name: "ana", mark: '!', id: 12}, ""},
		{"tri >12 [k-1]: hi", head{name: "tri", mark: '>', id: 12, key: "k-1"}, "hi"},
		{"田中: こんにちは", head{name: "田中"}, "こんにちは"},
		{"ana:hi", head{name: anon}, "ana:hi"},
		{"http://x: y", head{name: anon}, "http://x: y"},
		{"no name here", head{name: anon}, "no name here"},
		{"ana maria: hi", head{name: anon}, "ana maria: hi"},
		{"ana >x: hi", head{name: anon}, "ana >x: hi"},
		{"ana >1234567890123456789: hi", head{name: anon}, "ana >1234567890123456789: hi"},
		{"a\x1b[1m: hi", head{name: anon}, "a\x1b[1m: hi"},
		{"a\u202eb: hi", head{name: anon}, "a\u202eb: hi"},
		{"\xff: hi", head{name: anon}, "\xff: hi"},
		{strings.Repeat("a", 65) + ": hi", head{name: anon}, strings.Repeat("a", 65) + ": hi"},
		{"", head{name: anon}, ""},
	} {
		if h, text, _ := parse(c.line); h != c.head || text != c.text {
			t.Errorf("%q: %+v %q, want %+v %q", c.line, h, text, c.head, c.text)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"ana: hi", "x", "a \\\nb", " \\", "\\  ", "é\x00\u2028", "\n\t\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		line := encode("tri", 7, "k", said)
		b := []byte(line + "\tana: injected\nben: next\n")
		n := whole(b, false)
		if n != len(line) {
			t.Fatalf("%q: the message ends at %d of %d", said, n, len(line))
		}
		h, body, ok := parse(strings.TrimSuffix(line, "\n"))
		if !ok || h.key != "k" || h.id != 7 {
			t.Fatalf("%q: head %+v", said, h)
		}
		if got := decodeText(body); got != text.Visible(said) {
			t.Fatalf("%q: came as %q", text.Visible(said), got)
		}
	})
}

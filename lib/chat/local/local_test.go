package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/event"
)

// world is a chat in a folder, with people who use echo.
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
func (w *world) Sink() chat.Sink     { return w.sink() }

func (w *world) sink() *Sink      { return &Sink{w.client()} }
func (w *world) Chats() [2]string { return [2]string{"dev", "help-全"} }

func (w *world) Bot() (id, handle string)     { return "tri", "@tri" }
func (w *world) Sees(text string) string      { return visible(text) }
func (w *world) Pings(room, mess string) bool { return false } // nothing reads a room but our source

// append is what echo does: one write at the end. It returns the write's offset.
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

// once reads what is there and returns what was said to the operator too.
func (w *world) once() (events []event.Event, said []string) {
	w.t.Helper()
	c, err := New(Options{Dir: w.dir, Once: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	r := chat.Resume{Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	if err := c.Run(context.Background(), r, func(e event.Event) error {
		events = append(events, e)
		return nil
	}); err != nil {
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

// TestRoom tells what each kind of line becomes, and what the operator is told.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	say := func(line string) string { return strconv.FormatInt(w.append("dev", line+"\n"), 10) }
	root := say("ana: where is the limit?")
	reply := say("ben >" + root + ": ana: in client.go")
	deep := say("ana >" + reply + ": thanks @Ben, and mail a@b.example")
	lone := say("just a line")
	say("")
	say("   ")
	say("ben !" + root + ": hijacked")
	say("anon !" + lone + ": hijacked")
	say("ben !999999: nothing there")
	stray := say("cat >999999: hm")
	windows := say("dan: from Windows\r")
	bad := say("dan: broken \xff here")
	say("ana !" + root + ":")
	say("ana !" + root + ": too late")
	w.append("dev", "ana: not fini")

	events, said := w.once()
	type row struct{ id, sender, thread, replyTo, text, mentions string }
	want := []row{
		{root, "ana", "", "", "where is the limit?", ""},
		{reply, "ben", root, "", "ana: in client.go", "ana"},
		{deep, "ana", root, reply, "thanks @Ben, and mail a@b.example", "ben"},
		{lone, "anon", "", "", "just a line", ""},
		{stray, "cat", "", "", "hm", ""},
		{windows, "dan", "", "", "from Windows", ""},
		{bad, "dan", "", "", "broken \uFFFD here", ""},
		{root, "ana", "", "", "", ""}, // deleted
	}
	var got []row
	for _, e := range events {
		r := row{e.MessageID, e.Sender.ID, "", e.ReplyToID, e.Content, strings.Join(e.Mentions, " ")}
		if e.ThreadID != nil {
			r.thread = *e.ThreadID
		}
		got = append(got, r)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if len(said) != 5 {
		t.Errorf("five lines refer to what they may not or cannot; said: %q", said)
	}
	again, _ := w.once()
	for i := range again {
		if again[i].Identity() != events[i].Identity() {
			t.Errorf("read again, event %d is another: %q, %q", i, events[i].Identity(), again[i].Identity())
		}
	}
}

func TestRoomNames(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".dev.swp", "dev~", "a b", "-rf", "x\x1b[1m", "\xff", "good_1.txt"} {
		w.append(name, "ana: hi\n")
	}
	if err := os.Mkdir(filepath.Join(w.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dev", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	events, said := w.once()
	if len(events) != 1 || events[0].ChatID != "good_1.txt" {
		t.Errorf("read: %+v", events)
	}
	if len(said) != 6 { // all but the dot file and the folder
		t.Errorf("refused by name: %q", said)
	}
}

// TestLongLine: a line over the limit is named and skipped, the next is read.
func TestLongLine(t *testing.T) {
	for _, n := range []int{maxLine + 1, chunk - 1, chunk, 3*chunk + 7} {
		w := newWorld(t)
		w.append("dev", "ana: "+strings.Repeat("x", n)+"\n")
		w.append("dev", "ana: next\n")
		events, said := w.once()
		if len(events) != 1 || events[0].Content != "next" || len(said) != 1 {
			t.Errorf("%d bytes: %d events, said %q", n, len(events), said)
		}
	}
}

// TestRewritten: a room whose past changes is said and left, others go on.
func TestRewritten(t *testing.T) {
	w := newWorld(t)
	w.Say("dev", "ana", "", "one")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said, heard, ended := make(chan string, 9), make(chan event.Event, 9), make(chan error)
	go func() {
		ended <- w.client().Run(ctx, chat.Resume{Say: func(format string, args ...any) { said <- fmt.Sprintf(format, args...) }},
			func(e event.Event) error { heard <- e; return nil })
	}()
	if e := <-heard; e.Content != "one" {
		t.Fatalf("heard %q", e.Content)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "dev"), []byte("zoe: another past\nzoe: and more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := <-said; !strings.Contains(s, "cut or rewritten") {
		t.Errorf("said %q", s)
	}
	w.Say("help-全", "ana", "", "still there?")
	if e := <-heard; e.Content != "still there?" {
		t.Errorf("heard %q", e.Content)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTornPost: a writer killed anywhere inside its write, with or without a
// person's line behind it, leaves a room in which the post is found whole, or
// provably not and then posted once.
func TestTornPost(t *testing.T) {
	ctx := context.Background()
	p := chat.Post{ChatID: "dev", ThreadID: "0", Key: "k-1", Text: "first \\\nsecond\n\nlast \\"}
	line := encode("tri", 0, p.Key, p.Text)
	for _, behind := range []string{"", "ana: and now?\n"} {
		for cut := range len(line) + 1 {
			w := newWorld(t)
			w.Say("dev", "ana", "", "a question")
			w.append("dev", line[:cut]+behind)
			sink := w.Sink()
			got, proof, err := sink.Find(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			if proof == chat.Absent {
				if got, err = sink.Post(ctx, p); err != nil {
					t.Fatalf("cut at %d: %v", cut, err)
				}
			}
			if proof == chat.Unprovable {
				if behind == "" {
					t.Errorf("cut at %d: unprovable", cut)
				}
				continue // a person's words stand inside ours: a person settles it
			}
			w.append("dev", "ana: thanks\n")
			whole, thanks := 0, false
			events, _ := w.once()
			gone := map[string]bool{}
			for _, e := range events {
				gone[e.MessageID] = gone[e.MessageID] || e.Deleted
				thanks = thanks || e.Content == "thanks"
			}
			for _, e := range events {
				if e.Sender.Type == "bot" && !gone[e.MessageID] {
					whole++
					if !strings.HasPrefix(e.Content, p.Text) || e.MessageID != got.MessageID {
						t.Errorf("cut at %d: stands as %q", cut, e.Content)
					}
				}
			}
			if whole != 1 || !thanks {
				t.Errorf("cut at %d behind %q (%v): %d posts, thanks %v in\n%s", cut, behind, proof, whole, thanks, w.read("dev"))
			}
			if back, proof, err := sink.Find(ctx, p); err != nil || proof != chat.Found || back.MessageID != got.MessageID {
				t.Errorf("cut at %d: found again %v %v %v, want %v", cut, back, proof, err, got)
			}
		}
	}
}

// TestPostTwice: the same key is written once.
func TestPostTwice(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	p := chat.Post{ChatID: "dev", ThreadID: w.Say("dev", "ana", "", "a question"), Key: "k-1", Text: "an answer"}
	first, err := w.Sink().Post(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	before := w.read("dev")
	second, err := w.Sink().Post(ctx, p)
	if err != nil || second.MessageID != first.MessageID || w.read("dev") != before {
		t.Errorf("posted again: %v, %v, %v\n%s", first, second, err, w.read("dev"))
	}
}

func TestRefusedPosts(t *testing.T) {
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "a question")
	dead := w.Say("dev", "ana", "", "deleted")
	w.Delete("dev", dead)
	before := w.read("dev")
	good := chat.Post{ChatID: "dev", ThreadID: root, Key: "k", Text: "x"}
	for name, change := range map[string]func(*chat.Post){
		"thread deleted": func(p *chat.Post) { p.ThreadID = dead },
		"no thread":      func(p *chat.Post) { p.ThreadID = "7" },
		"thread no id":   func(p *chat.Post) { p.ThreadID = "-1" },
		"empty":          func(p *chat.Post) { p.Text = " \n" },
		"bad key":        func(p *chat.Post) { p.Key = "K]: x\nana" },
		"no key":         func(p *chat.Post) { p.Key = "" },
		"escape":         func(p *chat.Post) { p.ChatID = "../dev" },
		"hidden":         func(p *chat.Post) { p.ChatID = ".dev" },
	} {
		p := good
		change(&p)
		if _, err := w.Sink().Post(context.Background(), p); !errors.Is(err, chat.ErrRefused) {
			t.Errorf("%s: %v, want refused", name, err)
		}
	}
	if after := w.read("dev"); after != before {
		t.Errorf("written all the same: %q", after[len(before):])
	}
}

// TestHostile: the strings that break software go into a room as a post and as
// a person's line and come out again.
func TestHostile(t *testing.T) {
	raw, err := os.ReadFile("../../../../shared/data/hostile/text/blns.json")
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("left out: the hostile texts are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "a question")
	sink := w.Sink()
	want := map[string]string{}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		got, err := sink.Post(context.Background(), chat.Post{ChatID: "dev", ThreadID: root, Key: fmt.Sprintf("k-%d", i), Text: text})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want["dev "+got.MessageID] = visible(text)
		if !strings.ContainsAny(text, "\n\r") {
			want["help-全 "+w.Say("help-全", "ana", "", text)] = text
		}
	}
	events, said := w.once()
	for _, e := range events {
		key := e.ChatID + " " + e.MessageID
		if text, ok := want[key]; ok && e.Content != text {
			t.Errorf("%q came as %q", text, e.Content)
		}
		delete(want, key)
	}
	if len(want) > 0 || len(said) > 0 {
		t.Errorf("%d texts lost: %q; said %q", len(want), want, said)
	}
	for _, r := range w.read("dev") {
		if obeyed(r) {
			t.Fatalf("a raw %U stands in the room", r)
		}
	}
}

// TestFast: a line is heard at once, not at the next poll.
func TestFast(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	heard, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- w.client().Run(ctx, chat.Resume{Say: t.Logf}, func(event.Event) error { heard <- struct{}{}; return nil })
	}()
	w.Say("dev", "ana", "", "warm")
	<-heard
	var took []time.Duration
	for i := range 20 {
		start := time.Now()
		w.Say("dev", "ana", "", strconv.Itoa(i))
		<-heard
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	if took[10] > slowPoll/10 {
		t.Errorf("median %v: nothing but the poll wakes it", took[10])
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"ana: hi", "x", "a \\\nb", " \\", "\\  ", "é\x00\u2028", "\n\t\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := encode("tri", 7, "k", text)
		b := []byte(line + "\tana: injected\nben: next\n")
		n := whole(b, false)
		if n != len(line) {
			t.Fatalf("%q: the message ends at %d of %d", text, n, len(line))
		}
		h, body, ok := parse(strings.TrimSuffix(line, "\n"))
		if !ok || h.key != "k" || h.id != 7 {
			t.Fatalf("%q: head %+v", text, h)
		}
		if got := decodeText(body); got != visible(text) {
			t.Fatalf("%q: came as %q", visible(text), got)
		}
	})
}

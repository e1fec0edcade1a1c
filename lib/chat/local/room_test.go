package local

import (
	"context"
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
	"tri/lib/record/event"
)

// TestRoom: the event of each kind of line, and the log messages.
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
	if len(said) != 6 { // all except the dot file and the folder
		t.Errorf("refused by name: %q", said)
	}
}

// TestLongLine: a line over the limit is reported and skipped, the next is read.
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

// TestGivenUp: a room that was cut or rewritten is not read after a restart either.
func TestGivenUp(t *testing.T) {
	w := newWorld(t)
	long := "ana: " + strings.Repeat("first ", 50) + "\n"
	w.append("dev", long)
	var kept []byte
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said, heard, ended := make(chan string, 9), make(chan event.Event, 9), make(chan error)
	to := chattest.Handler{
		Log:   func(format string, args ...any) { said <- fmt.Sprintf(format, args...) },
		Event: func(e event.Event) error { heard <- e; return nil },
		Keep:  func(b []byte) error { kept = slices.Clone(b); return nil },
	}
	go func() { ended <- w.client().Run(ctx, chat.Resume{}, to) }()
	<-heard
	w.append("dev", "ana: two\n")
	<-heard
	if err := os.WriteFile(filepath.Join(w.dir, "dev"), []byte(long+"zoe: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := <-said; !strings.Contains(s, "cut or rewritten") {
		t.Errorf("said %q", s)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.append("dev", "zoe: anybody?\n")
	again, err := New(Options{Dir: w.dir, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	err = again.Run(context.Background(), chat.Resume{Last: map[string]time.Time{"dev": time.Now()},
		State: kept}, to)
	if err != nil || len(heard) > 0 || len(said) != 1 {
		t.Errorf("after a restart %d messages were heard, %d things said; %v", len(heard), len(said), err)
	}
}

// TestRewritten: a room that is rewritten while it is read, or just after one of its lines was
// heard, is not read any more, and the other rooms are.
func TestRewritten(t *testing.T) {
	for _, at := range []string{"while reading", "later"} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t)
			w.Say("dev", "ana", "", "one")
			rewrite := func() {
				past := []byte("zoe: another past\nzoe: and more\n")
				if err := os.WriteFile(filepath.Join(w.dir, "dev"), past, 0o600); err != nil {
					t.Error(err)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			said, heard, ended := make(chan string, 9), make(chan event.Event, 9), make(chan error)
			go func() {
				log := func(format string, args ...any) { said <- fmt.Sprintf(format, args...) }
				ended <- w.client().Run(ctx, chat.Resume{}, chattest.Handler{Log: log,
					Event: func(e event.Event) error {
						if at == "while reading" && e.Content == "one" {
							rewrite()
						}
						heard <- e
						return nil
					}})
			}()
			if e := <-heard; e.Content != "one" {
				t.Fatalf("heard %q", e.Content)
			}
			if at == "later" {
				rewrite()
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
		})
	}
}

// TestFast: a line is read at once, not at the next poll.
func TestFast(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	heard, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- w.client().Run(ctx, chat.Resume{},
			chattest.Handler{Log: t.Logf, Event: func(event.Event) error { heard <- struct{}{}; return nil }})
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

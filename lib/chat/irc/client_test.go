package irc

import (
	"bufio"
	"context"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/irc/irctest"
	"tri/lib/record/event"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]ircmsg.Message{
		"PING":      {Command: "PING"},
		"ping :a b": {Command: "PING", Params: []string{"a b"}},
		":a!b@c PRIVMSG #dev ::-) x": {Source: "a!b@c", Command: "PRIVMSG",
			Params: []string{"#dev", ":-) x"}},
		":s 353 me = #dev :@ana +ben ": {Source: "s", Command: "353",
			Params: []string{"me", "=", "#dev", "@ana +ben "}},
		`@time=2020-01-01T00:00:00.000Z;a=\:\s\\\r\n\;+x=;; :a  B  c  :`: ircmsg.MakeMessage(
			map[string]string{"time": "2020-01-01T00:00:00.000Z", "a": "; \\\r\n", "+x": ""}, "a",
			"B", "c", ""),
		":a!b@c PRIVMSG #dev :\xff": {Source: "a!b@c", Command: "PRIVMSG",
			Params: []string{"#dev", "\uFFFD"}},
		":a!b@c PRIVMSG #dev :a\rb\x00c": {Source: "a!b@c", Command: "PRIVMSG",
			Params: []string{"#dev", "abc"}},
	} {
		if got, ok := parse(in); !ok || got.whole != in || !reflect.DeepEqual(got.Message, want) {
			t.Errorf("%q: %+v %v, want %+v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", " ", ":", ":a", "@a", "@a ", "@a :b", "@a :b "} {
		if got, ok := parse(in); ok {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("@a=b :n!u@h PRIVMSG #c :\x0304,05text\x0f \x01ACTION x\x01")
	c := &listening{Client: &Client{Options{Nick: "tri", Chats: []string{"#c"}, Now: time.Now}},
		members: map[string]map[string]string{}}
	f.Fuzz(func(t *testing.T, s string) {
		l, ok := parse(s)
		if !ok {
			return
		}
		if e, ok := c.event(&conn{nick: "tri"}, &l); ok {
			if e.MessageID == "" || e.Sender.ID == "" || !utf8.ValidString(e.Content) ||
				strings.ContainsAny(e.Content, "\r\n\x00\x01\x02\x1b") {
				t.Errorf("%q came as %+v", s, e)
			}
		}
	})
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\x02b\x02\x1dc\x0f": "abc", "\x0304,12red\x03 7": "red 7", "\x033green": "green",
		"\x0312345": "345", "\x03,x": ",x",
		"\x04ff00aahex": "hex", "tab\tstays": "tab\tstays", "\x1b[31m": "[31m", "é\x02é": "éé",
	} {
		if got := withoutFormatting(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if fold("Ana[X]\\^_-9é") != "ana{x}|~_-9é" {
		t.Error(fold("Ana[X]\\^_-9é"))
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{{"one", 1}, {"one\ntwo\n\n  \nthree", 3}, {strings.Repeat("é", 1000), 5},
		{strings.Repeat("word ", 200), 3}, {"", 0}, {"\r\x00", 1}} {
		got := lines(tt.in)
		if len(got) != tt.want {
			t.Errorf("%.20q: %d lines, want %d", tt.in, len(got), tt.want)
		}
		for _, l := range got {
			if len(l) > maxText || !utf8.ValidString(l) || strings.ContainsAny(l, "\r\n\x00\x01") {
				t.Errorf("%.20q: line %q", tt.in, l)
			}
		}
	}
}

func TestEvents(t *testing.T) {
	l := &listening{Client: &Client{Options{Nick: "tri", Chats: []string{"#Dev", "boss"},
		Now: func() time.Time { return time.Unix(1700000000, 0) }}}, members: map[string]map[string]string{}}
	for _, nick := range []string{"Ana", "ben", "tri"} {
		l.member("#dev", nick)
	}
	for in, want := range map[string]struct {
		chat, sender, kind, text string
		mentions                 []string
	}{
		":ben!x@y PRIVMSG #dev :ana: look, @tri": {"#Dev", "ben", "user", "ana: look, @tri",
			[]string{"Ana", "tri"}},
		":ben!x@y PRIVMSG #DEV :ana is away": {"#Dev", "ben", "user", "ana is away", []string{}},
		":ben!x@y PRIVMSG #dev :ask TRI about it.": {"#Dev", "ben", "user", "ask TRI about it.",
			[]string{"tri"}},
		":ben!x@y PRIVMSG #dev :try triage: it is": {"#Dev", "ben", "user",
			"try triage: it is", []string{}},
		":ben!x@y PRIVMSG #dev :\x01ACTION waves\x01": {"#Dev", "ben", "user", "* ben waves", []string{}},
		":tri_!x@y PRIVMSG #dev :ana: it is 5": {"#Dev", "tri", "bot", "ana: it is 5",
			[]string{"Ana"}},
		":ci!x@y NOTICE #dev :built":       {"#Dev", "ci", "bot", "built", []string{}},
		"@bot :ci!x@y PRIVMSG #dev :built": {"#Dev", "ci", "bot", "built", []string{}},
		":boss!x@y PRIVMSG tri :where?":    {"boss", "boss", "user", "where?", []string{"tri"}},
	} {
		x, _ := parse(in)
		e, ok := l.event(&conn{nick: "tri"}, &x)
		if !ok || e.ChatID != want.chat || e.Sender.ID != want.sender || e.Sender.Type != want.kind ||
			e.Content != want.text || !reflect.DeepEqual(e.Mentions, want.mentions) {
			t.Errorf("%q: %+v %v, want %+v", in, e, ok, want)
		}
	}
	for _, in := range []string{":irc.test NOTICE * :hi", ":x!y@z PRIVMSG tri :not watched",
		":x!y@z PRIVMSG #other :x", ":x!y@z PRIVMSG #dev :\x01VERSION\x01"} {
		x, _ := parse(in)
		if e, ok := l.event(&conn{nick: "tri"}, &x); ok {
			t.Errorf("%q came as %+v", in, e)
		}
	}
}

// TestOldServer: a server without ids, times and history works, and lost messages are logged.
func TestOldServer(t *testing.T) {
	w := newWorld(t)
	w.server.Close()
	s, err := irctest.New(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w.server = s
	heard, said, up := make(chan event.Event, 9), make(chan string, 99), make(chan bool, 9)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Source().Run(ctx,
			chat.Resume{Last: map[string]time.Time{"#dev": time.Unix(1700000000, 0)}},
			chattest.Handler{Log: func(format string, args ...any) {
				said <- format
			}, Connect: func(b bool) { up <- b }, Event: func(e event.Event) error {
				heard <- e
				return nil
			}})
	}()
	for !<-up {
	}
	if s := <-said; !strings.Contains(s, "keeps no history") {
		t.Errorf("said %q", s)
	}
	// The JOIN may still be in progress when the connection is up.
	for got := false; !got; {
		s.Say("ana", "#dev", "hello")
		select {
		case e := <-heard:
			got = e.Content == "hello" && e.MessageID != ""
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	posted, err := w.Sink().Post(t.Context(),
		chat.Post{ChatID: "#dev", ThreadID: "1", ReplyToID: "1", Text: "It is 5.\nSee a.go.", Key: "k"})
	if got := w.Standing("#dev", ""); err != nil || posted.MessageID == "" ||
		!reflect.DeepEqual(got, []string{"It is 5.", "See a.go."}) {
		t.Errorf("%+v %v: %q", posted, err, got)
	}
	if _, err := w.Sink().Post(t.Context(),
		chat.Post{ChatID: "#closed", Text: "x", Key: "k"}); !chat.IsRefused(err) {
		t.Errorf("a channel that cannot be joined: %v", err)
	}
}

// TestCutLine: a server that falls silent within a line is not an idle one; the line's rest would be one of
// another's words.
func TestCutLine(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	go func() { _, _ = there.Write([]byte(":ana!a@b PRIVMSG #dev :as ben said ")) }()
	_, err := (&conn{net: here, in: bufio.NewReaderSize(here, maxLine)}).read(50 * time.Millisecond)
	if err == nil || errTimeout(err) {
		t.Error(err)
	}
}

// TestManyLines: what cannot be said within the minute that a post has is refused, and no part of it is said.
func TestManyLines(t *testing.T) {
	for n, refused := range map[int]bool{80: false, 100: true, 999: true} {
		w, waited := newWorld(t), time.Duration(0)
		o := w.options()
		o.Sleep = func(_ context.Context, d time.Duration) error { waited += d; return nil }
		s, err := NewSink(o)
		if err != nil {
			t.Fatal(err)
		}
		w.sinks = append(w.sinks, s)
		_, err = s.Post(t.Context(), chat.Post{ChatID: "#dev", Text: strings.Repeat("x\n", n), Key: "k"})
		if got := len(w.Standing("#dev", "")); chat.IsRefused(err) != refused || (got == 0) != refused ||
			waited > 50*time.Second {
			t.Errorf("%d lines: %v after %v, %d of them are there", n, err, waited, got)
		}
	}
}

// TestSaidWhileHistoryIsRead: messages of a channel whose history has been read are not lost while
// the history of another is read.
func TestSaidWhileHistoryIsRead(t *testing.T) {
	w := newWorld(t)
	w.server.Say("ana", "#dev", "before")
	w.server.Meanwhile = map[string]irctest.Said{"#help": {Nick: "ana", Channel: "#dev", Text: "meanwhile"},
		"#dev": {Nick: "ana", Channel: "#help", Text: "as well"}}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	came := map[string]bool{}
	long := time.Now().Add(-time.Hour)
	err := w.Source().Run(ctx, chat.Resume{Last: map[string]time.Time{"#dev": long, "#help": long}},
		chattest.Handler{Log: t.Logf, Event: func(e event.Event) error {
			if came[e.ChatID+" "+e.Content] = true; len(came) == 3 {
				stop()
			}
			return nil
		}})
	if err != nil || len(came) != 3 {
		t.Errorf("came: %v, %v", came, err)
	}
}

// TestSilentChannel: what was said in an absence in a channel that is not in the log is read back, also
// behind pages of history that hold no messages.
func TestSilentChannel(t *testing.T) {
	w := newWorld(t)
	w.server.Joins = map[string]int{"#help": 450}
	w.server.Say("ana", "#help", "missed")
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	heard := ""
	last := map[string]time.Time{"#dev": time.Now().Add(-time.Hour)}
	err := w.Source().Run(ctx, chat.Resume{Last: last},
		chattest.Handler{Log: t.Logf, Event: func(e event.Event) error {
			heard += e.Content
			stop()
			return nil
		}})
	if err != nil || heard != "missed" {
		t.Errorf("heard %q, %v", heard, err)
	}
}

func TestNew(t *testing.T) {
	good := Options{Address: "irc.test:6697", Nick: "tri", Chats: []string{"#dev"}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"no port":          func(o *Options) { o.Address = "irc.test" },
		"no nick":          func(o *Options) { o.Nick = "" },
		"nick":             func(o *Options) { o.Nick = "a b" },
		"chat":             func(o *Options) { o.Chats = []string{"#a,#b"} },
		"line end in chat": func(o *Options) { o.Chats = []string{"#a\r\nQUIT"} },
		"in the clear":     func(o *Options) { o.NoTLS, o.Password = true, "x" },
		"line end":         func(o *Options) { o.Password = "x\ny" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: is taken", name)
		} else if s, _ := sysexit.Of(err); s != sysexit.Config {
			t.Errorf("%s: status %d", name, s)
		}
	}
	if err := new(conn).write("PRIVMSG #dev :a\r\nQUIT"); err == nil {
		t.Error("a line end is sent")
	}
}

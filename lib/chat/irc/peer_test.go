//go:build peers

package irc

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// person is a user of the real server, with this package's client.
func person(t *testing.T, address, nick string) *conn {
	t.Helper()
	c, err := New(Options{Address: address, NoTLS: true, Nick: nick})
	if err != nil {
		t.Fatal(err)
	}
	k, err := c.dial(t.Context(), nick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.net.Close() })
	if err := k.write("JOIN #dev"); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestRealServer uses an independent IRC server without extensions, which scripts/peers/irc names
// in TRI_PEER_IRC.
func TestRealServer(t *testing.T) {
	address := os.Getenv("TRI_PEER_IRC")
	if address == "" {
		t.Fatal("TRI_PEER_IRC is not set: run scripts/peers/irc")
	}
	ana := person(t, address, "ana")
	heard, up := make(chan event.Event, 999), make(chan bool, 9)
	o := Options{Address: address, NoTLS: true, Nick: "tri", Chats: []string{"#dev"}, Pulse: time.Second}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(b bool) {
			up <- b
		}, Event: func(e event.Event) error {
			heard <- e
			return nil
		}})
	}()
	for !<-up {
	}
	next := func() event.Event {
		select {
		case e := <-heard:
			return e
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is heard")
			return event.Event{}
		}
	}
	say := func(text string) {
		if err := ana.write("PRIVMSG #dev", ":"+text); err != nil {
			t.Fatal(err)
		}
	}
	for warm := true; warm; { // until our JOIN is through
		say("tri: where is the retry limit?")
		select {
		case e := <-heard:
			warm = e.Content != "tri: where is the retry limit?" ||
				!reflect.DeepEqual(e.Mentions, []string{"tri"})
		case <-time.After(200 * time.Millisecond):
		}
	}
	say("the end of the beginning 重试 é")
	for e := next(); e.Content != "the end of the beginning 重试 é"; e = next() {
	}
	s, err := NewSink(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.drop()
	posted, err := s.Post(t.Context(), chat.Post{ChatID: "#dev", ThreadID: "1", ReplyToID: "1", Key: "k",
		Text: "It is 5.\n" + strings.Repeat("word ", 100)})
	if err != nil || posted.MessageID == "" {
		t.Fatal(posted, err)
	}
	var texts []string
	for range 3 {
		e := next()
		if e.Sender.ID != "tri" || e.Sender.Type != "bot" {
			t.Errorf("our own message came as %+v", e)
		}
		texts = append(texts, e.Content)
	}
	if texts[0] != "It is 5." || len(strings.Fields(strings.Join(texts[1:], " "))) != 100 {
		t.Errorf("said %q", texts)
	}
	if _, err := s.Post(t.Context(), chat.Post{ChatID: "#" + strings.Repeat("x", 60), Text: "x",
		Key: "k"}); !chat.IsRefused(err) {
		t.Errorf("a channel that cannot be: %v", err)
	}
	time.Sleep(1500 * time.Millisecond) // more than a pulse: the server has answered a PING
	for i := range 20 {
		say(fmt.Sprintf("line %d", i))
		time.Sleep(100 * time.Millisecond) // the server delays faster clients
	}
	var lines []string
	for range 20 {
		lines = append(lines, next().Content)
	}
	if lines[0] != "line 0" || lines[19] != "line 19" || !slices.IsSortedFunc(lines, func(a, b string) int {
		return len(a) - len(b)
	}) {
		t.Errorf("heard %q", lines)
	}
	if _, findings := c.Check(t.Context()); len(findings) == 0 || !findings[0].OK {
		t.Errorf("%+v", findings)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package mattermost

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// mattermostWorld is the interface for the tests beyond the common suite. They run against the fake
// and against a real server from scripts/peers, so that the fake cannot drift from it.
type mattermostWorld interface {
	chattest.World
	// clientOver is a client that uses h.
	clientOver(h *http.Client) *Client
	// forge posts p as a person, with the bot's key on it.
	forge(person string, p chat.Post)
}

// moreTests are the cases for every server.
var moreTests = map[string]func(*testing.T, mattermostWorld){
	"LongGap":      longGap,
	"LongThread":   longThread,
	"NotOurs":      notOurs,
	"SameKey":      sameKey,
	"ReplyDeleted": replyDeleted,
	"RootDeleted":  rootDeleted,
	"Resumed":      resumed,
	"CrowdIsSeen":  crowdIsSeen,
	"NoPreview":    noPreview,
}

// wires is a transport whose connections a test can cut.
type wires struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (w *wires) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			w.mu.Lock()
			w.conns = append(w.conns, c)
			w.mu.Unlock()
		}
		return c, err
	}}}
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// ear is a running source and the events it has emitted, each identity once.
type ear struct {
	t    *testing.T
	stop func()
	done chan struct{}

	mu     sync.Mutex
	events []event.Event
	seen   map[string]int
	said   []string
	more   chan struct{}
}

func hear(t *testing.T, c *Client, last map[string]time.Time) *ear {
	ctx, cancel := context.WithCancel(context.Background())
	e := &ear{t: t, done: make(chan struct{}), seen: map[string]int{}, more: make(chan struct{}, 1)}
	e.stop = func() { cancel(); <-e.done }
	up := make(chan struct{}, 100)
	go func() {
		defer close(e.done)
		err := c.Run(ctx, chat.Resume{Last: last}, chattest.Handler{Log: e.say, Connect: func(u bool) {
			if u {
				select {
				case up <- struct{}{}:
				default:
				}
			}
		}, Event: e.emit})
		if err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(e.stop)
	select {
	case <-up:
	case <-time.After(20 * time.Second):
		t.Fatal("never up")
	}
	return e
}

func (e *ear) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, fmt.Sprintf(format, args...))
}

func (e *ear) emit(v event.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[v.Identity()]++; e.seen[v.Identity()] == 1 {
		e.events = append(e.events, v)
	}
	select {
	case e.more <- struct{}{}:
	default:
	}
	return nil
}

func (e *ear) heard() ([]event.Event, []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.events), slices.Clone(e.said)
}

func (e *ear) until(what string, ok func([]event.Event) bool) []event.Event {
	e.t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		es, said := e.heard()
		if ok(es) {
			return es
		}
		select {
		case <-e.more:
		case <-timeout:
			e.t.Fatalf("never came: %s; %d events, said: %q", what, len(es), said)
		}
	}
}

func has(id string) func([]event.Event) bool {
	return func(es []event.Event) bool {
		return slices.ContainsFunc(es, func(e event.Event) bool { return e.MessageID == id })
	}
}

// longGap: more is missed than fits into one response, and none of it is lost: new messages, edits
// and deletions of old ones.
func longGap(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	var old []string
	for i := range 120 {
		old = append(old, w.Say(c, "ana", "", fmt.Sprintf("old %d", i)))
	}
	e := hear(t, w.clientOver(nil), nil)
	mark := w.Say(c, "ana", "", "mark")
	es := e.until("the mark", has(mark))
	e.stop()
	at, err := time.Parse(time.RFC3339Nano, es[len(es)-1].CreateTime)
	if err != nil {
		t.Fatal(err)
	}
	// Later than the overlap covers, so that paging has to find them.
	last := map[string]time.Time{c: at.Add(overlap)}

	want := map[string]bool{}
	for i := range 2 * maxChanges / 3 {
		want[w.Say(c, []string{"ana", "ben"}[i%2], "", fmt.Sprintf("new %d", i))] = true
	}
	for i := range 2 * maxChanges / 3 {
		want[w.Say(c, "ben", old[0], fmt.Sprintf("answer %d", i))] = true
	}
	for i, id := range old {
		if i%2 == 0 {
			w.Edit(c, id, "edited")
			want[id+" edited"] = true
		} else {
			w.Delete(c, id)
			want[id+" deleted"] = true
		}
	}

	e = hear(t, w.clientOver(nil), last) // up when it has caught up
	es, said := e.heard()
	for i, v := range es {
		name := v.MessageID
		switch {
		case v.Deleted:
			name += " deleted"
		case v.EditedAt != "":
			name += " edited"
		}
		if !want[name] {
			t.Errorf("event %d: %s %q was not missed", i, name, v.Content)
		}
		delete(want, name)
		if i > 0 && max(es[i-1].CreateTime, es[i-1].EditedAt) > max(v.CreateTime, v.EditedAt) {
			t.Errorf("event %d is older than the one before", i)
		}
	}
	if n := len(want); n > 0 {
		t.Errorf("%d of what was missed did not come: %.200q", n, fmt.Sprint(want))
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "may be missing") }) {
		t.Errorf("it is not said that the server tells no more than %d changes: %q", maxChanges, said)
	}
}

// longThread: a key is found anywhere in a thread of several pages.
func longThread(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "a long one")
	sink := w.Sink()
	var keys []chat.Posted
	for i := range 2*maxPage + 50 {
		if i%200 != 0 {
			w.Say(c, "ben", root, fmt.Sprintf("answer %d", i))
			continue
		}
		p, err := sink.Post(t.Context(), chat.Post{ChatID: c, ThreadID: root, Text: "ours",
			Key: fmt.Sprintf("key-%d", len(keys))})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, p)
	}
	for i, want := range keys {
		got, proof, err := sink.Find(t.Context(),
			chat.Post{ChatID: c, ThreadID: root, Key: fmt.Sprintf("key-%d", i)})
		if err != nil || proof != chat.Found || got != want {
			t.Errorf("key %d: %+v, proof %v, %v, want %+v", i, got, proof, err, want)
		}
	}
	if _, proof, err := sink.Find(t.Context(),
		chat.Post{ChatID: c, ThreadID: root, Key: "key-9"}); proof != chat.Absent || err != nil {
		t.Errorf("unused key: proof %v, %v", proof, err)
	}
}

// notOurs: a post of another account does not count as the bot's, whatever it contains.
func notOurs(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	p := chat.Post{ChatID: c, ThreadID: root, Text: "here", Key: "k"}
	w.forge("ben", p)
	if got, proof, err := w.Sink().Find(t.Context(), p); proof != chat.Absent || err != nil {
		t.Errorf("%+v, proof %v, %v", got, proof, err)
	}
}

// sameKey: a second post with the same key returns the first.
func sameKey(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	p := chat.Post{ChatID: c, ThreadID: root, Text: "here", Key: "k"}
	first, err := w.Sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.Sink().Post(t.Context(), p)
	if err != nil || first != second {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
}

// replyDeleted: a post that was deleted before it was confirmed counts as posted and is not made
// again.
func replyDeleted(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	p := chat.Post{ChatID: c, ThreadID: root, Text: "here", Key: "k", Tried: time.Now()}
	made, err := w.Sink().Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	w.Delete(c, made.MessageID)
	if got, proof, err := w.Sink().Find(t.Context(), p); proof != chat.Found || got != made || err != nil {
		t.Errorf("%+v, proof %v, %v", got, proof, err)
	}
}

// rootDeleted: nothing exists or can be posted in a deleted thread.
func rootDeleted(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	w.Delete(c, root)
	p := chat.Post{ChatID: c, ThreadID: root, Text: "here", Key: "k"}
	if _, proof, err := w.Sink().Find(t.Context(), p); proof != chat.Absent || err != nil {
		t.Errorf("find: proof %v, %v", proof, err)
	}
	if _, err := w.Sink().Post(t.Context(), p); !chat.IsRefused(err) {
		t.Errorf("post: %v", err)
	}
	elsewhere := w.Say(c, "ana", "", "here?")
	p.ChatID, p.ThreadID = w.Chats()[1], elsewhere
	if _, err := w.Sink().Post(t.Context(), p); !chat.IsRefused(err) {
		t.Errorf("post into a thread of another chat: %v", err)
	}
	reply := w.Say(c, "ben", elsewhere, "there")
	p.ChatID, p.ThreadID = c, reply
	if _, err := w.Sink().Post(t.Context(), p); !chat.IsRefused(err) {
		t.Errorf("post with a reply as the root: %v", err)
	}
}

// resumed: a cut connection continues where it was, including edits, without reading the chats
// again.
func resumed(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	cable := new(wires)
	e := hear(t, w.clientOver(cable.client()), nil)
	id := w.Say(c, "ana", "", "first")
	e.until("first", has(id))
	cable.cut()
	w.Edit(c, id, "second")
	w.Edit(c, id, "third")
	of := func(es []event.Event) (texts []string) {
		for _, v := range es {
			if v.MessageID == id {
				texts = append(texts, v.Content)
			}
		}
		return texts
	}
	es := e.until("both edits", func(es []event.Event) bool { return len(of(es)) == 3 })
	if got := of(es); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("came as %q", got)
	}
	if _, said := e.heard(); slices.ContainsFunc(said, func(s string) bool {
		return strings.Contains(s, "recovered")
	}) {
		t.Errorf("the chats were read again: %q", said)
	}
}

// crowdIsSeen: the check that no post notifies everybody detects one that does.
func crowdIsSeen(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	if id := w.Say(c, "ana", "", "quiet"); w.Pings(c, id) {
		t.Error("a quiet message alerts everybody")
	}
	if id := w.Say(c, "ana", "", "to @all"); !w.Pings(c, id) {
		t.Error("@all alerts nobody")
	}
}

// noPreview: a post gets no link preview.
func noPreview(t *testing.T, w mattermostWorld) {
	c := w.Chats()[0]
	root := w.Say(c, "ana", "", "where?")
	client := newSink(w.clientOver(nil))
	made, err := client.Post(t.Context(), chat.Post{ChatID: c, ThreadID: root, Key: "k",
		Text: "See https://example.test/page and " + client.base.JoinPath("_redirect/pl", root).String()})
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Metadata struct {
			Embeds []struct{ Type string }
		}
	}
	if err := client.get(t.Context(), "posts/"+made.MessageID, nil, &p); err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Metadata.Embeds {
		if e.Type != "message_attachment" { // there must be none
			t.Errorf("embedded: %s", e.Type)
		}
	}
}

func TestMore(t *testing.T) {
	for name, test := range moreTests {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

// Package chattest is the conformance suite of the chat adapters, for every source and every sink.
// An adapter provides a World, its platform as a test can use it (a server in the test, a folder, a
// real server), and calls Source and Sink from a plain go test.
package chattest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// World is a chat platform with two watched chats. Its methods act as the people in the chats,
// create sources and sinks, and inspect the platform. They end the test if the platform itself
// fails.
type World interface {
	// Source returns a new source, as in a program that has just started: it remembers only the state
	// that the platform and Stateful keep.
	Source() chat.Source
	// Sink returns a new sink likewise.
	Sink() chat.Sink

	// Chats returns the chat_ids of the two watched chats.
	Chats() [2]string
	// Bot returns the bot's sender id, which is also its id in mentions, and how a person addresses it
	// ("@tri").
	Bot() (id, handle string)

	// Say posts a one-line message of a person. thread is the root message, "" for none. It returns the
	// message's id. Every person is a member of both chats.
	Say(chatID, person, thread, text string) (messageID string)
	// Edit and Delete change a message, as its author.
	Edit(chatID, messageID, text string)
	Delete(chatID, messageID string)

	// Sees returns the text that the source reports for a text posted by the sink: the same text,
	// unless the platform cannot store a control character.
	Sees(text string) string
	// Pings reports whether a message notifies everybody.
	Pings(chatID, messageID string) bool
}

// Lacking is a World whose platform lacks some features. These are not tested; tri-chat(7) lists
// them.
type Lacking interface{ Lacks(feature Feature) bool }

// Feature is a feature that a platform may not offer to a bot.
type Feature string

// The features. A platform without History does not show messages sent while the bot was not
// connected; one without Memory cannot look up a message or a post.
const (
	Edits     Feature = "edits"
	Deletions Feature = "deletions"
	Traces    Feature = "deletions that nobody heard" // can be detected later
	Threads   Feature = "threads"
	History   Feature = "history"
	Memory    Feature = "memory"
	Own       Feature = "own messages" // received like any other
	Files     Feature = "files"
	Lines     Feature = "lines" // newlines in a message
	Long      Feature = "long"  // messages of 10 KiB
	Keys      Feature = "keys"  // a post carries one and is found by it: otherwise by its text
	Emoji     Feature = "emoji" // byte for byte
)

func has(w World, f Feature) bool {
	l, ok := w.(Lacking)
	return !ok || !l.Lacks(f)
}

func needs(t *testing.T, w World, features ...Feature) {
	t.Helper()
	for _, f := range features {
		if !has(w, f) {
			t.Skipf("the platform has no %s", f)
		}
	}
}

// Typist is a World whose platform shows a bot who types.
type Typist interface{ Type(chatID, person string) }

// Stateful is a World that keeps the state that its sources save from one start to the next
// (chat.Resume.State). Otherwise the state is lost, which a source must tolerate.
type Stateful interface {
	Load() ([]byte, error)
	Save([]byte) error
}

// Handler is a chat.Handler made of functions; a nil function does nothing.
type Handler struct {
	Event   func(event.Event) error
	Action  func(event.Action) error
	Typing  func(presence.Typing)
	Connect func(up bool)
	Keep    func(state []byte) error
	Log     func(format string, args ...any)
}

// OnEvents implements chat.Handler.
func (h Handler) OnEvents(events ...event.Event) error {
	for _, e := range events {
		if h.Event == nil {
			break
		}
		if err := h.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// OnAction implements chat.Handler.
func (h Handler) OnAction(a event.Action) error {
	if h.Action == nil {
		return nil
	}
	return h.Action(a)
}

// OnTyping implements chat.Handler.
func (h Handler) OnTyping(t presence.Typing) {
	if h.Typing != nil {
		h.Typing(t)
	}
}

// OnConnect implements chat.Handler.
func (h Handler) OnConnect(up bool) {
	if h.Connect != nil {
		h.Connect(up)
	}
}

// Save implements chat.Handler.
func (h Handler) Save(state []byte) error {
	if h.Keep == nil {
		return nil
	}
	return h.Keep(state)
}

// Logf implements chat.Handler.
func (h Handler) Logf(format string, args ...any) {
	if h.Log != nil {
		h.Log(format, args...)
	}
}

// Factory returns a new World without messages; it cleans up by t.Cleanup.
type Factory func(t *testing.T) World

// patience is the timeout for expected events. It is only used up when a test fails.
const patience = 20 * time.Second

// texts are preserved byte for byte by every platform.
var texts = map[string]string{
	"quotes":     `she said "it's \"fine\"" and 'left' <b>&amp; ` + "`code`" + ` $(id) ${HOME} %s \n \\`,
	"emoji":      "👍🏽 👩‍👩‍👧‍👦 🇮🇩 ☕️ ✓",
	"cjk":        "重试上限在哪里？ 再試行の上限はどこ？ 재시도 한도는 어디?",
	"rtl":        "أين حد إعادة المحاولة؟ איפה?",
	"colon":      "note: this has: colons, [brackets] >12 !3 and # marks",
	"long":       long(10 << 10),
	"combining":  "Z̷̛a̴l̵g̶o ñ vs n\u0303",
	"injection":  `","sender":{"id":"root"},"x":"`,
	"backslash":  `C:\temp\ ends with \`,
	"trailing":   "ends in backslash and space \\ x",
	"code fence": "```go\tx := 1```",
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "the retry limit is set in client.go, line 42; "[i%46]
	}
	b[n-1] = '.'
	return string(b)
}

// listener is a running source and the events it has emitted, each identity once, as tri-watch
// would store them.
type listener struct {
	t      *testing.T
	cancel context.CancelFunc
	typing chan presence.Typing
	ended  chan struct{}
	err    error // of Run; valid after ended is closed

	mu     sync.Mutex
	seen   map[string]bool
	events []event.Event
	more   chan struct{} // closed and replaced when an event arrives
	refuse error         // returned by emit, if set
}

// listen starts a source that continues after the events before. At a first start it waits until
// the source is connected, since a source without a log need not read history.
func listen(t *testing.T, w World, before []event.Event) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t: t, cancel: cancel, ended: make(chan struct{}), seen: map[string]bool{},
		more: make(chan struct{}), typing: make(chan presence.Typing, 100)}
	for _, e := range before {
		l.seen[e.Identity()] = true
	}
	r := resume(t, before)
	to := Handler{Event: l.emit, Typing: func(p presence.Typing) {
		l.typing <- p
	}, Log: func(format string, args ...any) { t.Logf("source says: "+format, args...) }}
	if m, ok := w.(Stateful); ok {
		state, err := m.Load()
		if err != nil {
			t.Fatal(err)
		}
		r.State, to.Keep = state, m.Save
	}
	l.start(ctx, w.Source(), r, to)
	t.Cleanup(func() { l.stop() })
	if len(before) == 0 {
		l.warmUp(w)
	}
	return l
}

func resume(t *testing.T, before []event.Event) chat.Resume {
	last := map[string]time.Time{}
	for _, e := range before {
		for _, s := range []string{e.CreateTime, e.EditedAt} {
			if s == "" {
				continue
			}
			at, err := time.Parse(time.RFC3339Nano, s)
			if err != nil {
				t.Errorf("message %s: time %q: %v", e.MessageID, s, err)
			}
			if at.After(last[e.ChatID]) {
				last[e.ChatID] = at
			}
		}
	}
	return chat.Resume{Last: last}
}

func (l *listener) start(ctx context.Context, s chat.Source, r chat.Resume, to chat.Handler) {
	go func() {
		defer close(l.ended)
		l.err = s.Run(ctx, r, to)
	}()
}

func (l *listener) emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return l.refuse
	}
	if l.seen[e.Identity()] {
		return nil
	}
	l.seen[e.Identity()] = true
	l.events = append(l.events, e)
	close(l.more)
	l.more = make(chan struct{})
	return nil
}

// warmUp posts in both chats until a message of each has arrived.
func (l *listener) warmUp(w World) {
	l.t.Helper()
	for _, c := range w.Chats() {
		deadline := time.Now().Add(patience)
		for i := 0; ; i++ {
			if time.Now().After(deadline) {
				l.t.Fatalf("chat %q: the source hears nothing", c)
			}
			id := w.Say(c, "ana", "", fmt.Sprintf("warming up %d", i))
			if l.waitFor(min(time.Second, 20*time.Millisecond<<i), func(es []event.Event) bool {
				return find(es, c, id) != nil
			}) {
				break
			}
		}
	}
}

// waitFor waits until ok returns true for the emitted events, at most for d.
func (l *listener) waitFor(d time.Duration, ok func([]event.Event) bool) bool {
	timeout := time.After(d)
	for {
		l.mu.Lock()
		good, more := ok(l.events), l.more
		l.mu.Unlock()
		if good {
			return true
		}
		select {
		case <-more:
		case <-timeout:
			return false
		case <-l.ended:
			l.mu.Lock()
			defer l.mu.Unlock()
			return ok(l.events)
		}
	}
}

// until is like waitFor but fails the test; what describes the condition.
func (l *listener) until(what string, ok func([]event.Event) bool) []event.Event {
	l.t.Helper()
	if !l.waitFor(patience, ok) {
		l.t.Fatalf("never came: %s; emitted were:\n%s", what, list(l.heard()))
	}
	return l.heard()
}

// message waits for the first event of a message.
func (l *listener) message(chatID, id string) event.Event {
	l.t.Helper()
	return *find(l.until("message "+id, func(es []event.Event) bool {
		return find(es, chatID, id) != nil
	}), chatID, id)
}

func (l *listener) heard() []event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]event.Event(nil), l.events...)
}

// stop ends the source as a signal does, and returns its events.
func (l *listener) stop() []event.Event {
	l.cancel()
	select {
	case <-l.ended:
	case <-time.After(patience):
		l.t.Error("the source does not end when its context does")
		return l.heard()
	}
	if l.err != nil && !errors.Is(l.err, context.Canceled) &&
		(l.refuse == nil || !errors.Is(l.err, l.refuse)) {
		l.t.Errorf("source ended with: %v", l.err)
	}
	return l.heard()
}

// find returns the first event of a message. Ids are only unique within a chat.
func find(es []event.Event, chatID, id string) *event.Event {
	for i := range es {
		if es[i].ChatID == chatID && es[i].MessageID == id {
			return &es[i]
		}
	}
	return nil
}

// changes returns the events of a message after its first.
func changes(es []event.Event, chatID, id string) []event.Event {
	var out []event.Event
	for _, e := range es {
		if e.ChatID == chatID && e.MessageID == id {
			out = append(out, e)
		}
	}
	if len(out) > 0 && out[0].EditedAt == "" && !out[0].Deleted {
		out = out[1:]
	}
	return out
}

func list(es []event.Event) string {
	s := ""
	for _, e := range es {
		s += fmt.Sprintf("  %s %s %.60q edited %q deleted %v\n", e.ChatID, e.MessageID, e.Content,
			e.EditedAt, e.Deleted)
	}
	return s
}

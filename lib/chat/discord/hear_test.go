package discord

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/discord/discordtest"
	"tri/lib/record/event"
)

// patience is only spent when a test fails.
const patience = 20 * time.Second

// ears is a running source and its events.
type ears struct {
	t      *testing.T
	stop   func() error
	mu     sync.Mutex
	events []event.Event
	acts   []event.Action
	said   []string
	memory []byte
	ups    int
}

// hear runs a source that continues after last, until it is connected.
func (w *world) hear(o Options, last map[string]time.Time, memory []byte) *ears {
	w.t.Helper()
	c, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	e := &ears{t: w.t, memory: memory}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, chat.Resume{Last: last, State: memory}, e.handler()) }()
	e.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.t.Cleanup(func() { _ = e.stop() })
	e.until("connected", func() bool { return e.ups > 0 })
	return e
}

func (e *ears) handler() chattest.Handler {
	return chattest.Handler{
		Event: e.emit,
		Log: func(format string, args ...any) {
			e.t.Logf(format, args...)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.said = append(e.said, format)
		},
		Connect: func(up bool) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if up {
				e.ups++
			}
		},
		Action: func(a event.Action) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.acts = append(e.acts, a)
			return nil
		},
		Keep: func(b []byte) error { e.memory = b; return nil },
	}
}

func (e *ears) emit(v event.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, v)
	return nil
}

// until waits until ok, which is called with the lock held.
func (e *ears) until(what string, ok func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		good := ok()
		e.mu.Unlock()
		if good {
			return
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("never came: %s; emitted were %+v", what, e.events)
		}
	}
}

// message waits for the first event of a message.
func (e *ears) message(id string) (v event.Event) {
	e.t.Helper()
	e.until("message "+id, func() bool {
		i := slices.IndexFunc(e.events, func(v event.Event) bool { return v.MessageID == id })
		if i >= 0 {
			v = e.events[i]
		}
		return i >= 0
	})
	return v
}

// of returns the events of a message so far.
func (e *ears) of(id string) (all []event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, v := range e.events {
		if v.MessageID == id {
			all = append(all, v)
		}
	}
	return all
}

// last returns the last times of a log with the events.
func (e *ears) last() map[string]time.Time {
	last := map[string]time.Time{}
	for _, v := range e.events {
		for _, s := range []string{v.CreateTime, v.EditedAt} {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil && at.After(last[v.ChatID]) {
				last[v.ChatID] = at
			}
		}
	}
	return last
}

// TestPlaces: which messages of which places are read.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	question := w.server.Post("ana", "Retries", "where is the limit?")
	answer := w.server.Say(question, "ben", "in retry.go", nil)
	if v := e.message(answer); v.ChatID != discordtest.Forum || v.ThreadID == nil ||
		*v.ThreadID != question || v.ChatName != "questions" || v.MsgType != "thread_reply" {
		t.Errorf("an answer in a forum came as %+v", v)
	}
	if v := e.message(question); v.ThreadID != nil || v.ChatID != discordtest.Forum ||
		v.Key() != func() string { a := e.message(answer); return a.Key() }() {
		t.Errorf("a post of a forum came as %+v", v)
	}
	reply := w.server.Say(discordtest.Dev, "ben", "this one?",
		discordtest.M{"type": 19, "message_reference": discordtest.M{"type": 0, "message_id": "77",
			"channel_id": discordtest.Dev}})
	if v := e.message(reply); v.ReplyToID != "77" || v.ThreadID != nil ||
		v.Permalink != "https://discord.com/channels/"+discordtest.Guild+"/"+discordtest.Dev+"/"+reply {
		t.Errorf("a reply came as %+v", v)
	}
	unheard := []string{
		w.server.Say(discordtest.Secret, "ana", "between us", nil),
		w.server.Say(discordtest.Direct, "ana", "in private", nil),
		w.server.Say(discordtest.Dev, "ana", "from elsewhere",
			discordtest.M{"flags": flagCrosspost, "webhook_id": "5"}),
	}
	root := w.server.Say(discordtest.Dev, "ana", "psst", nil)
	w.server.Thread(root, "private")
	w.server.Channel(root, "type", kindPrivateThread)
	w.server.Tell("THREAD_UPDATE", discordtest.M{"id": root, "type": kindPrivateThread,
		"parent_id": discordtest.Dev, "guild_id": discordtest.Guild})
	unheard = append(unheard, w.server.Say(root, "ana", "in a private thread", nil))
	e.message(w.server.Say(discordtest.Dev, "ana", "the end", nil))
	for _, id := range unheard {
		if es := e.of(id); len(es) > 0 {
			t.Errorf("was heard: %+v", es)
		}
	}
	for _, v := range e.events {
		if v.MsgType == "system" {
			t.Errorf("the copy of a thread's first message came as %+v", v)
		}
	}
}

// TestDirect: a private chat is read if it is named, and its messages mention the bot.
func TestDirect(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Chats = []string{discordtest.Direct}
	e := w.hear(o, nil, nil)
	id := w.server.Say(discordtest.Direct, "ana", "where is it?", nil)
	if v := e.message(id); !slices.Contains(v.Mentions, discordtest.Bot) || v.ChatName != "ana" ||
		v.Permalink != "https://discord.com/channels/@me/"+discordtest.Direct+"/"+id {
		t.Errorf("came as %+v", v)
	}
	posted, err := w.sink().Post(t.Context(),
		chat.Post{ChatID: discordtest.Direct, ThreadID: id, ReplyToID: id, Text: "here", Key: "k"})
	if err == nil {
		v := e.message(posted.MessageID)
		if v.ReplyToID != id || v.ThreadID != nil || v.Sender.Type != "bot" {
			t.Errorf("the answer came as %+v", v)
		}
	} else {
		t.Error(err)
	}
}

// TestAllChats: without configured chats, everything on the servers is read but no private chats.
func TestAllChats(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Chats = nil
	e := w.hear(o, nil, nil)
	private := w.server.Say(discordtest.Direct, "ana", "in private", nil)
	e.message(w.server.Say(discordtest.Secret, "ana", "hello", nil))
	if es := e.of(private); len(es) > 0 {
		t.Errorf("was heard: %+v", es)
	}
	before := e.last()
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	missed := w.server.Say(discordtest.Secret, "ana", "missed", nil)
	e = w.hear(o, before, nil)
	e.message(missed)
}

// TestChanges: a preview is not an edit; an edit and a deletion have one identity each, however
// they are noticed.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	id := w.server.Say(discordtest.Dev, "ana", "see https://example.test/", nil)
	gone := []string{w.server.Say(discordtest.Dev, "ana", "one", nil),
		w.server.Say(discordtest.Dev, "ana", "two", nil), w.server.Say(discordtest.Dev, "ana", "three", nil)}
	partial := w.server.Say(discordtest.Dev, "ana", "first", nil)
	w.server.Unfurl(id)
	w.server.Edit(id, "see there")
	w.server.Unfurl(id)
	w.server.Delete(gone[0])
	w.server.Delete(gone[1:]...)
	w.server.Edit(partial, "second")
	w.server.Tell("MESSAGE_UPDATE", discordtest.M{"id": partial, "channel_id": discordtest.Dev,
		"guild_id": discordtest.Guild, "edited_timestamp": "2026-01-02T03:04:05.678901+00:00"})
	e.message(w.server.Say(discordtest.Dev, "ana", "the end", nil))

	es := e.of(id)
	if len(es) != 2 || es[0].EditedAt != "" || es[1].Content != "see there" || es[1].EditedAt == "" {
		t.Fatalf("the edited one came as %+v", es)
	}
	if es := e.of(partial); len(es) != 2 || es[1].Content != "second" {
		t.Errorf("after a partial update of a version that was emitted: %+v", es)
	}
	for _, g := range gone {
		if es := e.of(g); len(es) != 2 || !es[1].Deleted || es[1].Sender.Name != "ana" ||
			es[1].Content != "" {
			t.Errorf("the deleted one came as %+v", es)
		}
	}
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	again := w.hear(w.options(), e.last(), nil) // without saved state: read from the history
	again.message(id)
	if back := again.of(id); len(back) != 1 || back[0].Identity() != es[1].Identity() ||
		!json.Valid(back[0].Raw) {
		t.Errorf("read back it is %+v, was %+v", back, es[1])
	}
}

// TestArchived: messages of a thread that was archived in the meantime are recovered, and so are
// missed deletions, if Discord has discarded the session.
func TestArchived(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	root := w.server.Say(discordtest.Dev, "ana", "a question", nil)
	deleted := w.server.Say(discordtest.Dev, "ana", "never mind", nil)
	e.message(deleted)
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	w.server.Thread(root, "a question")
	answer := w.server.Say(root, "ben", "an answer", nil)
	w.server.Archive(root)
	w.server.Delete(deleted)
	w.server.Forget()
	again := w.hear(w.options(), e.last(), e.memory)
	if v := again.message(answer); v.ThreadID == nil || *v.ThreadID != root || v.ChatID != discordtest.Dev {
		t.Errorf("came as %+v", v)
	}
	if v := again.message(deleted); !v.Deleted {
		t.Errorf("came as %+v", v)
	}
	if es := again.of(root); len(es) > 0 && es[len(es)-1].Deleted {
		t.Errorf("a message that stands came as deleted")
	}
}

// TestResumed: a start resumes the session of the last run.
func TestResumed(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	e.message(w.server.Say(discordtest.Dev, "ana", "before", nil))
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	if w.server.Sessions() != 1 {
		t.Fatal("the session was ended")
	}
	id := w.server.Say(discordtest.Dev, "ana", "missed", nil)
	reads := w.server.Requests("GET messages")
	again := w.hear(w.options(), e.last(), e.memory)
	again.message(id)
	if n := w.server.Requests("identify"); n != 1 || w.server.Requests("resume") != 1 ||
		w.server.Requests("GET messages") != reads {
		t.Errorf("%d sessions, %d resumed, %d reads", n, w.server.Requests("resume"),
			w.server.Requests("GET messages")-reads)
	}
}

// TestAskedToReconnect: Discord's regular reconnects are not logged.
func TestAskedToReconnect(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	w.server.Raw([]byte(`{"op":7,"d":null}`))
	e.until("a second connection", func() bool { return e.ups > 1 })
	e.message(w.server.Say(discordtest.Dev, "ana", "still there?", nil))
	if w.server.Requests("resume") < 1 || len(e.said) > 0 {
		t.Errorf("%d resumed; said %q", w.server.Requests("resume"), e.said)
	}
}

// TestDeadConnection: a connection without traffic is replaced.
func TestDeadConnection(t *testing.T) {
	w := newWorld(t)
	w.server.Interval = 150 * time.Millisecond
	e := w.hear(w.options(), nil, nil)
	w.server.Mute(true)
	id := w.server.Say(discordtest.Dev, "ana", "into the void", nil)
	e.until("another connection", func() bool { return w.server.Requests("resume") > 0 })
	w.server.Mute(false)
	e.message(id)
}

// TestNotDurable: neither the session nor the heartbeat advances beyond the durable events.
func TestNotDurable(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	e := &ears{t: t}
	full, broken := errors.New("disk full"), false
	ended := make(chan error, 1)
	to := e.handler()
	to.Event = func(v event.Event) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if broken {
			return full
		}
		e.events = append(e.events, v)
		return nil
	}
	go func() { ended <- c.Run(t.Context(), chat.Resume{}, to) }()
	e.until("connected", func() bool { return e.ups > 0 })
	e.message(w.server.Say(discordtest.Dev, "ana", "kept", nil))
	e.mu.Lock()
	broken = true
	e.mu.Unlock()
	id := w.server.Say(discordtest.Dev, "ana", "not kept", nil)
	if err := <-ended; !errors.Is(err, full) {
		t.Fatalf("ended with %v", err)
	}
	again := w.hear(w.options(), e.last(), e.memory)
	again.message(id)
	if w.server.Requests("identify") != 1 {
		t.Error("the session was not resumed")
	}
}

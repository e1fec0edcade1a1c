package card

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a home with a channel for operators, and what tri-reply and tri-watch
// do there.
type world struct {
	t       *testing.T
	home    *durable.Home
	cfg     *config.Config
	channel *channel
	said    []string
	acts    int
	told    map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"ana", "ben"}
	cfg.Chat.Local.Dir = t.TempDir()
	cfg.Gate.Chat = config.GateChat{Platform: "local", ChatID: "ops",
		People: []config.Person{{ID: "U1", Name: "ana"}, {ID: "U9", Name: "nobody"}}}
	w := &world{t: t, home: h, cfg: cfg, told: map[string]bool{}}
	w.start()
	return w
}

func (w *world) options() Options {
	return Options{Gate: approve.Gate{Home: w.home, Config: w.cfg, Now: func() time.Time {
		return noon
	}}, Say: func(format string, args ...any) {
		w.said = append(w.said, fmt.Sprintf(format, args...))
	}}
}

// start is a new life of the program.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	d, err := open(ctx, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.channel = d
}

// put makes a thread that waits with an offered draft.
func (w *world) put(id string, cycle int, text string) (key string) {
	w.t.Helper()
	key = "local.dev." + id
	w.thread(&thread.Thread{
		Key: key, Cycle: cycle, DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "quotes checked",
		InvestigatorReturn: &draft.Return{Confidence: draft.High, ConfidenceReason: "read it"},
	})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: cycle, Text: text,
		DraftSHA256: decision.Sum(text)})
	w.look()
	return key
}

func (w *world) thread(th *thread.Thread) {
	w.t.Helper()
	th.Platform, th.ChatID, th.ChatName, th.OriginalSenderName, th.ThreadID = "local", "dev",
		"dev", "cy", th.Key
	th.Messages = []thread.Message{{MessageID: th.Key, SenderName: "cy", Content: "where is it?"}}
	th.StartedAt = noon.Add(-time.Hour).Format(time.RFC3339)
	if th.Status == "" {
		th.Status = thread.PendingUser
	}
	if err := th.Save(w.home); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) record(r decision.Record) {
	w.t.Helper()
	r.At = noon.Format(time.RFC3339)
	if _, err := decision.Append(w.home, r); err != nil {
		w.t.Fatal(err)
	}
}

// look updates the cards after tri-reply has shown the requested signals.
func (w *world) look() {
	w.t.Helper()
	w.channel.board.Refresh()
	if err := w.channel.sync(); err != nil {
		w.t.Fatal(err)
	}
	w.show(notify.Shown)
}

// show is what tri-reply does.
func (w *world) show(outcome string) {
	w.t.Helper()
	for _, s := range w.asked() {
		if w.told[s.ID] {
			continue
		}
		w.told[s.ID] = true
		d := notify.Done{ID: s.ID, Outcome: outcome}
		if s.Kind == notify.Card && outcome == notify.Shown {
			d.MessageID = "m-" + s.ID
		}
		if err := notify.Tell(w.home, d); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.channel.told(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) asked() (all []notify.Signal) {
	w.t.Helper()
	if _, err := notify.Asked(w.home, 0, func(s notify.Signal) error {
		all = append(all, s)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// dealt are the signals that post a card of a thread.
func (w *world) dealt(key string) (cards []notify.Signal) {
	for _, s := range w.asked() {
		// tri-reply shows another's in ours
		if s.Kind == notify.Card && s.Key == key && (s.By == by || len(cards) == 0) {
			cards = append(cards, s)
		}
	}
	return cards
}

// last returns what the card of a thread's latest draft shows.
func (w *world) last(key string) notify.Signal {
	w.t.Helper()
	dealt := w.dealt(key)
	if len(dealt) == 0 {
		w.t.Fatalf("%s has no card", key)
	}
	last := dealt[len(dealt)-1]
	for _, s := range w.asked() {
		if s.Card == dealt[len(dealt)-1].ID {
			last = s
		}
	}
	return last
}

// act makes a click on the latest card of a thread; change may forge it.
func (w *world) act(key, who, name string, change func(*event.Action)) error {
	w.t.Helper()
	dealt := w.dealt(key)
	c := dealt[len(dealt)-1]
	w.acts++
	a := event.Action{ID: fmt.Sprint("a", w.acts), Platform: "local", ChatID: "ops", MessageID: "m-" + c.ID,
		Sender: event.Sender{ID: who, Type: "user"}, Name: name}
	if len(c.Buttons) > 0 && !strings.ContainsAny(name, "✅❌🔄↩⏩") {
		a.Value = c.Buttons[0].Value
	}
	if change != nil {
		change(&a)
	}
	return w.take(actionsName, a)
}

// write makes a message below the latest card of a thread.
func (w *world) write(key, who, text string, change func(*event.Event)) error {
	w.t.Helper()
	dealt := w.dealt(key)
	below := "m-" + dealt[len(dealt)-1].ID
	w.acts++
	e := event.Event{Platform: "local", ChatID: "ops", MessageID: fmt.Sprint("e", w.acts), ThreadID: &below,
		Sender: event.Sender{ID: who, Type: "user"}, Content: text}
	if change != nil {
		change(&e)
	}
	return w.take(config.EventsName, e)
}

func (w *world) take(log string, record any) error {
	w.t.Helper()
	b, err := json.Marshal(record)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.channel.take(line{log: log, bytes: b, next: int64(w.acts)})
	return err
}

// words are the records of people in the log, as kind and author.
func (w *world) words() (words []string) {
	w.t.Helper()
	rs, err := decision.Read(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rs {
		if r.Kind != decision.Offer && r.Kind != decision.Claim {
			words = append(words, strings.TrimSpace(r.Kind+" "+r.By+" "+r.Note))
		}
	}
	return words
}

func (w *world) wants(what string, words ...string) {
	w.t.Helper()
	if got := w.words(); !slices.Equal(got, words) {
		w.t.Errorf("%s: said is %q, want %q; %q", what, got, words, w.said)
	}
}

// TestBeforeItStands: a click that is read before tri-reply has recorded the card's message is not lost,
// and is not taken for a click on another card.
func TestBeforeItStands(t *testing.T) {
	w := newWorld(t)
	first := w.put("1", 1, "It is 5.")
	text := "It is 6."
	w.thread(&thread.Thread{Key: "local.dev.2", Cycle: 1, DraftPending: &text,
		DraftSHA256: decision.Sum(text)})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.2", Cycle: 1, Text: text,
		DraftSHA256: decision.Sum(text)})
	w.channel.board.Refresh()
	if err := w.channel.sync(); err != nil {
		t.Fatal(err)
	}
	if err := w.act("local.dev.2", "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	before := w.channel.at
	if err := w.act(first, "ben", "❌", nil); err != nil { // the others do not wait for it
		t.Fatal(err)
	}
	w.wants("before it stands", "dismiss ben")
	if w.channel.at != before {
		t.Error("the mark has passed a click that was not taken")
	}
	w.show(notify.Shown)
	w.wants("when it stands", "dismiss ben", "approve ben")
}

// TestNotShown: a card that could not be shown is requested once more by a later process, unless it may be
// in the channel.
func TestNotShown(t *testing.T) {
	for outcome, want := range map[string]int{notify.Refused: 2, notify.Unsupported: 2, notify.Late: 2,
		notify.Failed: 1, notify.Shown: 1} {
		w := newWorld(t)
		text := "It is 5."
		w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text,
			DraftSHA256: decision.Sum(text)})
		w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text,
			DraftSHA256: decision.Sum(text)})
		w.channel.board.Refresh()
		if err := w.channel.sync(); err != nil {
			t.Fatal(err)
		}
		w.show(outcome)
		w.look()
		if n := len(w.dealt("local.dev.1")); n != 1 {
			t.Errorf("%s: asked for %d times in one life", outcome, n)
		}
		w.start()
		w.look()
		w.look()
		if n := len(w.dealt("local.dev.1")); n != want {
			t.Errorf("%s: asked for %d times in two lives, want %d", outcome, n, want)
		}
	}
}

// TestCutAnywhere: however much of signals.ndjson a killed process has written, the next one requests what
// is missing, and nothing twice.
func TestCutAnywhere(t *testing.T) {
	w := newWorld(t)
	text := "It is 5."
	for i := range 3 {
		key := fmt.Sprint("local.dev.", i)
		w.thread(&thread.Thread{Key: key, Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text)})
		w.record(decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: 1, Text: text,
			DraftSHA256: decision.Sum(text)})
	}
	w.channel.board.Refresh()
	if err := w.channel.sync(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(w.home.Path(notify.LogName))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, s := range w.asked() {
		want[s.ID] = true
	}
	for cut := 0; cut <= len(whole); cut += 37 {
		if err := os.WriteFile(w.home.Path(notify.LogName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.home.Remove("." + notify.LogName + ".sum"); err != nil { // it would be refused
			t.Fatal(err)
		}
		w.start()
		if err := w.channel.sync(); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, s := range w.asked() {
			got[s.ID]++
		}
		for id := range want {
			if got[id] != 1 || len(got) != len(want) {
				t.Fatalf("cut at %d: %v", cut, got)
			}
		}
	}
}

// TestAlone: no channel, and a second one.
func TestAlone(t *testing.T) {
	w := newWorld(t)
	lock, err := w.home.TryLock(lockName)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), w.options()); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("%v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	w.cfg.Gate.Chat = config.GateChat{}
	if err := Run(t.Context(), w.options()); err == nil || !strings.Contains(err.Error(), "gate.chat") {
		t.Errorf("%v", err)
	}
}

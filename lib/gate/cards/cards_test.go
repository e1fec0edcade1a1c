package cards

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"tri/lib/config"
	"tri/lib/decision"
	"tri/lib/disk"
	"tri/lib/draft"
	"tri/lib/event"
	"tri/lib/gate"
	"tri/lib/outbox"
	"tri/lib/signal"
	"tri/lib/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a home with a channel for operators, and what tri-reply and tri-watch
// do there.
type world struct {
	t    *testing.T
	home *disk.Home
	cfg  *config.Config
	desk *desk
	said []string
	acts int
	told map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"ana", "ben"}
	cfg.Chat.Local.Dir = t.TempDir()
	cfg.Gate.Chat = config.GateChat{Platform: "local", ChatID: "ops", People: []config.Person{{ID: "U1", Name: "ana"}, {ID: "U9", Name: "nobody"}}}
	w := &world{t: t, home: h, cfg: cfg, told: map[string]bool{}}
	w.start()
	return w
}

func (w *world) options() Options {
	return Options{Gate: gate.Gate{Home: w.home, Config: w.cfg, Now: func() time.Time { return noon }}, Say: func(format string, args ...any) {
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
	w.desk = d
}

// put makes a thread that waits with an offered draft.
func (w *world) put(id string, cycle int, text string) (key string) {
	w.t.Helper()
	key = "local.dev." + id
	w.thread(&thread.Thread{
		Key: key, Cycle: cycle, DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "✓ validated",
		InvestigatorReturn: &draft.Return{Confidence: draft.High, ConfidenceReason: "read it"},
	})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: cycle, Text: text, DraftSHA256: decision.Sum(text)})
	w.look()
	return key
}

func (w *world) thread(th *thread.Thread) {
	w.t.Helper()
	th.Platform, th.ChatID, th.ChatName, th.OriginalSenderName, th.ThreadID = "local", "dev", "dev", "cy", th.Key
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

// look is a look at the cards, after tri-reply has shown what was asked for.
func (w *world) look() {
	w.t.Helper()
	w.desk.board.Refresh()
	if err := w.desk.sync(); err != nil {
		w.t.Fatal(err)
	}
	w.show(signal.Shown)
}

// show is what tri-reply does.
func (w *world) show(outcome string) {
	w.t.Helper()
	for _, s := range w.asked() {
		if w.told[s.ID] {
			continue
		}
		w.told[s.ID] = true
		d := signal.Done{ID: s.ID, Outcome: outcome}
		if s.Kind == signal.Card && outcome == signal.Shown {
			d.MessageID = "m-" + s.ID
		}
		if err := signal.Tell(w.home, d); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.desk.told(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) asked() (all []signal.Signal) {
	w.t.Helper()
	if _, err := signal.Asked(w.home, 0, func(s signal.Signal) error { all = append(all, s); return nil }); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// dealt are the signals that post a card of a thread.
func (w *world) dealt(key string) (cards []signal.Signal) {
	for _, s := range w.asked() {
		if s.Kind == signal.Card && s.Key == key {
			cards = append(cards, s)
		}
	}
	return cards
}

// last is what the card of a thread's latest draft shows.
func (w *world) last(key string) signal.Signal {
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
	a := event.Action{ID: fmt.Sprint("a", w.acts), Platform: "local", ChatID: "ops", MessageID: "m-" + c.ID, Sender: event.Sender{ID: who, Type: "user"}, Name: name}
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
	e := event.Event{Platform: "local", ChatID: "ops", MessageID: fmt.Sprint("e", w.acts), ThreadID: &below, Sender: event.Sender{ID: who, Type: "user"}, Content: text}
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
	_, err = w.desk.take(line{log: log, bytes: b, next: int64(w.acts)})
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

// TestWords: each way of saying each word, by a person who may.
func TestWords(t *testing.T) {
	failed := func(w *world) string {
		w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, InvestigatorError: "no agent"})
		w.look()
		return "local.dev.1"
	}
	asked := func(w *world) string {
		w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, Asked: "staging or live?"})
		w.look()
		return "local.dev.1"
	}
	offered := func(w *world) string { return w.put("1", 1, "It is 5.") }
	click := func(name, who string) func(*world, string) error {
		return func(w *world, key string) error { return w.act(key, who, name, nil) }
	}
	write := func(who, text string) func(*world, string) error {
		return func(w *world, key string) error { return w.write(key, who, text, nil) }
	}
	for _, tt := range []struct {
		name string
		put  func(*world) string
		do   func(*world, string) error
		want []string
	}{
		{"approve", offered, click("approve", "ben"), []string{"approve ben"}},
		{"approve by reaction", offered, click("✅", "ben"), []string{"approve ben"}},
		{"approve by who is mapped", offered, click("approve", "U1"), []string{"approve ana"}},
		{"dismiss", offered, click("dismiss", "ben"), []string{"dismiss ben"}},
		{"dismiss by reaction", offered, click("❌", "ben"), []string{"dismiss ben"}},
		{"redo", offered, click("redo", "ben"), []string{"redo ben"}},
		{"redo by reaction", offered, click("🔄", "ben"), []string{"redo ben"}},
		{"redo by reply", offered, write("U1", " look at\nthe client "), []string{"redo ana look at\nthe client"}},
		{"escalate", offered, click("escalate", "ben"), []string{"escalate ben"}},
		{"escalate by reaction", offered, click("⏩", "ben"), []string{"escalate ben"}},
		{"redo of a failure", failed, write("ben", "again"), []string{"redo ben again"}},
		{"dismiss a failure", failed, click("dismiss", "ben"), []string{"dismiss ben"}},
		{"no yes to a failure", failed, click("✅", "ben"), nil},
		{"answer", asked, write("ben", "live"), []string{"answer ben live"}},
		{"no yes to what is asked", asked, click("✅", "ben"), nil},
		{"no undo of nothing", offered, click("↩️", "ben"), nil},
		{"another reaction", offered, click("🎉", "ben"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			key := tt.put(w)
			if err := tt.do(w, key); err != nil {
				t.Fatal(err)
			}
			w.wants(tt.name, tt.want...)
		})
	}
}

// TestForged: nothing of this is anybody's word.
func TestForged(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	other := w.put("2", 1, "It is 6.")
	value := w.dealt(other)[0].Buttons[0].Value
	for name, forge := range map[string]func(*event.Action){
		"another message":           func(a *event.Action) { a.MessageID = "m-other" },
		"no message":                func(a *event.Action) { a.MessageID = "" },
		"another chat":              func(a *event.Action) { a.ChatID = "dev" },
		"another platform":          func(a *event.Action) { a.Platform = "slack" },
		"the value of another card": func(a *event.Action) { a.Value = value },
		"half the value":            func(a *event.Action) { a.Value = a.Value[:20] },
		"more than the value":       func(a *event.Action) { a.Value += "0" },
		"no value":                  func(a *event.Action) { a.Value = "" },
		"another word":              func(a *event.Action) { a.Name = "claim" },
		"a word that has no button": func(a *event.Action) { a.Name = "settle" },
		"an empty word":             func(a *event.Action) { a.Name = "" },
		"a stranger":                func(a *event.Action) { a.Sender = event.Sender{ID: "U2", Type: "user", Name: "ben"} },
		"who is mapped to nobody":   func(a *event.Action) { a.Sender.ID = "U9" },
		"nobody":                    func(a *event.Action) { a.Sender.ID = "" },
		"a bot":                     func(a *event.Action) { a.Sender.Type = "bot" },
		"taken away":                func(a *event.Action) { a.Removed = true },
		"a reaction taken away":     func(a *event.Action) { a.Name, a.Value, a.Removed = "✅", "", true },
	} {
		if err := w.act(key, "ben", "approve", forge); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.wants(name)
	}
	for name, forge := range map[string]func(*event.Event){
		"a stranger":       func(e *event.Event) { e.Sender.ID = "U2" },
		"a bot":            func(e *event.Event) { e.Sender.Type = "bot" },
		"another chat":     func(e *event.Event) { e.ChatID = "dev" },
		"below no card":    func(e *event.Event) { e.ThreadID = nil },
		"below another":    func(e *event.Event) { e.ThreadID = &value },
		"an edit":          func(e *event.Event) { e.EditedAt = "2026-01-02T12:00:00Z" },
		"deleted":          func(e *event.Event) { e.Deleted = true },
		"no text":          func(e *event.Event) { e.Content = " \n" },
		"inferred threads": func(e *event.Event) { e.ThreadInferred = "a guess" },
	} {
		if err := w.write(key, "ben", "again", forge); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.wants(name)
	}
}

// TestStale: a click on a card whose draft was replaced is not one on the new draft,
// and the card says that there is one.
func TestStale(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	old := w.dealt(key)[0]
	w.put("1", 2, "It is 6.")
	if err := w.act(key, "ben", "approve", func(a *event.Action) {
		a.MessageID, a.Value = "m-"+old.ID, old.Buttons[0].Value
	}); err != nil {
		t.Fatal(err)
	}
	w.wants("a stale click")
	replaced := slices.ContainsFunc(w.asked(), func(s signal.Signal) bool {
		return s.Card == old.ID && s.Title == "Replaced" && len(s.Buttons) == 0
	})
	if !replaced || len(w.dealt(key)) != 2 {
		t.Errorf("%+v", w.asked())
	}
}

// TestReplay: what is delivered again, and what is read again by a later life, is
// said once; also when the word was taken back meanwhile.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	same := func(a *event.Action) { a.ID = "same" }
	if err := w.act(key, "ben", "✅", same); err != nil {
		t.Fatal(err)
	}
	w.look()
	if err := w.act(key, "ana", "↩️", nil); err != nil {
		t.Fatal(err)
	}
	w.look()
	if s := w.last(key); !strings.HasPrefix(s.Title, "Draft ") || len(s.Buttons) != 4 {
		t.Errorf("taken back, the card shows %q", s.Title)
	}
	for range 3 {
		w.start()
		if err := w.act(key, "ben", "✅", same); err != nil {
			t.Fatal(err)
		}
	}
	w.wants("read again", "approve ben", "undo ana")
	if n := len(w.dealt(key)); n != 1 {
		t.Errorf("%d cards", n)
	}
}

// TestTakenAway: who takes their own yes away takes it back, and nobody else's.
func TestTakenAway(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	away := func(a *event.Action) { a.Removed = true }
	for _, step := range []struct {
		who    string
		change func(*event.Action)
	}{{"ben", nil}, {"ana", away}, {"cy", away}, {"ben", away}} {
		if err := w.act(key, step.who, "✅", step.change); err != nil {
			t.Fatal(err)
		}
		w.look()
	}
	w.wants("taken away", "approve ben", "undo ben")
}

// TestFaces: the card follows what becomes of the draft, whoever decides.
func TestFaces(t *testing.T) {
	sha := decision.Sum("It is 5.")
	word := func(kind, note string) decision.Record {
		r := decision.Record{Kind: kind, By: "ana", Note: note, Key: "local.dev.1", Cycle: 1, DraftSHA256: sha}
		if kind == decision.Approve {
			r.Text = "It is 5."
		}
		return r
	}
	say := func(r decision.Record) func(*world) { return func(w *world) { w.record(r) } }
	reply := func(outcome string) func(*world) {
		return func(w *world) {
			b, _ := json.Marshal(outbox.Reply{Key: "local.dev.1", Cycle: 1, Outcome: outcome, ApprovedBy: "ana", Why: "thread gone"})
			if _, err := w.desk.take(line{log: repliesName, bytes: b}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	moved := func(status, why string, cycle int) func(*world) {
		return func(w *world) {
			if err := w.home.Remove(thread.OpenPath("local.dev.1")); err != nil {
				w.t.Fatal(err)
			}
			w.thread(&thread.Thread{Key: "local.dev.1", Cycle: cycle, Status: status, CloseReason: why})
		}
	}
	yes := say(word(decision.Approve, ""))
	for _, tt := range []struct {
		name    string
		steps   []func(*world)
		title   string
		text    string
		buttons int
	}{
		{"approved", []func(*world){yes}, "Approved by ana", "posted in 10s, unless it is taken back", 1},
		{"claimed", []func(*world){yes, say(word(decision.Claim, ""))}, "Approved by ana", "being posted", 0},
		{"posted", []func(*world){yes, say(word(decision.Claim, "")), moved(thread.Closed, "posted", 1), reply(outbox.Posted)}, "Posted", "approved by ana", 0},
		{"refused", []func(*world){yes, say(word(decision.Claim, "")), moved(thread.Closed, "refused", 1), reply(outbox.Refused)}, "Not posted", "thread gone", 0},
		{"edited", []func(*world){say(decision.Record{Kind: decision.Edit, By: "ana", Key: "local.dev.1", Cycle: 1, Text: "No: 6.", DraftSHA256: decision.Sum("No: 6."), Original: sha})}, "Approved by ana", "With another text:\n│ No: 6.", 1},
		{"dismissed", []func(*world){say(word(decision.Dismiss, "nobody asked"))}, "Dismissed by ana", "nobody asked", 0},
		{"redone", []func(*world){say(word(decision.Redo, "look there"))}, "Redone for ana", "look there", 0},
		{"redone, and a new draft", []func(*world){say(word(decision.Redo, "look there")), moved(thread.Investigating, "", 2)}, "Redone for ana", "look there", 0},
		{"escalated", []func(*world){say(word(decision.Escalate, ""))}, "Looked into for longer", "ana", 0},
		{"revoked", []func(*world){yes, say(word(decision.Revoke, "client.go has changed"))}, "Not posted", "client.go has changed", 0},
		{"withdrawn", []func(*world){say(word(decision.Withdraw, "a follow-up came"))}, "No longer waits", "a follow-up came", 0},
		{"expired", []func(*world){moved(thread.Closed, "nobody decided in time", 1)}, "Closed", "nobody decided in time", 0},
		{"being looked at again", []func(*world){moved(thread.Investigating, "", 2)}, "Replaced", "newer", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			key := w.put("1", 1, "It is 5.")
			for _, step := range tt.steps {
				step(w)
				w.look()
			}
			s := w.last(key)
			if !strings.HasPrefix(s.Title, tt.title) || !strings.Contains(s.Text, tt.text) || !strings.Contains(s.Text, "│ where is it?") || len(s.Buttons) != tt.buttons {
				t.Errorf("%q, %q, %d buttons", s.Title, s.Text, len(s.Buttons))
			}
			n := len(w.asked())
			for range 2 {
				w.start()
				w.look()
			}
			if got := len(w.asked()); got != n {
				t.Errorf("%d signals, and %d after two starts: %+v", n, got, w.asked()[n:])
			}
		})
	}
}

// TestQuorum: the card shows the first of two yeses.
func TestQuorum(t *testing.T) {
	w := newWorld(t)
	w.cfg.Gate.Quorum = 2
	w.start()
	key := w.put("1", 1, "It is 5.")
	for i, who := range []string{"ben", "ben", "U1"} {
		if err := w.act(key, who, "✅", nil); err != nil {
			t.Fatal(err)
		}
		w.look()
		s := w.last(key)
		if i < 2 && (!strings.Contains(s.Text, "ben says yes; one more must") || len(s.Buttons) != 4) || i == 2 && s.Title != "Approved by ana" {
			t.Errorf("after %d: %q %q", i+1, s.Title, s.Text)
		}
	}
}

// TestRace: clicks of two people and a word at the terminal at once: one counts.
func TestRace(t *testing.T) {
	for i := range 20 {
		w := newWorld(t)
		key := w.put("1", 1, "It is 5.")
		terminal := gate.Gate{Home: w.home, Config: w.cfg, By: "ana", Via: "terminal", Now: func() time.Time { return noon }}
		it, err := terminal.Find(key, gate.Draft)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _, _ = terminal.Dismiss(it, "") }) // refused when it is second
		err = w.act(key, "ben", "✅", nil)
		if err == nil {
			err = w.act(key, "U1", "🔄", nil)
		}
		both.Wait()
		if err != nil {
			t.Fatal(err)
		}
		rs, err := decision.Read(w.home)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		state := decision.NewState(decision.PolicyOf(w.cfg))
		for _, r := range rs {
			if counts, _ := state.Add(r); counts && r.Kind != decision.Offer {
				counted++
			}
		}
		if counted != 1 {
			t.Fatalf("%d: %d words count", i, counted)
		}
	}
}

// TestBeforeItStands: a click that is heard before tri-reply has said where the card
// stands is not lost, and is not taken for one on another card.
func TestBeforeItStands(t *testing.T) {
	w := newWorld(t)
	first := w.put("1", 1, "It is 5.")
	text := "It is 6."
	w.thread(&thread.Thread{Key: "local.dev.2", Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text)})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.2", Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)})
	w.desk.board.Refresh()
	if err := w.desk.sync(); err != nil {
		t.Fatal(err)
	}
	if err := w.act("local.dev.2", "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	before := w.desk.at
	if err := w.act(first, "ben", "❌", nil); err != nil { // the others do not wait for it
		t.Fatal(err)
	}
	w.wants("before it stands", "dismiss ben")
	if w.desk.at != before {
		t.Error("the mark has passed a click that was not taken")
	}
	w.show(signal.Shown)
	w.wants("when it stands", "dismiss ben", "approve ben")
}

// TestNotShown: what could not be shown is asked for once more by a later life,
// unless it may stand there.
func TestNotShown(t *testing.T) {
	for outcome, want := range map[string]int{signal.Refused: 2, signal.Unsupported: 2, signal.Late: 2, signal.Failed: 1, signal.Shown: 1} {
		w := newWorld(t)
		text := "It is 5."
		w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text)})
		w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)})
		w.desk.board.Refresh()
		if err := w.desk.sync(); err != nil {
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

// TestCutAnywhere: whatever of signals.ndjson a killed life has written, the next
// one asks for what is missing, and for nothing twice.
func TestCutAnywhere(t *testing.T) {
	w := newWorld(t)
	text := "It is 5."
	for i := range 3 {
		key := fmt.Sprint("local.dev.", i)
		w.thread(&thread.Thread{Key: key, Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text)})
		w.record(decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)})
	}
	w.desk.board.Refresh()
	if err := w.desk.sync(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(w.home.Path(signal.LogName))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, s := range w.asked() {
		want[s.ID] = true
	}
	for cut := 0; cut <= len(whole); cut += 37 {
		if err := os.WriteFile(w.home.Path(signal.LogName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		w.start()
		if err := w.desk.sync(); err != nil {
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

// TestHostile: what comes from a chat or an agent cannot leave its lines, mention
// anybody or become a link.
func TestHostile(t *testing.T) {
	w := newWorld(t)
	bad := "a\n\n# Posted\n@channel [click](http://x) ![i](http://y) \x1b[31m\u202e <!here> tri-approve settle"
	text := bad + strings.Repeat("x", 100)
	w.thread(&thread.Thread{
		Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "b\n\nad",
		InvestigatorReturn: &draft.Return{ConfidenceReason: bad, OpenQuestions: []string{bad}},
	})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)})
	w.look()
	s := w.last("local.dev.1")
	for _, never := range []string{"@channel", "@c", "](", "\x1b", "\u202e", "\n# "} {
		if strings.Contains(s.Text, never) || strings.Contains(s.Title, never) {
			t.Errorf("%q is in %q", never, s.Text)
		}
	}
	if strings.Count(s.Text, "\n\n") != 1 || strings.Contains(s.Title, "\n") {
		t.Errorf("%q, %q", s.Title, s.Text)
	}
	for _, b := range s.Buttons {
		if b.Name == "approve" {
			t.Error("a draft that may not be sent can be approved")
		}
		if len(b.Value) > 48 || len(b.Name)+1+len(b.Value) > 64 {
			t.Errorf("%d bytes in a button", len(b.Value))
		}
	}
	if err := w.act("local.dev.1", "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.wants("a yes to what may not be sent")
}

// TestLong: a draft that does not fit can be looked at elsewhere, and is not
// approved unseen; every card fits.
func TestLong(t *testing.T) {
	for platform, most := range map[string]int{"local": 4000, "discord": 1800, "telegram": 1800} {
		for _, n := range []int{10, 1000, 1400, 3000, 5000, 60_000} {
			w := newWorld(t)
			w.desk.chat.Platform, w.desk.book.chat.Platform = platform, platform
			key := w.put("1", 1, strings.Repeat("é x ", n/4))
			s := w.last(key)
			if got := utf8.RuneCountInString(s.Text) + utf8.RuneCountInString(s.Title); got > most {
				t.Errorf("%s: a draft of %d makes a card of %d", platform, n, got)
			}
			whole := strings.Contains(strings.ReplaceAll(s.Text, "│ ", ""), strings.TrimSpace(strings.Repeat("é x ", n/4)))
			if can := s.Buttons[0].Name == "approve"; can != whole {
				t.Errorf("%s: %d characters: all are shown %v, can be approved %v", platform, n, whole, can)
			}
			w.desk.chat.Platform, w.desk.book.chat.Platform = "local", "local" // as which act acts
			if err := w.act(key, "ben", "✅", nil); err != nil {
				t.Fatal(err)
			}
			if got := len(w.words()) == 1; got != whole {
				t.Errorf("%s: %d characters: all are shown %v, is approved %v", platform, n, whole, got)
			}
		}
	}
}

// TestParked: a post that may stand has a card without buttons, and one more look
// when it is parked again.
func TestParked(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	sha := decision.Sum("It is 5.")
	if err := w.act(key, "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.record(decision.Record{Kind: decision.Claim, By: "tri-reply", Key: key, Cycle: 1, DraftSHA256: sha})
	e := outbox.Entry{ID: outbox.ID(key, 1, sha, 1), Key: key, Cycle: 1, DraftSHA256: sha, Part: 1, Parts: 1, State: outbox.Parked, Tries: 2, Why: "no answer", Text: "It is 5."}
	if err := e.Save(w.home); err != nil {
		t.Fatal(err)
	}
	w.look()
	s := w.last(key)
	if !strings.HasPrefix(s.Title, "May or may not be posted") || len(s.Buttons) != 0 || !strings.Contains(s.Text, "tri-approve settle") {
		t.Errorf("%+v", s)
	}
	for range 2 {
		w.record(decision.Record{Kind: decision.Settle, By: "ana", Key: key, Cycle: 1, DraftSHA256: sha, Post: e.ID, Tries: e.Tries, Outcome: decision.SettleRetry})
		e.State = outbox.Intent
		if err := e.Save(w.home); err != nil {
			t.Fatal(err)
		}
		w.look()
		if s := w.last(key); s.Title != "Tried again" {
			t.Errorf("%+v", s)
		}
		e.State, e.Tries = outbox.Parked, e.Tries+1
		if err := e.Save(w.home); err != nil {
			t.Fatal(err)
		}
		w.look()
		if s := w.last(key); !strings.HasPrefix(s.Title, "May or may not be posted") {
			t.Errorf("%+v", s)
		}
	}
}

// TestAuto: the card by which tri-dispatch tells of an automatic reply gets an undo
// while there is one, and follows what becomes of it.
func TestAuto(t *testing.T) {
	w := newWorld(t)
	w.cfg.AutoReply.Enabled = true
	w.start()
	text, sha := "It is 5.", decision.Sum("It is 5.")
	w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: sha})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: sha})
	told := signal.Signal{
		ID: signal.OfAuto("x"), Kind: signal.Card, By: "tri-dispatch", Platform: "local", ChatID: "ops", Key: "local.dev.1", Cycle: 1, DraftSHA256: sha,
		Title: "Automatic reply", Text: "cy: where\nis it? @channel\n\nIt is 5.\n\nTake it back until then",
	}
	if err := signal.Ask(w.home, told, signal.Signal{ID: "budget-1", Kind: signal.Card, By: "tri-dispatch", Platform: "local", ChatID: "ops", Text: "no money"}); err != nil {
		t.Fatal(err)
	}
	w.show(signal.Shown)
	w.record(decision.Record{Kind: decision.Auto, By: "tri-dispatch", Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: sha})
	w.look()
	s := w.last("local.dev.1")
	if s.Title != autoTitle || len(s.Buttons) != 1 || s.Buttons[0].Name != "undo" || !strings.Contains(s.Text, "No person has looked at it") || strings.Contains(s.Text, "@channel") {
		t.Errorf("%+v", s)
	}
	if n := len(w.dealt("local.dev.1")); n != 1 {
		t.Errorf("%d cards", n)
	}
	n := len(w.asked())
	w.start()
	w.look()
	if len(w.asked()) != n {
		t.Errorf("%+v", w.asked()[n:])
	}
	if err := w.act("local.dev.1", "ben", "↩️", nil); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.wants("undone", "auto tri-dispatch", "undo ben")
	if s := w.last("local.dev.1"); !strings.HasPrefix(s.Title, "Draft ") || len(s.Buttons) != 4 {
		t.Errorf("%+v", s)
	}
	if err := w.act("local.dev.1", "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.wants("approved", "auto tri-dispatch", "undo ben", "approve ben")
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

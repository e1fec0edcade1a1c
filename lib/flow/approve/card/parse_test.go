package card

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/thread"
)

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
		{"redo by reply", offered, write("U1", " look at\nthe client "),
			[]string{"redo ana look at\nthe client"}},
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
		"a stranger": func(a *event.Action) {
			a.Sender = event.Sender{ID: "U2", Type: "user", Name: "ben"}
		},
		"who is mapped to nobody": func(a *event.Action) { a.Sender.ID = "U9" },
		"nobody":                  func(a *event.Action) { a.Sender.ID = "" },
		"a bot":                   func(a *event.Action) { a.Sender.Type = "bot" },
		"taken away":              func(a *event.Action) { a.Removed = true },
		"a reaction taken away":   func(a *event.Action) { a.Name, a.Value, a.Removed = "✅", "", true },
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
	replaced := slices.ContainsFunc(w.asked(), func(s notify.Signal) bool {
		return s.Card == old.ID && s.Title == "Replaced" && len(s.Buttons) == 0
	})
	if !replaced || len(w.dealt(key)) != 2 {
		t.Errorf("%+v", w.asked())
	}
}

// TestReplay: a click that is delivered again, or read again by a later process, is applied once, even if
// the decision was undone meanwhile.
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

// TestTakenAway: removing one's own reaction undoes one's own approval, and no other.
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
		if i < 2 && (!strings.Contains(s.Text, "ben approved; one more approval") || len(s.Buttons) != 4) ||
			i == 2 && s.Title != "Approved by ana" {
			t.Errorf("after %d: %q %q", i+1, s.Title, s.Text)
		}
	}
}

// TestFirstOfTwoEdits: the card does not say that a draft needs one more approval if the first is of another
// text.
func TestFirstOfTwoEdits(t *testing.T) {
	w := newWorld(t)
	w.cfg.Gate.Quorum = 2
	w.start()
	key := w.put("1", 1, "It is 5.")
	w.record(decision.Record{Kind: decision.Edit, By: "ben", Via: "terminal", Key: key, Cycle: 1,
		Text: "It is 6.", DraftSHA256: decision.Sum("It is 6."), Original: decision.Sum("It is 5.")})
	w.channel.board.Refresh()
	w.look()
	if s := w.last(key); !strings.Contains(s.Text, "ben approved another text, which one more must approve") {
		t.Errorf("%q %q", s.Title, s.Text)
	}
}

// TestFirstOfTwoTakenAway: removing one's reaction takes back the first of two approvals.
func TestFirstOfTwoTakenAway(t *testing.T) {
	w := newWorld(t)
	w.cfg.Gate.Quorum = 2
	w.start()
	key := w.put("1", 1, "It is 5.")
	away := func(a *event.Action) { a.Removed = true }
	for _, step := range []struct {
		who    string
		change func(*event.Action)
	}{{"ben", nil}, {"U1", away}, {"ben", away}, {"U1", nil}} {
		if err := w.act(key, step.who, "✅", step.change); err != nil {
			t.Fatal(err)
		}
		w.look()
	}
	w.wants("taken away", "approve ben", "undo ben", "approve ana")
	if s := w.last(key); !strings.Contains(s.Text, "ana approved; one more approval") {
		t.Errorf("%q %q", s.Title, s.Text)
	}
}

// TestEitherOfTwoTakenAway: each of two whose approvals suffice takes them back by removing the reaction.
func TestEitherOfTwoTakenAway(t *testing.T) {
	for _, who := range []string{"ben", "U1"} {
		w := newWorld(t)
		w.cfg.Gate.Quorum = 2
		w.start()
		key := w.put("1", 1, "It is 5.")
		for _, step := range []struct {
			who    string
			change func(*event.Action)
		}{{"ben", nil}, {"U1", nil}, {who, func(a *event.Action) { a.Removed = true }}} {
			if err := w.act(key, step.who, "✅", step.change); err != nil {
				t.Fatal(err)
			}
			w.look()
		}
		if s := w.last(key); !strings.HasPrefix(s.Title, "Draft ") || len(s.Buttons) != 4 {
			t.Errorf("%s has taken it back, and the card shows %q", who, s.Title)
		}
	}
}

// TestApproversChange: the approval of one who was taken off the list no longer counts, and the card waits
// again; the click of one who was added does.
func TestApproversChange(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	if err := w.act(key, "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.cfg.Team.Approvers = []string{"cy"}
	w.channel.board.Refresh()
	w.look()
	if s := w.last(key); !strings.HasPrefix(s.Title, "Draft ") || len(s.Buttons) != 4 {
		t.Errorf("ben has left, and the card shows %q", s.Title)
	}
	if err := w.act(key, "cy", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.wants("approved anew", "approve ben", "approve cy")
	if s := w.last(key); s.Title != "Approved by cy" {
		t.Errorf("%q", s.Title)
	}
}

// TestRace: clicks of two people and a word at the terminal at once: one refusal counts, and a yes only
// before it.
func TestRace(t *testing.T) {
	for i := range 20 {
		w := newWorld(t)
		key := w.put("1", 1, "It is 5.")
		terminal := approve.Gate{Home: w.home, Config: w.cfg, By: "ana", Via: "terminal",
			Now: func() time.Time { return noon }}
		it, err := terminal.Find(key, approve.Draft)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _, _ = terminal.Decide(it, decision.Dismiss, "") }) // refused when it is second
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
		var counted []string
		state := decision.NewState(decision.PolicyOf(w.cfg))
		for _, r := range rs {
			if counts, _ := state.Add(r); counts && r.Kind != decision.Offer {
				counted = append(counted, r.Kind)
			}
		}
		if n := len(counted); n != 1 && (n != 2 || counted[0] != decision.Approve) ||
			state.Standing(key).Approved() {
			t.Fatalf("%d: %q count", i, counted)
		}
	}
}

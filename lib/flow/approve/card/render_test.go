package card

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// TestFaces: the card follows the state of the draft, whoever decides.
func TestFaces(t *testing.T) {
	sha := decision.Sum("It is 5.")
	word := func(kind, note string) decision.Record {
		r := decision.Record{Kind: kind, By: "ana", Note: note, Key: "local.dev.1", Cycle: 1,
			DraftSHA256: sha}
		if kind == decision.Approve {
			r.Text = "It is 5."
		}
		return r
	}
	say := func(r decision.Record) func(*world) { return func(w *world) { w.record(r) } }
	reply := func(outcome string) func(*world) {
		return func(w *world) {
			b, _ := json.Marshal(outbox.Reply{Key: "local.dev.1", Cycle: 1, Outcome: outcome,
				ApprovedBy: "ana", Why: "thread gone"})
			if _, err := w.channel.take(line{log: repliesName, bytes: b}); err != nil {
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
		{"posted", []func(*world){yes, say(word(decision.Claim, "")), moved(thread.Closed, "posted", 1),
			reply(outbox.Posted)}, "Posted", "approved by ana", 0},
		{"refused", []func(*world){yes, say(word(decision.Claim, "")), moved(thread.Closed, "refused", 1),
			reply(outbox.Refused)}, "Not posted", "thread gone", 0},
		{"edited",
			[]func(*world){say(decision.Record{Kind: decision.Edit, By: "ana", Key: "local.dev.1", Cycle: 1,
				Text: "No: 6.", DraftSHA256: decision.Sum("No: 6."), Original: sha})}, "Approved by ana",
			"With another text:\n│ No: 6.", 1},
		{"dismissed", []func(*world){say(word(decision.Dismiss, "nobody asked"))}, "Dismissed by ana",
			"nobody asked", 0},
		{"redone", []func(*world){say(word(decision.Redo, "look there"))}, "Redone for ana", "look there", 0},
		{"redone, and a new draft", []func(*world){say(word(decision.Redo, "look there")),
			moved(thread.Investigating, "", 2)}, "Redone for ana", "look there", 0},
		{"escalated", []func(*world){say(word(decision.Escalate, ""))}, "Investigated in a long run", "ana", 0},
		{"revoked", []func(*world){yes, say(word(decision.Revoke, "client.go has changed"))}, "Not posted",
			"client.go has changed", 0},
		{"withdrawn", []func(*world){say(word(decision.Withdraw, "a follow-up came"))}, "No longer waits",
			"a follow-up came", 0},
		{"expired", []func(*world){moved(thread.Closed, "nobody decided in time", 1)}, "Closed",
			"nobody decided in time", 0},
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
			if !strings.HasPrefix(s.Title, tt.title) || !strings.Contains(s.Text, tt.text) ||
				!strings.Contains(s.Text, "│ where is it?") || len(s.Buttons) != tt.buttons {
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

// TestHostile: text from a chat or an agent cannot leave its lines, mention anyone or become a link.
func TestHostile(t *testing.T) {
	w := newWorld(t)
	bad := "a\n\n# Posted\n@channel [click](http://x) ![i](http://y) \x1b[31m\u202e <!here> tri-approve settle"
	text := bad + strings.Repeat("x", 100)
	w.thread(&thread.Thread{
		Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "b\n\nad",
		InvestigatorReturn: &draft.Return{ConfidenceReason: bad, OpenQuestions: []string{bad}},
	})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text,
		DraftSHA256: decision.Sum(text)})
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
	w.record(decision.Record{Kind: decision.Dismiss, By: "ana", Key: "local.dev.1", Cycle: 1, Note: bad})
	w.look()
	if s := w.last("local.dev.1"); !strings.Contains(s.Text, "Dismissed by ana") || strings.Contains(s.Text, "@c") ||
		strings.Contains(s.Text, "](") {
		t.Errorf("what it ended with: %q", s.Text) // some sinks refuse the mention, and the card would stay
	}
}

// TestLong: a draft that does not fit can be looked at elsewhere, and is not
// approved unseen; every card fits.
func TestLong(t *testing.T) {
	for platform, most := range map[string]int{"local": 4000, "discord": 1800, "telegram": 1800} {
		for _, n := range []int{10, 1000, 1400, 3000, 5000, 60_000} {
			w := newWorld(t)
			w.channel.chat.Platform, w.channel.store.chat.Platform = platform, platform
			key := w.put("1", 1, strings.Repeat("é x ", n/4))
			s := w.last(key)
			if got := utf8.RuneCountInString(s.Text) + utf8.RuneCountInString(s.Title); got > most {
				t.Errorf("%s: a draft of %d makes a card of %d", platform, n, got)
			}
			whole := strings.Contains(strings.ReplaceAll(s.Text, "│ ", ""),
				strings.TrimSpace(strings.Repeat("é x ", n/4)))
			if can := s.Buttons[0].Name == "approve"; can != whole {
				t.Errorf("%s: %d characters: all are shown %v, can be approved %v", platform, n, whole, can)
			}
			w.channel.chat.Platform, w.channel.store.chat.Platform = "local", "local" // as which act acts
			if err := w.act(key, "ben", "✅", nil); err != nil {
				t.Fatal(err)
			}
			if got := len(w.words()) == 1; got != whole {
				t.Errorf("%s: %d characters: all are shown %v, is approved %v", platform, n, whole, got)
			}
		}
	}
}

// TestLongEdit: a card fits also where it shows the text that an approver wrote in place of a long draft.
func TestLongEdit(t *testing.T) {
	for platform, most := range map[string]int{"local": 4000, "discord": 1950, "telegram": 1950} {
		w := newWorld(t)
		w.channel.chat.Platform, w.channel.store.chat.Platform = platform, platform
		key := w.put("1", 1, strings.Repeat("é x ", 900))
		text := strings.Repeat("it is five. ", 200)
		r := decision.Record{Kind: decision.Edit, By: "ana", Key: key, Cycle: 1, Text: text,
			DraftSHA256: decision.Sum(text), Original: decision.Sum(strings.Repeat("é x ", 900)),
			Badge: strings.Repeat("edited ", 30)}
		for range 20 {
			r.Sentences = append(r.Sentences, verdict.Sentence{Text: "it is five."})
		}
		w.record(r)
		w.look()
		s := w.last(key)
		if got := utf8.RuneCountInString(s.Text) + utf8.RuneCountInString(s.Title); got > most ||
			!strings.HasPrefix(s.Title, "Approved by ana") || !strings.Contains(s.Text, "it is five") {
			t.Errorf("%s: %d characters: %q, %q", platform, got, s.Title, s.Text[:60])
		}
	}
}

// TestParked: a post that may have been made has a card without buttons, and is shown again when it is
// parked again.
func TestParked(t *testing.T) {
	w := newWorld(t)
	key := w.put("1", 1, "It is 5.")
	sha := decision.Sum("It is 5.")
	if err := w.act(key, "ben", "✅", nil); err != nil {
		t.Fatal(err)
	}
	w.record(decision.Record{Kind: decision.Claim, By: "tri-reply", Key: key, Cycle: 1, DraftSHA256: sha})
	e := outbox.Entry{ID: outbox.ID(key, 1, sha, 1), Key: key, Cycle: 1, DraftSHA256: sha, Part: 1, Parts: 1,
		State: outbox.Parked, Tries: 2, Why: "no answer", Text: "It is 5."}
	if err := e.Save(w.home); err != nil {
		t.Fatal(err)
	}
	w.look()
	s := w.last(key)
	if !strings.HasPrefix(s.Title, "May or may not be posted") || len(s.Buttons) != 0 ||
		!strings.Contains(s.Text, "tri-approve settle") {
		t.Errorf("%+v", s)
	}
	for range 2 {
		w.record(decision.Record{Kind: decision.Settle, By: "ana", Key: key, Cycle: 1, DraftSHA256: sha,
			Post: e.ID, Tries: e.Tries, Outcome: decision.SettleRetry})
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

// TestAutoSecond: a card of ours stands when tri-dispatch tells of the automatic
// reply in it: it shows what is so again, with a button that takes it back, also
// where the yes never comes.
func TestAutoSecond(t *testing.T) {
	w := newWorld(t)
	w.cfg.AutoReply.Enabled = true
	w.start()
	text, sha := "It is 5.", decision.Sum("It is 5.")
	w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: sha})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text,
		DraftSHA256: sha})
	w.look()
	w.show(notify.Shown)
	told := notify.Signal{
		ID: notify.OfAuto("x"), Kind: notify.Card, By: "tri-dispatch", Platform: "local", ChatID: "ops",
		Key: "local.dev.1", Cycle: 1, DraftSHA256: sha,
		Title: "Automatic reply", Text: "It is 5.",
	}
	if err := notify.Ask(w.home, told); err != nil {
		t.Fatal(err)
	}
	w.look()
	if s := w.last("local.dev.1"); s.Kind != notify.Recard || !strings.HasPrefix(s.Title, "Draft ") ||
		len(s.Buttons) != 4 {
		t.Errorf("without a yes: %+v", s)
	}
	w.record(decision.Record{Kind: decision.Auto, By: "tri-dispatch", Key: "local.dev.1", Cycle: 1,
		Text: text, DraftSHA256: sha})
	w.look()
	if s := w.last("local.dev.1"); s.Title != autoTitle || len(s.Buttons) != 1 ||
		s.Buttons[0].Name != "undo" {
		t.Errorf("with the yes: %+v", s)
	}
	if n := len(w.dealt("local.dev.1")); n != 1 {
		t.Errorf("%d cards of ours", n)
	}
	if err := w.act("local.dev.1", "ben", "↩️", nil); err != nil {
		t.Fatal(err)
	}
	w.wants("undone", "auto tri-dispatch", "undo ben")
}

// TestAuto: the card by which tri-dispatch announces an automatic reply gets an undo button while undo is
// possible, and follows the outcome.
func TestAuto(t *testing.T) {
	w := newWorld(t)
	w.cfg.AutoReply.Enabled = true
	w.start()
	text, sha := "It is 5.", decision.Sum("It is 5.")
	w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: sha})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text,
		DraftSHA256: sha})
	told := notify.Signal{
		ID: notify.OfAuto("x"), Kind: notify.Card, By: "tri-dispatch", Platform: "local", ChatID: "ops",
		Key: "local.dev.1", Cycle: 1, DraftSHA256: sha,
		Title: "Automatic reply", Text: "cy: where\nis it? @channel\n\nIt is 5.\n\nUndo it until then",
	}
	if err := notify.Ask(w.home, told, notify.Signal{ID: "budget-1", Kind: notify.Card, By: "tri-dispatch",
		Platform: "local", ChatID: "ops", Text: "no money"}); err != nil {
		t.Fatal(err)
	}
	w.show(notify.Shown)
	w.record(decision.Record{Kind: decision.Auto, By: "tri-dispatch", Key: "local.dev.1", Cycle: 1,
		Text: text, DraftSHA256: sha})
	w.look()
	s := w.last("local.dev.1")
	if s.Title != autoTitle || len(s.Buttons) != 1 || s.Buttons[0].Name != "undo" ||
		!strings.Contains(s.Text, "No person has approved it") || strings.Contains(s.Text, "@channel") {
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

// TestIntent: the card of an item of an inbox says what its message was taken for.
func TestIntent(t *testing.T) {
	w := newWorld(t)
	text := "It is 5."
	w.thread(&thread.Thread{Key: "local.dev.1", Cycle: 1, DraftPending: &text, DraftSHA256: decision.Sum(text),
		InvestigatorReturn: &draft.Return{Confidence: draft.High},
		Want: thread.Want{Intent: "code_change", IntentScore: 12, IntentNext: "question", IntentMargin: 7,
			IntentReasons: []string{"code_change:rename +12"}}})
	w.record(decision.Record{Kind: decision.Offer, By: "d", Key: "local.dev.1", Cycle: 1, Text: text,
		DraftSHA256: decision.Sum(text)})
	w.look()
	const want = "\ntaken for code_change, score 12, 7 before question: code_change:rename +12\n"
	if s := w.last("local.dev.1"); !strings.Contains(s.Text, want) {
		t.Errorf("%q", s.Text)
	}
}

package reply

import (
	"errors"
	"fmt"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// cases are what a platform can do to the posts of one draft.
var cases = []struct {
	name   string
	script []string
	limit  int
}{
	{"all well", nil, 1000},
	{"two parts", nil, 12},
	{"answer lost", []string{"lost answer"}, 1000},
	{"request lost", []string{"lost request"}, 1000},
	{"told to wait", []string{"retry"}, 1000},
	{"lost, told to wait, lost", []string{"lost request", "retry", "lost answer"}, 1000},
	{"second part's answer lost", []string{"", "lost answer"}, 12},
	{"refused", []string{"refused"}, 1000},
}

const crashText = "It is five. Really."

// newCrash is a world with one approval in it.
func newCrash(t *testing.T, script []string, limit int, provable, blind bool) *world {
	w := newWorld(t)
	w.chat.script, w.chat.limit, w.chat.provable, w.chat.blind = script, limit, provable, blind
	w.say(decision.Approve, w.offer("local.dev.1", 1, crashText))
	return w
}

// legal fails unless the files on disk are in a state of lib/record/outbox's table.
func (w *world) legal() {
	w.t.Helper()
	rs, err := decision.Read(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	claims := 0
	for _, r := range rs {
		if r.Kind == decision.Claim {
			claims++
		}
	}
	es := w.open()
	if claims > 1 || len(w.replies()) > 1 || claims == 0 &&
		(len(es) > 0 || len(w.replies()) > 0 || len(w.chat.stands) > 0) {
		w.t.Fatalf("%d claims, %d entries, %d lines, %d posts", claims, len(es), len(w.replies()),
			len(w.chat.stands))
	}
	new, tried := 0, 0
	for _, e := range es {
		if e.State == outbox.Intent && e.Tries == 0 {
			new++
		} else {
			tried++
		}
		if e.State == outbox.Posted && w.chat.copies()[e.PostKey] == 0 {
			w.t.Fatalf("%s is said to be posted and does not stand there", e.ID)
		}
	}
	if tried > 0 && len(w.replies()) == 0 && len(es) != es[0].Parts {
		w.t.Fatalf("tried with %d of %d intents written", len(es), es[0].Parts)
	}
}

// outcome is what became of the approval when all had their say.
func (w *world) outcome() (posts, parts, parked, dup int) {
	for _, n := range w.chat.copies() {
		posts++
		if n > 1 {
			dup++
		}
	}
	for _, e := range w.open() {
		parts = e.Parts
		if e.State == outbox.Parked {
			parked++
		}
	}
	return posts, parts, parked, dup
}

// TestEveryKillPoint ends the program at every step, and at every step of the
// run after that, and lets a third run finish: every part is posted once, or it
// is parked; the line is written once.
func TestEveryKillPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	rounds, parkedRounds := 0, 0
	for _, c := range cases {
		for _, provable := range []bool{true, false} {
			name := fmt.Sprintf("%s, provable %v", c.name, provable)
			for first := 1; ; first++ {
				more := false
				for second := 1; ; second++ {
					w := newCrash(t, c.script, c.limit, provable, false)
					if !w.crashAt(first) {
						break
					}
					more = true
					w.legal()
					again := w.crashAt(second)
					w.legal()
					w.run()
					w.legal()
					rounds++
					posts, _, parked, dup := w.outcome()
					parkedRounds += parked
					refused := c.name == "refused" && len(w.replies()) == 1 &&
						w.replies()[0].Outcome == outbox.Refused
					done := len(w.replies()) == 1 && len(w.open()) == 0
					whole := posts == len(outbox.Split(crashText, c.limit))
					switch {
					case dup > 0:
						t.Fatalf("%s: killed at %d and %d: posted twice", name, first, second)
					case parked == 0 && !(done && whole) && !refused:
						t.Fatalf("%s: killed at %d and %d: %d posts, %d lines, open %v", name, first, second,
							posts, len(w.replies()), w.open())
					case provable && parked > 0:
						t.Fatalf("%s: killed at %d and %d: parked what could be proven", name, first, second)
					}
					if !again {
						break
					}
				}
				if !more {
					break
				}
			}
		}
	}
	t.Logf("%d rounds with kills, 0 posted twice, %d parked", rounds, parkedRounds)
	if rounds < 500 || parkedRounds == 0 {
		t.Errorf("%d rounds, %d parked: the test does not reach what it should", rounds, parkedRounds)
	}
}

// TestBlindPosterPostsTwice is the control: a poster that assumes that nothing was posted is caught by the
// same kills.
func TestBlindPosterPostsTwice(t *testing.T) {
	dups := 0
	for _, c := range cases {
		for first := 1; ; first++ {
			w := newCrash(t, c.script, c.limit, true, true)
			if !w.crashAt(first) {
				break
			}
			w.run()
			_, _, _, dup := w.outcome()
			dups += dup
		}
	}
	if dups == 0 {
		t.Error("no kill point shows a duplicate: the kill points miss the window")
	}
	t.Logf("%d duplicates", dups)
}

// TestSettle: a person's word ends a parking, and only the one it was said about.
func TestSettle(t *testing.T) {
	settle := func(w *world, e *outbox.Entry, outcome string, tries int) {
		w.append(decision.Record{
			Kind: decision.Settle, By: "ana", Key: e.Key, Cycle: e.Cycle, DraftSHA256: e.DraftSHA256,
			Post: e.ID, Outcome: outcome, Tries: tries,
		})
	}
	for _, tt := range []struct {
		outcome string
		tries   int
		posts   int
		line    string // outcome of the reply, "" while it waits
	}{
		{decision.SettlePosted, 1, 1, outbox.Posted},
		{decision.SettleDrop, 1, 1, outbox.Dropped},
		{decision.SettleRetry, 1, 2, outbox.Posted},
		{decision.SettleRetry, 2, 1, ""}, // said about another parking
	} {
		t.Run(fmt.Sprint(tt.outcome, tt.tries), func(t *testing.T) {
			w := newCrash(t, []string{"lost answer"}, 1000, false, false)
			w.run()
			es := w.open()
			if len(es) != 1 || es[0].State != outbox.Parked {
				t.Fatalf("not parked: %+v", es)
			}
			settle(w, es[0], tt.outcome, tt.tries)
			w.run()
			w.run()
			line := ""
			if rs := w.replies(); len(rs) == 1 {
				line = rs[0].Outcome
			}
			if len(w.chat.stands) != tt.posts || line != tt.line {
				t.Errorf("%d posts, line %q; want %d, %q", len(w.chat.stands), line, tt.posts, tt.line)
			}
		})
	}
}

// Two people say retry of one parking; the answer to the first retry is lost
// too. The second word must not post a third time.
func TestSecondRetryIsSpent(t *testing.T) {
	w := newCrash(t, []string{"lost answer", "lost answer"}, 1000, false, false)
	w.run()
	e := w.open()[0]
	for _, who := range []string{"ana", "ben"} {
		w.append(decision.Record{
			Kind: decision.Settle, By: who, Key: e.Key, Cycle: e.Cycle, DraftSHA256: e.DraftSHA256,
			Post: e.ID, Outcome: decision.SettleRetry, Tries: e.Tries,
		})
	}
	w.run()
	w.run()
	if len(w.chat.stands) != 2 || w.open()[0].State != outbox.Parked {
		t.Errorf("%d posts, state %s", len(w.chat.stands), w.open()[0].State)
	}
}

// A parked post does not hold up the thread's next answer.
func TestParkedLetsOthersPass(t *testing.T) {
	w := newCrash(t, []string{"lost answer"}, 1000, false, false)
	w.run()
	w.say(decision.Approve, w.offer("local.dev.1", 2, "And it is six now."))
	w.run()
	if rs := w.replies(); len(rs) != 1 || rs[0].Cycle != 2 {
		t.Errorf("lines %+v", rs)
	}
}

// Removing a person from the list stops posts that have not begun, not those that have.
func TestApproverLeaves(t *testing.T) {
	w := newCrash(t, nil, 1000, true, false)
	if !w.crashAt(4) { // behind the post
		t.Fatal("no crash")
	}
	w.say(decision.Approve, w.offer("local.dev.2", 1, "Not begun."))
	o := w.options(nil)
	o.Policy = func() (decision.Policy, error) { return decision.Policy{Approvers: []string{"ben"}}, nil }
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(w.chat.stands) != 1 || len(w.replies()) != 1 || w.replies()[0].ApprovedBy != "ana" {
		t.Errorf("%d posts, lines %+v", len(w.chat.stands), w.replies())
	}
}

// TestApproverLeavesWhileItRuns: the list counts as it is at the claim. A yes whose author
// was taken off it is not posted, and one of a person who was put on it is.
func TestApproverLeavesWhileItRuns(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after []string
		broken        bool
		posts         int
	}{
		{"stays", []string{"ana"}, []string{"ana"}, false, 1},
		{"leaves", []string{"ana", "ben"}, []string{"ben"}, false, 0},
		// nothing asks until something is to be claimed
		{"comes", []string{"ben"}, []string{"ben", "ana"}, false, 0},
		{"a list that cannot be read", []string{"ana"}, nil, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.approvers = tt.before
			w.say(decision.Approve, w.offer("local.dev.1", 1, "It is 5."))
			o, asked := w.options(nil), 0
			o.Policy = func() (decision.Policy, error) {
				if asked++; asked > 1 {
					w.approvers = tt.after
					if tt.broken {
						return decision.Policy{}, errors.New("config.yaml: bad")
					}
				}
				return w.policy()
			}
			if err := Run(t.Context(), o); (err != nil) != tt.broken || len(w.chat.stands) != tt.posts {
				t.Errorf("%d posts, want %d; %v; said %q", len(w.chat.stands), tt.posts, err, w.said)
			}
		})
	}
}

// TestRefusedStaysRefused: what was refused under a quorum of two, or by a person who left, is not posted
// when the policy changes while tri-reply runs. What was claimed is.
func TestRefusedStaysRefused(t *testing.T) {
	two := decision.Policy{Approvers: []string{"ana", "ben"}, Quorum: 2}
	for _, tt := range []struct {
		name          string
		before, after decision.Policy
		says          func(w *world, o decision.Record)
		posts         string // of the draft's thread
	}{
		{"quorum lowered", two, decision.Policy{Approvers: two.Approvers}, func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.append(decision.Record{Kind: decision.Dismiss, By: "ben", Key: o.Key, Cycle: 1})
		}, ""},
		{"quorum lowered and ben left", two, decision.Policy{Approvers: []string{"ana"}},
			func(w *world, o decision.Record) {
				w.say(decision.Approve, o)
				w.append(decision.Record{Kind: decision.Dismiss, By: "ben", Key: o.Key, Cycle: 1})
			}, ""},
		{"ben left", decision.Policy{Approvers: two.Approvers}, decision.Policy{Approvers: []string{"ana"}},
			func(w *world, o decision.Record) {
				w.say(decision.Approve, o)
				w.append(decision.Record{Kind: decision.Undo, By: "ben", Key: o.Key, Cycle: 1})
				w.append(decision.Record{Kind: decision.Dismiss, By: "ben", Key: o.Key, Cycle: 1})
			}, ""},
		{"claimed under two", two, decision.Policy{Approvers: two.Approvers},
			func(w *world, o decision.Record) {
				w.say(decision.Approve, o)
				y := decision.Record{Kind: decision.Edit, Key: o.Key, Cycle: 1, Text: "y",
					DraftSHA256: decision.Sum("y"), Original: o.DraftSHA256}
				for _, y.By = range two.Approvers {
					w.append(y)
				}
				y.Kind, y.By, y.Nonce = decision.Claim, "tri-reply", "n"
				w.append(y)
			}, "y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.says(w, w.offer("local.dev.1", 1, "x"))
			next := w.offer("local.dev.2", 1, "The next.")
			for _, by := range two.Approvers {
				yes := next
				yes.Kind, yes.By, yes.Target = decision.Approve, by, nil
				w.append(yes)
			}
			o, asked := w.options(nil), 0
			o.Policy = func() (decision.Policy, error) {
				if asked++; asked > 1 {
					return tt.after, nil
				}
				return tt.before, nil
			}
			if err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range w.chat.stands {
				if p.Text != "The next." {
					got += p.Text
				}
			}
			if got != tt.posts || len(w.chat.stands) < 1 {
				t.Errorf("posted %q, want %q, of %d; said %q", got, tt.posts, len(w.chat.stands), w.said)
			}
		})
	}
}

// The limit changes while intents are being written, to another number of parts or to the same: no part is
// lost or doubled.
func TestLimitChangesBetweenIntents(t *testing.T) {
	const text = "0123456789abcdef"
	for n := 2; n <= 4; n++ { // behind an intent
		for limit := 4; limit < 18; limit++ {
			w := newWorld(t)
			w.chat.limit = 6
			w.say(decision.Approve, w.offer("local.dev.1", 1, text))
			if !w.crashAt(n) {
				t.Fatal("no crash")
			}
			w.chat.limit = limit
			w.run()
			if got := w.chat.text(); got != text || len(w.replies()) != 1 || len(w.open()) != 0 {
				t.Errorf("limit %d: posted %q, %d lines", limit, got, len(w.replies()))
			}
		}
	}
}

// TestTwoLimits: intents of two limits, as an earlier version left them, are written anew if none was tried;
// otherwise nothing is posted.
func TestTwoLimits(t *testing.T) {
	const text = "0123456789abcdef"
	for tries := range 2 {
		w := newWorld(t)
		w.chat.limit = 8
		o := w.offer("local.dev.1", 1, text)
		yes := w.say(decision.Approve, o)
		if !w.crashAt(3) { // behind the second intent
			t.Fatal("no crash")
		}
		es := w.open()
		es[0].Tries, es[1] = tries, outbox.Derive(&yes, o.Target, 9)[1]
		for _, e := range es {
			if err := e.Save(w.home); err != nil {
				t.Fatal(err)
			}
		}
		err := Run(t.Context(), w.options(nil))
		if got := w.chat.text(); tries == 0 && (err != nil || got != text) ||
			tries > 0 && (err == nil || got != "") {
			t.Errorf("%d tries: posted %q, %v", tries, got, err)
		}
	}
}

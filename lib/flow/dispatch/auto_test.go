package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// saturday is a few minutes behind the bench's messages.
var saturday = time.Date(2026, 11, 21, 10, 5, 0, 0, time.UTC)

// earned is a bench whose record has earned automatic replies and whose one
// question meets all that they need.
type earned struct {
	*bench
	confidence, risk, text string

	then     []string // what others say below it
	verdicts []string // by round
	now      time.Time
	fault    func(string) error
	policy   func() (decision.Policy, error)
}

func newEarned(t *testing.T) *earned {
	e := &earned{bench: newBench(t), confidence: "high", risk: verdict.Passes,
		text: "what does the retry do?", verdicts: []string{verdict.Pass}, now: saturday}
	e.bench.mention = true
	e.cfg.AutoReply = config.AutoReply{
		Enabled: true, Hours: "Sat 09:00-17:00",
		Never:      []config.Condition{{Name: "incident", When: "(?i)incident"}},
		Production: []config.Condition{{Name: "production", When: "(?i)production"}},
	}
	e.cfg.Gate.Chat = config.GateChat{Platform: "local", ChatID: "ops"}
	for week := range autoreply.Weeks {
		for i := range autoreply.MinWeek + 2 {
			e.judged(fmt.Sprint("old", week, i),
				saturday.Add(-time.Duration(week)*7*24*time.Hour-time.Duration(i+1)*time.Hour),
				decision.Approve)
		}
	}
	return e
}

// judged records a draft that passed and what a person said of it.
func (e *earned) judged(key string, at time.Time, kind string) {
	e.t.Helper()
	offer := decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", At: text.Timestamp(at),
		Key: "local.dev." + key, Cycle: 1, Text: key, DraftSHA256: decision.Sum(key),
		Meta: &decision.Meta{ValidatorVerdict: "pass", InvestigatorRounds: 1},
	}
	word := decision.Record{Kind: kind, By: "boss", Via: "terminal", At: text.Timestamp(at), Key: offer.Key,
		Cycle: 1, Text: key, DraftSHA256: offer.DraftSHA256}
	if kind == decision.Dismiss {
		word.Text = ""
	}
	for _, r := range []decision.Record{offer, word} {
		if _, err := decision.Append(e.home, r); err != nil {
			e.t.Fatal(err)
		}
	}
}

// ask appends the question.
func (e *earned) ask(id string) {
	e.t.Helper()
	e.add(id, "ana", "", event.Actionable, e.text)
	e.bench.mention = false
	for _, text := range e.then {
		e.add("9", "ben", id, event.Ambient, text)
	}
}

func (e *earned) run() error {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o := e.options()
	o.Now, o.fault, o.Policy = func() time.Time { return e.now }, e.fault, e.policy
	o.Investigate = func(_ context.Context, t *thread.Thread, _ []Hint, _ *run.Run) (*draft.Return, error) {
		return &draft.Return{Confidence: e.confidence, DraftReply: "answer", SummaryForOrchestrator: "s",
			EvidenceRefs: []draft.Ref{}}, nil
	}
	o.Validate = func(_ context.Context, t *thread.Thread, _ []Hint, _ *run.Run) (*verdict.Verdict, error) {
		feedback := "cite the line"
		return &verdict.Verdict{Verdict: e.verdicts[t.InvestigatorRound-1], RiskGateCheck: e.risk,
			BounceFeedback: &feedback}, nil
	}
	err := Run(ctx, o)
	if ctx.Err() != nil {
		e.t.Fatal("stuck; said: " + e.say.String())
	}
	return err
}

func (e *earned) must() {
	e.t.Helper()
	if err := e.run(); err != nil {
		e.t.Fatal(err)
	}
}

// kinds are those of the records about a thread, in order.
func (e *earned) kinds(id string) string {
	e.t.Helper()
	rs, err := decision.Read(e.home)
	if err != nil {
		e.t.Fatal(err)
	}
	var kinds []string
	for _, r := range rs {
		if r.Key == event.Key("local", "dev", id) {
			kinds = append(kinds, r.Kind)
		}
	}
	return strings.Join(kinds, " ")
}

func (e *earned) cards() (n int) {
	e.t.Helper()
	if _, err := notify.Asked(e.home, 0, func(s notify.Signal) error {
		if err := notify.Allowed(e.cfg, &s); err != nil {
			e.t.Error(err)
		}
		n++
		return nil
	}); err != nil {
		e.t.Fatal(err)
	}
	return n
}

func TestAuto(t *testing.T) {
	e := newEarned(t)
	e.ask("1")
	e.must()
	if got := e.kinds("1"); got != "offer auto" {
		t.Fatalf("%s; said: %s", got, e.say.String())
	}
	rs, err := decision.Read(e.home)
	if err != nil {
		t.Fatal(err)
	}
	yes := rs[len(rs)-1]
	if yes.By != "tri-dispatch" || yes.Via != "policy" || len(yes.Grounds) != 8 || yes.Text != "answer" ||
		yes.DraftSHA256 != decision.Sum("answer") {
		t.Errorf("%+v", yes)
	}
	if e.cards() != 1 {
		t.Errorf("%d cards tell of it", e.cards())
	}
	before, err := e.home.ReadFile("dispatch.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	e.must() // nothing is said twice
	if done, err := Rebuild(e.home); err != nil || done.Changed+done.Removed > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	after, err := e.home.ReadFile("dispatch.ndjson")
	if err != nil || e.kinds("1") != "offer auto" || !strings.HasPrefix(string(after), string(before)) ||
		e.thread("1").UserApprovedAt == nil {
		t.Errorf("%s, %v: %+v", e.kinds("1"), err, e.thread("1"))
	}
}

// TestWhatPreventsAuto: each of the seven preconditions alone, the gate, and what
// is not a question of now, leave the draft to a person.
func TestWhatPreventsAuto(t *testing.T) {
	for name, set := range map[string]func(*earned){
		"mention":       func(e *earned) { e.bench.mention = false },
		"confidence":    func(e *earned) { e.confidence = "medium" },
		"first round":   func(e *earned) { e.verdicts = []string{verdict.Bounce, verdict.Pass} },
		"no pass":       func(e *earned) { e.verdicts = []string{verdict.Escalate} },
		"risk":          func(e *earned) { e.risk = "needs_high_confidence" },
		"question type": func(e *earned) { e.text = "is staging down?" },
		"never":         func(e *earned) { e.text = "what does the retry do in this incident?" },
		"hours":         func(e *earned) { e.cfg.AutoReply.Hours = "Mon-Fri 09:00-17:00" },
		"no hours":      func(e *earned) { e.cfg.AutoReply.Hours = "" },
		"told":          func(e *earned) { e.cfg.Gate.Chat = config.GateChat{} },
		"off":           func(e *earned) { e.cfg.AutoReply.Enabled = false },
		"turned off since": func(e *earned) {
			now := decision.Policy{Approvers: []string{"boss"}}
			e.policy = func() (decision.Policy, error) { return now, nil }
		},
		"shadow": func(e *earned) { e.shadow = true },
		"rate": func(e *earned) {
			e.judged("bad", saturday.Add(-time.Hour), decision.Dismiss)
		},
		"production is not known": func(e *earned) { e.cfg.AutoReply.Production = nil },
		"a planted fault that passed": func(e *earned) {
			line := `{"at":"2026-11-20T10:00:00Z","faults":[{"fault":"bad_line","decidable":true,"missed":1}]}` + "\n"
			if err := os.WriteFile(e.home.Path(autoreply.DrillFile), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a broken record": func(e *earned) {
			if err := os.WriteFile(e.home.Path(autoreply.DrillFile), []byte("{\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"an old question":      func(e *earned) { e.now = saturday.Add(2 * time.Hour) },
		"answered by a person": func(e *earned) { e.then = []string{"it waits and tries again"} },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEarned(t)
			set(e)
			e.ask("1")
			e.must()
			want := "offer"
			if e.shadow {
				want = ""
			}
			if got := e.kinds("1"); got != want || e.cards() != 0 {
				t.Errorf("%q, %d cards", got, e.cards())
			}
			if !e.shadow && e.thread("1").Status != thread.PendingUser {
				t.Errorf("it waits for nobody: %s", e.thread("1").Status)
			}
		})
	}
}

// TestAutoAfterACrash: wherever a dispatcher is killed, the next says the yes once,
// as long as that is not late.
func TestAutoAfterACrash(t *testing.T) {
	killed := errors.New("killed")
	for _, at := range []string{"offer", "told", "auto"} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(at, late), func(t *testing.T) {
				e := newEarned(t)
				e.ask("1")
				e.fault = func(where string) error {
					if where == at {
						return killed
					}
					return nil
				}
				if err := e.run(); !errors.Is(err, killed) {
					t.Fatal(err)
				}
				e.fault = nil
				if late {
					e.now = saturday.Add(maxOfferAge + time.Second)
				}
				for range 3 {
					e.must()
				}
				want := "offer auto"
				if late && at != "auto" {
					want = "offer"
				}
				if got := e.kinds("1"); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
	t.Run("decided meanwhile", func(t *testing.T) {
		e := newEarned(t)
		e.ask("1")
		e.fault = func(where string) error { return killed }
		if err := e.run(); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		e.fault = nil
		e.decide(decision.Dismiss, "1", "no")
		e.must()
		if got := e.kinds("1"); got != "offer dismiss" {
			t.Error(got)
		}
	})
}

// TestAutoIsTakenBack: by a person, and then it is not repeated; by the policy, if it was not posted in
// time; and turning it off stops approvals that have not been claimed.
func TestAutoIsTakenBack(t *testing.T) {
	standing := func(e *earned) *decision.Standing {
		return standingBy(t, e.bench, decision.PolicyOf(e.cfg), event.Key("local", "dev", "1"))
	}
	t.Run("undo", func(t *testing.T) {
		e := newEarned(t)
		e.ask("1")
		e.must()
		if !standing(e).Approved() {
			t.Fatal("it is not approved")
		}
		e.decide(decision.Undo, "1", "")
		e.must()
		if got := e.kinds("1"); got != "offer auto undo" || standing(e).Approved() ||
			e.thread("1").UserApprovedAt != nil {
			t.Error(got, e.thread("1").UserApprovedAt)
		}
		e.decide(decision.Approve, "1", "")
		if !standing(e).Approved() {
			t.Error("a person cannot say yes any more")
		}
	})
	t.Run("overruled", func(t *testing.T) {
		e := newEarned(t)
		e.ask("1")
		e.must()
		e.decide(decision.Dismiss, "1", "wrong")
		e.must()
		if standing(e).Approved() || e.thread("1").Status != thread.Closed {
			t.Error("a person's no does not overrule it")
		}
		e.cfg.AutoReply.Enabled = false
		if standing(e).Approved() {
			t.Error("off: it is posted")
		}
	})
	t.Run("off", func(t *testing.T) {
		e := newEarned(t)
		e.ask("1")
		e.must()
		e.cfg.AutoReply.Enabled = false
		if standing(e).Approved() {
			t.Fatal("turned off, and posted all the same")
		}
		e.must()
		e.cfg.AutoReply.Enabled = true
		e.now = saturday.Add(decision.AutoLasts + time.Second)
		if !standing(e).Lapsed(e.now) {
			t.Error("turned on again, an old yes holds")
		}
	})
	t.Run("late", func(t *testing.T) {
		e := newEarned(t)
		e.ask("1")
		e.must()
		o := e.options()
		d := &Dispatcher{Options: o, store: &store{open: map[string]*thread.Thread{"1": e.thread("1")}},
			gate: newGate(o)}
		a := newAuto(d)
		rs, err := decision.Read(e.home)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			d.gate.Add(r)
		}
		for _, now := range []time.Time{saturday.Add(time.Minute),
			saturday.Add(decision.AutoLasts + time.Second), saturday.Add(time.Hour)} {
			if _, err := a.tick(now); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.kinds("1"); got != "offer auto undo" || standing(e).Approved() {
			t.Error(got)
		}
		e.must()
		if e.thread("1").UserApprovedAt != nil {
			t.Error("the thread waits for nobody")
		}
	})
}

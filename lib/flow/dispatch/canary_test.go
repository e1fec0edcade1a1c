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
	"tri/lib/judge/autoreply"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// aviary is a dispatcher that does nothing but let canaries go.
type aviary struct {
	*Dispatcher
	l     *library
	flown []string // faults that were to be planted
	give  autoreply.Canary
	err   error
}

// open makes a dispatcher anew over the library's home, as after a restart.
func (a *aviary) open(t *testing.T) {
	t.Helper()
	o := a.l.options()
	o.Once = false
	o.Fly = func(_ context.Context, good *draft.Return, codebase, of string, seed uint64, r *run.Run) (*autoreply.Canary, *draft.Usage, error) {
		a.flown = append(a.flown, r.ID)
		if good.DraftReply == "" || codebase != a.l.dir || of == "" || a.err != nil {
			return nil, nil, a.err
		}
		c := a.give
		c.Of = of
		return &c, &draft.Usage{CostUSD: new(0.2)}, nil
	}
	a.Dispatcher = &Dispatcher{Options: o, answers: newAnswers(), running: map[string]bool{}}
	if err := a.Dispatcher.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Dispatcher.close)
	a.answers.good = []*answer{{runID: a.runOf(t), codebase: a.l.dir, text: "Five times: `pay.go:4`."}}
}

func (a *aviary) runOf(t *testing.T) string { return *a.l.thread("1").InvestigatorTaskID }

// at looks whether one is due, and waits for it.
func (a *aviary) at(t *testing.T, now time.Time) {
	t.Helper()
	a.Now = func() time.Time { return now }
	if err := a.fly(context.Background(), now); err != nil {
		t.Fatal(err)
	}
	if a.canary.flying {
		if err := a.land(<-a.canary.landed); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *aviary) lines(t *testing.T) []string {
	t.Helper()
	text, err := a.Home.ReadFile(autoreply.CanaryFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func newAviary(t *testing.T, perDay float64) *aviary {
	a := &aviary{l: newLibrary(t, retried, "boss"), give: autoreply.Canary{Fault: "bad_line", Verdict: "bounce"}}
	a.l.cfg.Canary.PerDay = perDay
	a.l.cfg.Validator.Agent = "claude"
	a.open(t)
	return a
}

// TestCanaries: as many fly in a day as the configuration says, however often the
// dispatcher is started, and none is ever a draft.
func TestCanaries(t *testing.T) {
	a := newAviary(t, 4)
	before := a.l.kindsOf(t)
	day := time.Date(2026, 11, 22, 0, 0, 1, 0, time.UTC)
	for minute := range 24 * 60 {
		if minute%100 == 0 {
			a.open(t)
		}
		a.at(t, day.Add(time.Duration(minute)*time.Minute))
	}
	got := a.lines(t)
	if len(got) != 4 || len(a.flown) != 4 || !strings.Contains(got[0], `"fault":"bad_line","verdict":"bounce","missed":false`) {
		t.Errorf("%d flew: %s", len(a.flown), got)
	}
	seen := map[string]bool{}
	for _, id := range a.flown {
		seen[id] = true
	}
	if len(seen) != 4 || a.l.kindsOf(t) != before {
		t.Errorf("runs %v; the log of decisions went from %s to %s", a.flown, before, a.l.kindsOf(t))
	}
	spent, err := a.Home.ReadFile("spend.ndjson")
	if err != nil || strings.Count(string(spent), `"work":"canary"`) != 8 {
		t.Errorf("%v:\n%s", err, spent)
	}
}

// TestCanariesThatDoNotFly: none without budget, an answer, a rate; one that went
// wrong is told of and counts for nothing.
func TestCanariesThatDoNotFly(t *testing.T) {
	now := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		set  func(*aviary)
		runs int
		says string
	}{
		"no rate":   {func(a *aviary) { a.canary.span = 0 }, 0, ""},
		"no answer": {func(a *aviary) { a.answers.good = nil }, 0, ""},
		"no budget": {func(a *aviary) {
			a.l.cfg.Budget.PerAgent = []config.AgentLimits{{Agent: "claude", Runs: 1}}
			a.open(t)
			if err := a.book.Take(budget.Run{ID: "v-1", Work: budget.Validate, Agent: "claude"}, now); err != nil {
				t.Fatal(err)
			}
		}, 0, ""},
		"another text was approved": {func(a *aviary) { a.answers.good[0].text = "Six." }, 0, ""},
		"it went wrong":             {func(a *aviary) { a.err = errors.New("boom") }, 1, "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAviary(t, 24)
			tt.set(a)
			a.at(t, now)
			a.at(t, now.Add(time.Second))
			if len(a.flown) != tt.runs || len(a.lines(t)) != 0 || !strings.Contains(a.l.say.String(), tt.says) {
				t.Errorf("%d flew, %v; said %q", len(a.flown), a.lines(t), a.l.say.String())
			}
		})
	}
	t.Run("missed", func(t *testing.T) {
		a := newAviary(t, 24)
		a.give = autoreply.Canary{Fault: "bad_line", Verdict: "pass", Missed: true}
		a.at(t, now)
		if len(a.lines(t)) != 1 || !strings.Contains(a.l.say.String(), "let a draft pass with a planted fault (bad_line") {
			t.Errorf("%v; said %q", a.lines(t), a.l.say.String())
		}
	})
}

// kindsOf are the kinds of all records of the decision log.
func (l *library) kindsOf(t *testing.T) string {
	t.Helper()
	text, err := l.home.ReadFile("decisions.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(strings.Count(string(text), "\n"))
}

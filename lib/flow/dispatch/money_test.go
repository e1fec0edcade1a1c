package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// at runs the bench at a time, with agents that cost something.
func (b *bench) at(now time.Time) {
	b.t.Helper()
	b.cfg.Validator.Agent = "claude"
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o := b.options()
	o.Now = func() time.Time { return now }
	o.Validate = func(context.Context, *thread.Thread, []Hint, *run.Run) (*verdict.Verdict, error) {
		return &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes,
			Usage: &draft.Usage{CostUSD: new(0.4), InputTokens: 10}}, nil
	}
	if err := Run(ctx, o); err != nil {
		b.t.Fatal(err)
	}
	if ctx.Err() != nil {
		b.t.Fatal("stuck; said: " + b.say.String())
	}
}

func (b *bench) badges(ids string) string {
	var all []string
	for _, id := range strings.Fields(ids) {
		all = append(all, b.thread(id).Badge)
	}
	return strings.Join(all, ", ")
}

// TestBudgetComesBack: threads without budget are resumed the next day, as far as its budget allows, and
// at once when a person requests it.
func TestBudgetComesBack(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget.InvestigationsPerDay = new(1)
	for _, id := range strings.Fields("1 2 3 4") {
		b.add(id, "ana", "", event.Actionable, "why "+id+"?")
	}
	b.at(saturday)
	b.at(saturday.Add(time.Hour))
	if got := b.badges("1 2 3 4"); strings.Count(got, "budget spent") != 3 || b.runs.Load() != 1 {
		t.Fatalf("%s; %d runs", got, b.runs.Load())
	}
	if n := strings.Count(b.say.String(), "budget spent"); n != 1 {
		t.Errorf("said %d times:\n%s", n, b.say.String())
	}
	poor := ""
	for _, id := range strings.Fields("1 2 3 4") {
		if b.thread(id).Badge == "budget spent" {
			poor = id
		}
	}
	b.decide(decision.Redo, poor, "now, please")
	b.at(saturday.Add(2 * time.Hour))
	if th := b.thread(poor); th.Badge != "quotes checked" || !th.Ordered || b.runs.Load() != 2 {
		t.Errorf("%q after a redo, %d runs", th.Badge, b.runs.Load())
	}
	b.at(saturday.AddDate(0, 0, 1))
	if got := b.badges("1 2 3 4"); strings.Count(got, "budget spent") != 1 || b.runs.Load() != 3 {
		t.Errorf("the next day: %s; %d runs", got, b.runs.Load())
	}
	b.at(saturday.AddDate(0, 0, 2))
	if got := b.badges("1 2 3 4"); strings.Contains(got, "budget spent") || b.runs.Load() != 4 {
		t.Errorf("the day after: %s; %d runs", got, b.runs.Load())
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed > 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestValidationIsPaidFor: a draft whose validation the budget did not allow is not offered; when the
// budget allows it, it is validated, not investigated again.
func TestValidationIsPaidFor(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget.PerAgent = []config.AgentLimits{{Agent: "claude", USD: 0.5}}
	b.cfg.Validator.MaxBudgetUSD = 0.5
	b.add("1", "ana", "", event.Actionable, "why 1?")
	b.add("2", "ana", "", event.Actionable, "why 2?")
	b.at(saturday)
	if got := b.badges("1 2"); strings.Count(got, "budget spent") != 1 ||
		strings.Count(got, "quotes checked") != 1 || b.runs.Load() != 2 {
		t.Fatalf("%s; %d runs", got, b.runs.Load())
	}
	n1, _ := b.offers("1")
	n2, _ := b.offers("2")
	if n1+n2 != 1 {
		t.Errorf("%d offers", n1+n2)
	}
	b.at(saturday.AddDate(0, 0, 1))
	if got := b.badges("1 2"); got != "quotes checked, quotes checked" || b.runs.Load() != 2 {
		t.Errorf("the next day: %s; %d runs", got, b.runs.Load())
	}
	spent, err := b.home.ReadFile("spend.ndjson")
	if err != nil || strings.Count(string(spent), `"work":"validate"`) != 4 {
		t.Errorf("%v:\n%s", err, spent)
	}
}

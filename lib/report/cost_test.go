package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stats"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
	"tri/lib/report/history"
)

// TestCostBeyondThreads: the cost of runs that moved no thread, is in the report
// by agent, once, and on the page too.
func TestCostBeyondThreads(t *testing.T) {
	h := build(t)
	before, err := Spending(h, team(), noon, noon.Add(-day))
	if err != nil {
		t.Fatal(err)
	}
	book, err := budget.Open(h, config.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for _, r := range []budget.Run{
		{ID: run.ID("box", "repo", 1, 1), Work: budget.Box, Agent: "claude"},
		{ID: run.ID("box", "repo", 2, 1), Work: budget.Box, Agent: "claude"},
		{ID: run.ID(run.Escalate, "local.dev.1", 0, 1), Key: "local.dev.1", Person: "ana",
			Work: budget.Escalate, Agent: "codex", Ordered: true},
	} {
		if err := book.Take(r, noon.Add(-day/2)); err != nil {
			t.Fatal(err)
		}
		usage := &draft.Usage{InputTokens: 1000, CostUSD: new(0.25)}
		if r.ID == run.ID("box", "repo", 2, 1) {
			usage = nil // killed
		}
		if err := book.Settle(r.ID, r.Key, r.Person, usage, noon.Add(-day/3)); err != nil {
			t.Fatal(err)
		}
	}
	cost, err := Spending(h, team(), noon, noon.Add(-day))
	if err != nil {
		t.Fatal(err)
	}
	if got := cost.Total.Runs - before.Total.Runs; got != 3 {
		t.Errorf("%d more runs, want 3", got)
	}
	var text, page bytes.Buffer
	html, err := HTML(h, team(), noon, noon.Add(-day), labelled)
	if err != nil {
		t.Fatal(err)
	}
	if err := cost.Print(&text); err != nil {
		t.Fatal(err)
	}
	if err := html.Print(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"claude, box ", "codex, escalate ", "ana "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	for _, took := range cost.ByAgent {
		if took.Name == "claude, box" && (took.Runs != 2 || took.CostUSD != 0.25 ||
			took.CostUnknown != 1) {
			t.Errorf("%+v", took)
		}
	}
	if !strings.Contains(page.String(), "claude, box") {
		t.Error("the page has no runs of tri-box")
	}
}

// TestUnknownTokens: the story of a run whose program does not report its tokens names no number of them.
func TestUnknownTokens(t *testing.T) {
	for want, u := range map[string]*draft.Usage{
		", tokens unknown, $0.2500":      {TokensUnknown: true, CostUSD: new(0.25)},
		", tokens unknown, cost unknown": {TokensUnknown: true},
		", 7 tokens, cost unknown":       {InputTokens: 7},
		"":                               nil,
	} {
		for _, kind := range []string{run.Investigate, run.Validate} {
			if r := (&Run{Kind: kind, Usage: u}); r.took() != want {
				t.Errorf("%q, want %q", r.took(), want)
			}
		}
	}
}

// TestWeekOfVerdicts: a week counts what became of drafts at the validator, and the long investigations.
func TestWeekOfVerdicts(t *testing.T) {
	l := &history.Ledger{}
	add := func(id, verdict string) {
		l.Runs = append(l.Runs, &history.Run{ID: id, Verdict: verdict, Round: 1, Ended: noon})
	}
	add("v-1", verdict.Pass)
	add("v-2", verdict.Bounce)
	add("v-3", verdict.Escalate)
	add("v-4", verdict.Bounce)
	add(run.ID(run.Escalate, "k", 1, 1), "")
	add(run.ID(run.Investigate, "k", 1, 1), "")
	w := tally(l, noon.Add(-day), noon.Add(day))
	if w.Caught != 3 || w.Bounced != 2 || w.Contested != 1 || w.Escalations != 1 || w.FirstRound.Hits != 1 {
		t.Errorf("%+v", w)
	}
}

// TestEscalationToValidate: an escalation whose draft is being validated has not failed AC-07.
func TestEscalationToValidate(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	id := run.ID(run.Escalate, "k", 1, 1)
	for name, body := range map[string]string{
		"request.json": `{"by":"tri-dispatch"}`,
		"exit.json":    fmt.Sprintf(`{"by":"tri-dispatch","run_id":%q,"key":"k","status":"done","ended_at":%q}`, id, noon.Format(time.RFC3339)),
	} {
		if err := errors.Join(h.MkdirAll("escalations/"+id),
			h.Replace("escalations/"+id+"/"+name, []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	for status, want := range map[string]string{thread.AwaitingValidation: stats.Unsure,
		thread.PendingUser: stats.Fail} {
		th := thread.Thread{Key: "k", Status: status, Cycle: 1, InvestigatorTaskID: &id}
		if err := th.Save(h); err != nil {
			t.Fatal(err)
		}
		if c, err := escalated(&facts{home: h, month: &history.Ledger{}, now: noon}); err != nil ||
			c.Result != want {
			t.Errorf("%s: %s (%s), %v", status, c.Result, c.Note, err)
		}
	}
}

package budget

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/draft"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newHome(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestEveryLimitHolds: each limit alone stops the run that would exceed it, names itself, and
// applies neither to others nor on the next day.
func TestEveryLimitHolds(t *testing.T) {
	usd, tokens, runs := config.Limits{USD: 1}, config.Limits{Tokens: 1000}, config.Limits{Runs: 2}
	for _, tt := range []struct {
		limits config.Budget
		limit  string
		free   Run // fits all the same
	}{
		{config.Budget{PerDay: usd}, "usd of the day", Run{Agent: "search"}},
		{config.Budget{PerDay: tokens}, "tokens of the day", Run{Agent: "search"}},
		{config.Budget{PerDay: runs}, "runs of the day", Run{Ordered: true}},
		{config.Budget{PerThread: usd}, "usd of the thread", Run{Key: "other"}},
		{config.Budget{PerThread: runs}, "runs of the thread", Run{Key: "other"}},
		{config.Budget{PerPerson: tokens}, "tokens of the person", Run{Person: "ben"}},
		{config.Budget{PerPerson: runs}, "runs of the person", Run{Person: "ben"}},
		{config.Budget{PerPerson: runs}, "runs of the person", Run{Key: "slack.c.1"}}, // another platform's ana
		{config.Budget{PerAgent: []config.AgentLimits{{Agent: "claude", USD: 1}}}, "usd of the agent",
			Run{Agent: "codex"}},
		{config.Budget{PerAgent: []config.AgentLimits{{Agent: "claude", Runs: 2}}}, "runs of the agent",
			Run{Agent: "codex"}},
		{config.Budget{InvestigationsPerDay: new(2)}, "investigations of the day", Run{Work: Validate}},
		{config.Budget{InvestigationsPerPersonPerDay: new(2)}, "investigations of the person",
			Run{Work: Validate}},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			b := open(t, newHome(t), tt.limits)
			run := Run{Key: "k", Person: "ana", Agent: "claude", Work: Investigate, USD: 0.4, Tokens: 400}
			for i := range 2 {
				run.ID = fmt.Sprint(i)
				if err := b.Take(run, noon); err != nil {
					t.Fatal(err)
				}
			}
			run.ID = "third"
			err := b.Take(run, noon)
			over := new(Over)
			if !errors.As(err, &over) || !errors.Is(err, ErrSpent) || over.Limit != tt.limit ||
				b.Fits(run, noon) {
				t.Fatalf("the third: %v", err)
			}
			if !b.Fits(run, noon.AddDate(0, 0, 1)) {
				t.Error("the next day is held back too")
			}
			b = open(t, newHome(t), tt.limits)
			for i := range 2 {
				run.ID = fmt.Sprint(i)
				if err := b.Take(run, noon); err != nil {
					t.Fatal(err)
				}
			}
			free := Run{ID: "free", Key: cmp.Or(tt.free.Key, "k"), Person: cmp.Or(tt.free.Person, "ana"),
				Agent: cmp.Or(tt.free.Agent, "claude"), Work: cmp.Or(tt.free.Work, Investigate), USD: 0.4,
				Tokens: 400, Ordered: tt.free.Ordered}
			if err := b.Take(free, noon); err != nil {
				t.Errorf("%+v: %v", free, err)
			}
		})
	}
}

// TestSettling: a run's actual usage replaces its reservation; a run that does not report keeps
// its reservation, and is counted as unknown.
func TestSettling(t *testing.T) {
	h := newHome(t)
	limits := config.Budget{PerDay: config.Limits{USD: 1, Tokens: 1000}}
	b := open(t, h, limits)
	take := func(id string) error {
		return b.Take(Run{ID: id, Key: "k", Person: "ana", Agent: "claude", Work: Investigate, USD: 0.6,
			Tokens: 600}, noon)
	}
	if err := errors.Join(take("a"), b.Settle("a", "k", "ana",
		&draft.Usage{InputTokens: 100, CostUSD: new(0.1)}, noon)); err != nil {
		t.Fatal(err)
	}
	if err := take("b"); err != nil {
		t.Fatal("what was not used is not free again: ", err)
	}
	if err := b.Settle("b", "k", "ana", nil, noon); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as it is, and read again
		if err := take("c"); !errors.Is(err, ErrSpent) {
			t.Fatalf("what nobody knows counts for nothing: %v", err)
		}
		if sum := b.sums.Of(scope{what: Day}); sum.Runs != 2 || sum.Unknown != 1 || sum.USD < 0.7-slack ||
			sum.USD > 0.7+slack || sum.Tokens != 700 {
			t.Errorf("%+v", sum)
		}
		b = open(t, h, limits)
	}
}

// TestEstimates: a run's own cap, else what half of such runs stayed below, else
// the default; code alone is free.
func TestEstimates(t *testing.T) {
	b := open(t, newHome(t), config.Budget{})
	check := func(r Run, usd float64, tokens int64) {
		t.Helper()
		if u, n := b.estimate(r); u != usd || n != tokens {
			t.Errorf("%+v: $%v and %d tokens, want $%v and %d", r, u, n, usd, tokens)
		}
	}
	run := Run{Agent: "claude", Work: Investigate}
	check(run, defaultUSD, defaultTokens)
	for i, cost := range []float64{0.3, 0.1, 0.2} {
		r := Run{ID: fmt.Sprint(i), Agent: "claude", Work: Investigate}
		if err := errors.Join(b.Take(r, noon),
			b.Settle(r.ID, "", "", &draft.Usage{OutputTokens: int64(1000 * cost), CostUSD: &cost},
				noon)); err != nil {
			t.Fatal(err)
		}
	}
	check(run, 0.2, 200)
	check(Run{Agent: "claude", Work: Validate}, defaultUSD, defaultTokens)
	check(Run{Agent: "claude", Work: Investigate, USD: 2, Tokens: 9}, 2, 9)
	check(Run{Agent: "search", Work: Investigate, USD: 2, Tokens: 9}, 0, 0)
}

// TestOldLog: lines of before there were limits in money count as they did.
func TestOldLog(t *testing.T) {
	h := newHome(t)
	old := `{"at":"2026-11-21T10:00:00Z","kind":"reserve","day":"2026-11-21","run_id":"i-1","key":"k","person":"ana","cost_usd":null}
{"at":"2026-11-21T10:00:01Z","kind":"settle","day":"2026-11-21","run_id":"i-1","key":"k","person":"ana","cost_usd":0.2,"tokens":50}
{"at":"2026-11-21T10:00:02Z","kind":"settle","day":"2026-11-21","run_id":"v-1","key":"k","person":"ana","cost_usd":0,"tok`
	if err := os.WriteFile(h.Path(file), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, h, config.Budget{InvestigationsPerDay: new(1)})
	if sum := b.sums.Of(scope{what: Day}); sum.Investigations != 1 || sum.USD != 0.2 || sum.Tokens != 50 {
		t.Errorf("%+v", sum)
	}
	if err := b.Take(Run{ID: "i-2", Work: Investigate}, noon); !errors.Is(err, ErrSpent) {
		t.Error(err)
	}
}

// TestLeft: the rest of each limit today, as recorded.
func TestLeft(t *testing.T) {
	h := newHome(t)
	limits := config.Budget{
		InvestigationsPerDay: new(5), PerDay: config.Limits{USD: 2}, PerPerson: config.Limits{Runs: 2},
		PerAgent: []config.AgentLimits{{Agent: "claude", Tokens: 1000}},
	}
	b := open(t, h, limits)
	for i, person := range []string{"ana", "ana", "ben"} {
		r := Run{ID: fmt.Sprint(i), Key: "k", Person: person, Agent: "claude", Work: Investigate,
			USD: 0.5, Tokens: 100}
		if err := b.Take(r, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Settle("0", "k", "ana", &draft.Usage{InputTokens: 10, CostUSD: new(0.25)}, noon); err != nil {
		t.Fatal(err)
	}
	sums, err := Today(h, noon)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(sums.Left(&limits))
	if want := "[{day  investigations 3 5} {day  usd 1.25 2} {agent claude tokens 210 1000} {person ana runs 2 2}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if sums, err = Today(h, noon.AddDate(0, 0, 1)); err != nil || sums.Of(scope{what: Day}).Runs != 0 {
		t.Errorf("tomorrow: %+v, %v", sums, err)
	}
}

// TestClockAhead: after a clock was ahead, the limits of that day last, and say why.
func TestClockAhead(t *testing.T) {
	b := open(t, newHome(t), config.Budget{PerDay: config.Limits{Runs: 1}})
	if err := b.Take(Run{ID: "1"}, noon.AddDate(10, 0, 0)); err != nil {
		t.Fatal(err)
	}
	err := b.Take(Run{ID: "2"}, noon)
	if !errors.Is(err, ErrSpent) || !strings.Contains(err.Error(), "spend.ndjson has a run of 2036-11-21") {
		t.Error(err)
	}
	err = b.Take(Run{ID: "2"}, noon.AddDate(10, 0, 0))
	if !errors.Is(err, ErrSpent) || strings.Contains(err.Error(), "clock") {
		t.Error(err)
	}
}

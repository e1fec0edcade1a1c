package budget

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/draft"
)

func open(t *testing.T, h *durable.Home, limits config.Budget) *Book {
	t.Helper()
	b, err := Open(h, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestLimitsHoldAcrossRestarts(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	limits := config.Budget{InvestigationsPerDay: new(3), InvestigationsPerPersonPerDay: new(2)}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i, tt := range []struct {
		run, person string
		at          time.Time
		spent       bool
	}{
		{"r1", "ana", noon, false},
		{"r1", "ana", noon, false}, // a restart of the same run is not a second one
		{"r2", "ana", noon, false},
		{"r3", "ana", noon, true}, // her limit
		{"r4", "ben", noon, false},
		{"r5", "cid", noon, true},                   // the day's
		{"r6", "cid", noon.AddDate(0, 0, -1), true}, // a clock set back opens no new day
		{"r7", "ana", noon.AddDate(0, 0, 1), false}, // a new day does
	} {
		b := open(t, h, limits)
		err := b.Take(Run{ID: tt.run, Key: "k", Person: tt.person, Work: Investigate, Agent: "search"}, tt.at)
		if spent := errors.Is(err, ErrSpent); spent != tt.spent || err != nil && !spent {
			t.Errorf("%d: %s for %s: %v, want spent %v", i, tt.run, tt.person, err, tt.spent)
		}
	}
}

func TestNoLimit(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, h, config.Budget{})
	for _, run := range []string{"a", "b", "c"} {
		if err := b.Take(Run{ID: run, Key: "k", Person: "ana", Work: Investigate},
			time.Unix(0, 0)); err != nil {
			t.Error(err)
		}
	}
}

// TestSettleOnce: what a run took counts once, across restarts too.
func TestSettleOnce(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for range 2 {
		b := open(t, h, config.Budget{})
		if err := b.Take(Run{ID: "r1", Key: "k", Person: "ana", Work: Investigate}, noon); err != nil {
			t.Fatal(err)
		}
		if key, person := b.For("r1"); key != "k" || person != "ana" {
			t.Errorf("reserved for %q %q", key, person)
		}
		if err := b.Settle("r1", "k", "ana", &draft.Usage{InputTokens: 3}, noon); err != nil {
			t.Fatal(err)
		}
		if !b.Settled("r1") || b.Settled("r2") {
			t.Error("settled is not what was settled")
		}
	}
	text, err := h.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(`"settle"`)); n != 1 {
		t.Errorf("%d entries of one run:\n%s", n, text)
	}
}

// TestNegativeUsage: what a worker reports opens no budget.
func TestNegativeUsage(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	minus, nan := -5.0, math.NaN()
	for i, u := range []draft.Usage{{CostUSD: &minus, InputTokens: -9}, {CostUSD: &nan, OutputTokens: -9},
		{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}} {
		b := open(t, h, config.Budget{})
		run := fmt.Sprint("r", i)
		if err := b.Take(Run{ID: run, Key: run, Person: "ana", Agent: "claude", Work: Investigate}, noon); err != nil {
			t.Fatal(err)
		}
		before := b.sums.Of(scope{Thread, run})
		if err := b.Settle(run, run, "ana", &u, noon); err != nil {
			t.Fatal(err)
		}
		got := b.sums.Of(scope{Thread, run})
		if before.USD <= 0 || got.USD != before.USD || got.Tokens != before.Tokens {
			t.Errorf("%+v: %+v, want %+v", u, got, before)
		}
	}
}

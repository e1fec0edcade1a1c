package budget

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/draft"
)

// TestBooksOfSeveralProcesses: reservations and settlements of one process limit the others, and
// together they never exceed the limit.
func TestBooksOfSeveralProcesses(t *testing.T) {
	h := newHome(t)
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	limits := config.Budget{InvestigationsPerDay: new(20)}
	var taken sync.Map
	var all sync.WaitGroup
	for p := range 4 {
		b := open(t, h, limits)
		all.Go(func() {
			for n := range 10 {
				id := fmt.Sprintf("i-%d-%d", p, n)
				err := b.Take(Run{ID: id, Agent: "search", Work: Investigate}, now)
				if err == nil {
					taken.Store(id, true)
				} else if !errors.Is(err, ErrSpent) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := 0
	taken.Range(func(_, _ any) bool { n++; return true })
	if n != 20 {
		t.Errorf("%d runs, of a budget for 20", n)
	}
	// A run is reserved once and settled once, by any of the processes.
	a, b := open(t, h, config.Budget{}), open(t, h, config.Budget{})
	r := Run{ID: "x-1", Work: Escalate, Agent: "claude", Key: "k", Person: "ana", Ordered: true}
	if err := errors.Join(a.Take(r, now), b.Take(r, now)); err != nil {
		t.Fatal(err)
	}
	if got := b.Unsettled(Escalate); !slices.Equal(got, []string{"x-1"}) {
		t.Errorf("unsettled %q", got)
	}
	usage := &draft.Usage{CostUSD: new(0.75), InputTokens: 10}
	if err := errors.Join(b.Settle("x-1", "k", "ana", usage, now),
		a.Settle("x-1", "k", "ana", nil, now)); err != nil {
		t.Fatal(err)
	}
	if !a.Settled("x-1") || len(a.Unsettled(Escalate)) != 0 {
		t.Error("one does not know what the other settled")
	}
	sums, err := Today(h, now)
	if err != nil {
		t.Fatal(err)
	}
	sums.Each(Agent, func(who string, s Sum) {
		if who == "claude" && (s.Runs != 1 || s.USD != 0.75 || s.Unknown != 0) {
			t.Errorf("%+v", s)
		}
	})
}

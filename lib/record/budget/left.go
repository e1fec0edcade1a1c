package budget

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
)

// Left is a limit and how much of it is used today.
type Left struct {
	Of    string // Day, Thread, Person or Agent
	Who   string
	Unit  string // investigations, runs, usd or tokens
	Taken float64
	Limit float64 // 0: no limit
}

// Spent reports whether the limit is used up.
func (l *Left) Spent() bool { return l.Limit > 0 && l.Taken >= l.Limit-slack }

// Today sums the reservations and settlements of a day.
func Today(h *durable.Home, now time.Time) (*Sums, error) {
	s := new(Sums)
	s.turn(day(now))
	return s, h.Lines(file, 0, func(line []byte) error {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if e.Day >= s.Day || e.Kind == Settle {
			s.Add(&e)
		}
		return nil
	})
}

// Left returns what is left of each limit: of the day and of each agent with a limit. For threads
// and persons it returns the limits that are used up or, if there are none, the one closest to its
// limit.
func (s *Sums) Left(b *config.Budget) []Left {
	all := left(Day, "", s.Of(scope{what: Day}), number(b.InvestigationsPerDay), b.PerDay)
	if len(all) == 0 || all[0].Unit != "investigations" {
		taken := Left{Of: Day, Unit: "investigations", Taken: float64(s.Of(scope{what: Day}).Investigations)}
		all = slices.Insert(all, 0, taken)
	}
	for _, a := range b.PerAgent {
		all = append(all, left(Agent, a.Agent, s.Of(scope{Agent, a.Agent}), 0, b.ForAgent(a.Agent))...)
	}
	all = append(all, s.least(Person, number(b.InvestigationsPerPersonPerDay), b.PerPerson)...)
	return append(all, s.least(Thread, 0, b.PerThread)...)
}

// least returns the limits of a kind that are used up, by name, or else the one with the largest
// used share.
func (s *Sums) least(what string, investigations int, limits config.Limits) (spent []Left) {
	var all []Left
	s.Each(what, func(who string, sum Sum) {
		if who != "" {
			all = append(all, left(what, who, sum, investigations, limits)...)
		}
	})
	slices.SortFunc(all, func(x, y Left) int {
		return cmp.Or(cmp.Compare(y.Taken/y.Limit, x.Taken/x.Limit), strings.Compare(x.Who, y.Who),
			strings.Compare(x.Unit, y.Unit))
	})
	for i, l := range all {
		if i == 0 || l.Spent() {
			spent = append(spent, l)
		}
	}
	return spent
}

func left(of, who string, sum Sum, investigations int, limits config.Limits) (all []Left) {
	for _, l := range []Left{
		{of, who, "investigations", float64(sum.Investigations), float64(investigations)},
		{of, who, "runs", float64(sum.Runs), float64(limits.Runs)},
		{of, who, "usd", sum.USD, limits.USD},
		{of, who, "tokens", float64(sum.Tokens), float64(limits.Tokens)},
	} {
		if l.Limit > 0 {
			all = append(all, l)
		}
	}
	return all
}

package budget

import (
	"fmt"

	"tri/lib/base/config"
)

// Sum is what was reserved or spent in one day.
type Sum struct {
	Runs           int
	Investigations int // those of the runs that are investigations
	USD            float64
	Tokens         int64
	Unknown        int // ended runs of unknown cost: their reservation counts
}

// Sums are the sums of one day: of all runs, and by thread, person and agent.
type Sums struct {
	Day      string // UTC, 2006-01-02
	of       map[scope]*Sum
	reserved map[string]Entry // of the day, by run
	settled  map[string]bool
}

type scope struct{ what, who string }

// Scopes of a limit.
const (
	Day    = "day"
	Thread = "thread"
	Person = "person"
	Agent  = "agent"
)

// turn starts a new day. A clock set back does not.
func (s *Sums) turn(day string) {
	if day > s.Day {
		*s = Sums{Day: day, of: map[scope]*Sum{}, reserved: map[string]Entry{}, settled: map[string]bool{}}
	}
}

// Add adds the next entry of the log.
func (s *Sums) Add(e *Entry) {
	if e.Kind == Reserve {
		s.turn(e.Day)
		if _, again := s.reserved[e.RunID]; e.Day != s.Day || again {
			return
		}
		s.reserved[e.RunID] = *e
		s.each(e, func(sum *Sum) {
			sum.Runs++
			if e.Investigates() {
				sum.Investigations++
			}
			sum.USD += e.ReservedUSD
			sum.Tokens += e.ReservedTokens
		})
		return
	}
	// A run reserved on another day was counted on that day.
	r, ours := s.reserved[e.RunID]
	if !ours || s.settled[e.RunID] {
		return
	}
	s.settled[e.RunID] = true
	s.each(&r, func(sum *Sum) {
		if e.CostUSD != nil {
			sum.USD += *e.CostUSD - r.ReservedUSD
		} else {
			sum.Unknown++
		}
		if e.ReservedTokens == 0 {
			sum.Tokens += e.Tokens - r.ReservedTokens
		}
	})
}

func (s *Sums) each(e *Entry, fn func(*Sum)) {
	for _, at := range []scope{{what: Day}, {Thread, e.Key}, {Person, e.person()}, {Agent, e.Agent}} {
		if s.of[at] == nil {
			s.of[at] = new(Sum)
		}
		fn(s.of[at])
	}
}

// Of returns the sum of a scope.
func (s *Sums) Of(at scope) Sum {
	if sum := s.of[at]; sum != nil {
		return *sum
	}
	return Sum{}
}

// Each calls fn with the sum of each member of a scope: Day, Thread, Person or Agent. The order is
// unspecified.
func (s *Sums) Each(what string, fn func(who string, sum Sum)) {
	for at, sum := range s.of {
		if at.what == what {
			fn(at.who, *sum)
		}
	}
}

// Limit is a limit of the configuration. A 0 field means no limit.
type Limit struct {
	scope
	investigations int
	config.Limits
}

// limits returns the limits that apply to an entry.
func limits(b *config.Budget, e *Entry) []Limit {
	return []Limit{
		{scope{what: Day}, number(b.InvestigationsPerDay), b.PerDay},
		{scope{Agent, e.Agent}, 0, b.ForAgent(e.Agent)},
		{scope{Person, e.person()}, number(b.InvestigationsPerPersonPerDay), b.PerPerson},
		{scope{Thread, e.Key}, 0, b.PerThread},
	}
}

func number(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// slack allows for rounding errors in sums of fractions.
const slack = 1e-9

// over returns why an entry does not fit the limit on top of sum, nil if it fits.
func (l *Limit) over(sum Sum, e *Entry) error {
	forWho := ""
	if l.who != "" {
		forWho = fmt.Sprintf(" for %s %q", l.what, l.who)
	}
	o := &Over{Who: l.who}
	switch search := e.Investigates(); {
	case search && l.investigations > 0 && sum.Investigations >= l.investigations:
		o.Limit, o.why = "investigations of the "+l.what,
			fmt.Sprintf("%d of %d investigations today%s", sum.Investigations, l.investigations, forWho)
	case l.Runs > 0 && sum.Runs >= l.Runs:
		o.Limit, o.why = "runs of the "+l.what, fmt.Sprintf("%d of %d runs today%s", sum.Runs, l.Runs, forWho)
	case l.USD > 0 && sum.USD+e.ReservedUSD > l.USD+slack:
		o.Limit, o.why = "usd of the "+l.what, fmt.Sprintf("$%.2f of $%.2f today%s, and a run may take $%.2f",
			sum.USD, l.USD, forWho, e.ReservedUSD)
	case l.Tokens > 0 && sum.Tokens+e.ReservedTokens > l.Tokens:
		o.Limit, o.why = "tokens of the "+l.what,
			fmt.Sprintf("%d of %d tokens today%s, and a run may take %d", sum.Tokens, l.Tokens, forWho,
				e.ReservedTokens)
	default:
		return nil
	}
	if e.At < e.Day {
		o.why += fmt.Sprintf("; %s has a run of %s: the clock was ahead, and until then it is that day",
			file, e.Day)
	}
	return o
}

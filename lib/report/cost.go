package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/report/history"
)

// Cost is what runs cost in a window, and what is left for today.
type Cost struct {
	At    string `json:"at"`
	Since string `json:"since"`
	Total Took   `json:"total"`

	ByDay    []Took `json:"by_day"`
	ByPerson []Took `json:"by_person"` // by asker
	ByType   []Took `json:"by_question_type"`
	ByAgent  []Took `json:"by_agent"`

	Left []Left `json:"budget"`
	// of today's runs that have ended: those whose cost is the reserved amount
	Guessed int `json:"guessed"`
	Refused int `json:"refused"` // runs refused because no budget was left
}

// Took is the cost of a group of runs. Runs without reported figures are counted separately, not as
// zero.
type Took struct {
	Name          string  `json:"name"`
	Runs          int     `json:"runs"`
	CostUSD       float64 `json:"cost_usd"`       // of the runs that reported it
	CostUnknown   int     `json:"cost_unknown"`   // runs that did not report it
	Tokens        int64   `json:"tokens"`         // of the runs that reported them
	TokensUnknown int     `json:"tokens_unknown"` // runs that did not report them
}

// Left is a limit of the budget and the amount of it that is used today (UTC).
type Left struct {
	What  string  `json:"what"` // "usd today"
	Of    string  `json:"of"`   // day, agent, person or thread
	Who   string  `json:"who,omitempty"`
	Taken float64 `json:"taken"` // including reservations of runs that have not reported
	Limit float64 `json:"limit"` // 0: no limit
}

func (t *Took) add(r *history.Run) {
	t.Runs++
	if r.CostUSD == nil {
		t.CostUnknown++
	} else {
		t.CostUSD += *r.CostUSD
	}
	if r.Tokens < 0 {
		t.TokensUnknown++
	} else {
		t.Tokens += r.Tokens
	}
}

// Spending returns what runs cost since from.
func Spending(h *durable.Home, cfg *config.Config, now, from time.Time) (*Cost, error) {
	l, err := history.Read(h, decision.PolicyOf(cfg), from, now)
	if err != nil {
		return nil, err
	}
	c := &Cost{At: stampJSON(now), Since: stampJSON(from), Refused: len(l.Refused), Total: Took{Name: "all"}}
	c.ByDay, c.ByPerson, c.ByType, c.ByAgent = []Took{}, []Took{}, []Took{}, []Took{}
	others, err := others(h, l, from)
	if err != nil {
		return nil, err
	}
	day, person, kind, agent := sums{}, sums{}, sums{}, sums{}
	for _, r := range slices.Concat(l.Runs, others) {
		c.Total.add(r)
		day.of(r.Ended.UTC().Format(time.DateOnly)).add(r)
		asked := cmp.Or(r.Asked, &history.Question{})
		person.of(cmp.Or(asked.Person, "unknown")).add(r)
		kind.of(cmp.Or(asked.Type, "unknown")).add(r)
		agent.of(cmp.Or(r.Agent, "unknown") + ", " + r.Kind).add(r)
	}
	c.ByDay, c.ByPerson, c.ByType, c.ByAgent = day.list(byName), person.list(byCost), kind.list(byCost),
		agent.list(byCost)
	return c, c.left(h, cfg, now)
}

// others returns the paid runs that moved no thread: runs that people started by hand, and
// those that were killed and not repeated.
func others(h *durable.Home, l *history.Ledger, from time.Time) (runs []*history.Run, err error) {
	err = history.Recent(h, spendLog, "at", from, func(line []byte) error {
		var e budget.Entry
		if err := ndjson.Unmarshal(line, &e); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", spendLog, err))
		}
		if e.Kind != budget.Settle || l.Run(e.RunID) != nil {
			return nil
		}
		r := &history.Run{ID: e.RunID, Kind: cmp.Or(e.Work, budget.Investigate), Key: e.Key, Agent: e.Agent,
			CostUSD: e.CostUSD, Tokens: e.Tokens}
		r.Ended = text.ParseTime(e.At)
		r.Asked = &history.Question{Person: e.Person}
		if e.Tokens == 0 && (e.ReservedTokens > 0 || e.CostUSD == nil) {
			r.Tokens = -1
		}
		runs = append(runs, r)
		return nil
	})
	return runs, err
}

func stampJSON(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// sums are costs by name.
type sums map[string]*Took

func (s sums) of(name string) *Took {
	if s[name] == nil {
		s[name] = &Took{Name: name}
	}
	return s[name]
}

func (s sums) list(order func(a, b *Took) int) []Took {
	out := []Took{}
	for _, t := range slices.SortedFunc(maps.Values(s), order) {
		out = append(out, *t)
	}
	return out
}

func byName(a, b *Took) int { return strings.Compare(a.Name, b.Name) }

func byCost(a, b *Took) int {
	return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Runs, a.Runs), byName(a, b))
}

// left computes what of each limit is reserved or used today.
func (c *Cost) left(h *durable.Home, cfg *config.Config, now time.Time) error {
	sums, err := budget.Today(h, now)
	if err != nil {
		return err
	}
	for _, l := range sums.Left(&cfg.Budget) {
		c.Left = append(c.Left, Left{What: l.Unit + " today", Of: l.Of, Who: l.Who, Taken: l.Taken,
			Limit: l.Limit})
	}
	sums.Each(budget.Day, func(_ string, sum budget.Sum) { c.Guessed = sum.Unknown })
	return nil
}

// Print writes the report as text.
func (c *Cost) Print(w io.Writer) error {
	s := newSheet(w)
	s.printf("since %s UTC: %s\n", strings.TrimSuffix(clock(c.Since), ":00"), c.Total.says())
	for _, l := range c.Left {
		s.printf("%s\n", l.says())
	}
	if c.Guessed > 0 {
		s.printf("%d of today's runs did not report their cost: what was reserved for them counts\n", c.Guessed)
	}
	if c.Refused > 0 {
		s.printf("%d runs did not begin: no budget was left\n", c.Refused)
	}
	for _, part := range []struct {
		name string
		list []Took
		most int
	}{{"agent", c.ByAgent, 20}, {"question type", c.ByType, 20}, {"person who asked", c.ByPerson, 20},
		{"day (UTC)", c.ByDay, 100}} {
		if len(part.list) == 0 {
			continue
		}
		r := rows{{"by " + part.name, "runs", "cost", "unpriced", "tokens"}}
		s.printf("\n")
		for i, t := range part.list {
			if i == part.most {
				r = append(r, []string{fmt.Sprintf("and %d more: --json", len(part.list)-i)})
				break
			}
			r = append(r, []string{t.Name, count(t.Runs), t.cost(), count(t.CostUnknown), t.tokens()})
		}
		s.table(r)
	}
	return s.send(w)
}

func (l Left) says() string {
	number := func(x float64) string { return thousands(int64(math.Round(x))) }
	text := number(l.Taken) + " " + l.What
	if l.What == "usd today" {
		number = dollars
		text = dollars(l.Taken) + " today"
	}
	if l.Who != "" {
		text += " for " + l.Of + " " + fit(l.Who, 30)
	}
	if l.Limit == 0 {
		return text + ", no limit"
	}
	return fmt.Sprintf("%s of %s, %s left", text, number(l.Limit), number(max(0, l.Limit-l.Taken)))
}

// cost returns the sum as text and marks it as incomplete if costs are unknown.
func (t *Took) cost() string {
	switch {
	case t.Runs == 0:
		return "-"
	case t.CostUnknown == t.Runs:
		return "unknown"
	case t.CostUnknown > 0:
		return "≥ " + dollars(t.CostUSD)
	}
	return dollars(t.CostUSD)
}

func dollars(x float64) string {
	cents := int64(math.Round(100 * x))
	return fmt.Sprintf("$%s.%02d", thousands(cents/100), cents%100)
}

func (t *Took) tokens() string {
	switch {
	case t.Runs == 0:
		return "-"
	case t.TokensUnknown == t.Runs:
		return "unknown"
	case t.TokensUnknown > 0:
		return "≥ " + thousands(t.Tokens)
	}
	return thousands(t.Tokens)
}

func count(n int) string { return thousands(int64(n)) }

// thousands returns a number with its digits grouped in threes.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (t *Took) says() string {
	text := fmt.Sprintf("%s runs, %s, %s tokens", count(t.Runs), t.cost(), t.tokens())
	if t.CostUnknown > 0 {
		text += fmt.Sprintf("; %s did not report", count(t.CostUnknown))
	}
	return text
}

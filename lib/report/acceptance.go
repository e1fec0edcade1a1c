package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stats"
	"tri/lib/record/decision"
	"tri/lib/report/history"
)

// Acceptance is the result of the eleven acceptance criteria, computed from the logs.
type Acceptance struct {
	At       string      `json:"at"`
	Criteria []Criterion `json:"criteria"`
}

// Criterion is one acceptance criterion. Value, Low and High are nil if the logs have no data for
// it.
type Criterion struct {
	ID     string   `json:"id"`
	Says   string   `json:"says"` // what is measured
	Bar    string   `json:"bar"`
	Unit   string   `json:"unit"` // percent, tokens, seconds, count
	Value  *float64 `json:"value"`
	N      int      `json:"n"`
	Low    *float64 `json:"low"` // of the 95% interval
	High   *float64 `json:"high"`
	Result string   `json:"result"` // pass, fail, not enough data
	Note   string   `json:"note,omitempty"`
	Warn   string   `json:"warning,omitempty"`
}

// Units of a criterion.
const (
	percents = "percent"
	tokens   = "tokens"
	secs     = "seconds"
	counts   = "count"
)

func (c *Criterion) set(value, low, high float64) {
	c.Value = &value
	if !math.IsInf(high, 1) {
		c.Low, c.High = &low, &high
	}
}

// share sets a percentage and its interval.
func (c *Criterion) share(s stats.Share) {
	c.Unit, c.N = percents, s.N
	if s.N > 0 {
		low, high := s.Interval()
		c.set(100*s.Value(), 100*low, 100*high)
	}
}

// judge compares the interval with the range [from, to]. Fewer than least observations are not
// enough data.
func (c *Criterion) judge(least int, from, to float64) {
	c.Result = stats.Unsure
	switch {
	case c.N < least:
		c.Note = fmt.Sprintf("at least %d are needed", least)
	case c.Low != nil:
		if c.Result = stats.Within(*c.Low, *c.High, from, to); c.Result == stats.Unsure {
			c.Note = "the interval contains the threshold"
		}
	}
}

// facts are the data from which the criteria are computed.
type facts struct {
	home  *durable.Home
	now   time.Time
	from  time.Time       // start of the last week
	whole *history.Ledger // the requested window, at least four weeks
	month *history.Ledger // its last four weeks
	talk  *history.Talk   // of the requested window
	waits []history.Wait  // before the first start of the dispatcher: how long people took to answer
}

// Missed returns the result of the labels for AC-11: misses per 100 with bounds, and the number of
// labels. The caller provides it, so that this package need not import lib/report/sample.
type Missed func() (rate, low, high float64, n int, err error)

// gather reads the logs.
func gather(h *durable.Home, who decision.Policy, now, from time.Time) (*facts, error) {
	f := &facts{home: h, now: now, from: now.Add(-7 * day)}
	begun, err := history.First(h, history.Journal, "at")
	if err != nil {
		return nil, err
	}
	begun = cmp.Or(begun, now)
	month := now.Add(-28 * day)
	talked := make(chan error, 1)
	go func() {
		var err, late error
		if f.talk, err = history.ReadTalk(h, from, time.Time{}, begun); err == nil && from.After(begun) {
			var past *history.Talk
			if past, late = history.ReadTalk(h, time.Time{}, begun, begun); late == nil {
				f.waits = past.Waits
			}
		} else if err == nil {
			f.waits = f.talk.Waits
		}
		past, more := history.ReadPast(h, begun)
		f.waits = append(f.waits, past...)
		talked <- errors.Join(err, late, more)
	}()
	earliest := month
	if from.Before(month) {
		earliest = from
	}
	f.whole, err = history.Read(h, who, earliest, now)
	if err := errors.Join(err, <-talked); err != nil {
		return nil, err
	}
	f.month = f.whole.Since(month)
	return f, nil
}

// Accept computes all criteria from the logs.
func Accept(h *durable.Home, cfg *config.Config, now time.Time, missed Missed) (*Acceptance, error) {
	f, err := gather(h, decision.PolicyOf(cfg), now, now.Add(-7*day))
	if err != nil {
		return nil, err
	}
	return f.accept(missed)
}

func (f *facts) accept(missed Missed) (*Acceptance, error) {
	a := &Acceptance{At: stampJSON(f.now)}
	for _, criterion := range []func(*facts) (Criterion, error){filtered, context, concurrent, drilled,
		stamped, bounced, escalated, attached, survived, throughput} {
		c, err := criterion(f)
		if err != nil {
			return nil, err
		}
		a.Criteria = append(a.Criteria, c)
	}
	c := Criterion{ID: "AC-11", Says: "dropped messages that should not have been, 7 days",
		Bar: "at most 1 in 100", Unit: percents}
	rate, low, high, n, err := missed()
	if err != nil {
		return nil, err
	}
	if c.N = n; n > 0 {
		c.set(rate, low, high)
	}
	if c.judge(20, 0, 1); c.Result == stats.Unsure {
		c.Note += "; tri-report audit takes labels"
	}
	a.Criteria = append(a.Criteria, c)
	return a, nil
}

// filtered computes AC-01.
func filtered(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-01", Says: "messages that ask something, 7 days", Bar: "at most 40%"}
	var s stats.Share
	n := 0
	for _, d := range f.talk.Days {
		if d.Date > f.from.UTC().Format(time.DateOnly) {
			s.Hits, s.N, n = s.Hits+d.Actionable, s.N+d.Total(), n+1
		}
	}
	c.share(s)
	c.judge(20, 0, 40)
	if n < 5 && c.Result == stats.Pass {
		c.Result, c.Note = stats.Unsure, fmt.Sprintf("messages came on %d days only", n)
	}
	return c, nil
}

// stamped computes AC-05: the validator must not pass everything.
func stamped(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-05", Says: "drafts that pass in the first round, 7 days", Bar: "60 to 90%"}
	t := tally(f.month, f.from, f.now.Add(time.Second))
	c.share(t.FirstRound)
	c.judge(10, 60, 90)
	if t.FirstRound.N >= 10 && t.FirstRound.Hits == t.FirstRound.N {
		c.Warn = "every draft passed: the validator may check too little; tri-drill shows it"
	}
	return c, nil
}

// throughput computes AC-10: how long askers wait, compared with how long people took before.
func throughput(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-10", Says: "message to reply, median, 28 days",
		Bar: "at most 30s more than before", Unit: secs}
	var ours, theirs []float64
	for _, r := range f.month.Replies {
		if wait, ok := r.Wait(); ok {
			ours = append(ours, wait.Seconds())
		}
	}
	for _, w := range f.waits {
		theirs = append(theirs, w.Took.Seconds())
	}
	c.N, c.Result = len(ours), stats.Unsure
	if len(ours) == 0 {
		c.Note = "nothing was answered"
		return c, nil
	}
	m, low, high := stats.Median(ours)
	c.set(m, low, high)
	if len(theirs) == 0 {
		c.Note = "no history from before: tri init --history EXPORT reads one"
		return c, nil
	}
	before, blow, bhigh := stats.Median(theirs)
	c.Bar = fmt.Sprintf("at most %s and 30s", seconds(before))
	c.Note = fmt.Sprintf("before, people took %s (%d questions)", seconds(before), len(theirs))
	switch { // both intervals must agree, which is stricter than 95%
	case math.IsInf(high, 1) || math.IsInf(bhigh, 1):
	case high <= blow+30:
		c.Result = stats.Pass
	case low > bhigh+30:
		c.Result = stats.Fail
	default:
		c.Note += "; the intervals overlap"
	}
	return c, nil
}

// WriteJSON writes one record per criterion.
func (a *Acceptance) WriteJSON(w io.Writer) error {
	return ndjson.Write(w, a.Criteria...)
}

// Print writes the report as text.
func (a *Acceptance) Print(w io.Writer) error {
	s := newSheet(w)
	passed := 0
	for _, c := range a.Criteria {
		if c.Result == stats.Pass {
			passed++
		}
	}
	s.printf("%s UTC: %d of %d criteria pass\n\n", clock(a.At), passed, len(a.Criteria))
	for _, c := range a.Criteria {
		s.printf("%s  %s  %s\n", c.ID, s.paint(fmt.Sprintf("%-15s", c.Result), c.Result == stats.Pass,
			c.Result == stats.Fail), c.Says)
		s.wrap("       ", c.measured())
		if c.Note != "" {
			s.wrap("       ", c.Note)
		}
		if c.Warn != "" {
			s.wrap("       warning: ", c.Warn)
		}
	}
	return s.send(w)
}

func (c *Criterion) measured() string {
	if c.Value == nil {
		return fmt.Sprintf("nothing recorded; wanted: %s", c.Bar)
	}
	text := c.unit(*c.Value)
	if c.Unit == secs || c.Unit == tokens {
		text += ", the median"
	}
	text += fmt.Sprintf(" of %s", count(c.N))
	if c.Unit == tokens {
		text = "at most " + text
	}
	if c.Low != nil && *c.Low != *c.High {
		text += fmt.Sprintf(" (95%% interval %s to %s)", c.unit(*c.Low), c.unit(*c.High))
	}
	return text + "; wanted: " + c.Bar
}

func (c *Criterion) unit(x float64) string {
	switch c.Unit {
	case percents:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") + "%"
	case secs:
		return seconds(x)
	}
	return thousands(int64(math.Round(x)))
}

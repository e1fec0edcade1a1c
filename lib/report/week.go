package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stats"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
	"tri/lib/report/history"
)

// Week compares seven days with the seven before them.
type Week struct {
	At     string  `json:"at"`
	This   Tally   `json:"this"`
	Before Tally   `json:"before"`
	Days   []Tally `json:"days"` // of this week, in order
}

// Tally is what happened in a window.
type Tally struct {
	From string `json:"from"`
	To   string `json:"to"`

	Messages int `json:"messages"`
	Asking   int `json:"actionable"`

	Offered   int `json:"offered"`
	Approved  int `json:"approved"`
	Edited    int `json:"edited"`
	Dismissed int `json:"dismissed"`
	SentBack  int `json:"sent_back"` // redo and escalate
	Auto      int `json:"auto"`

	Answered  int      `json:"answered"`
	NotPosted int      `json:"not_posted"`
	Wait      Measured `json:"wait"`          // from the message to its reply, seconds
	Distance  Measured `json:"edit_distance"` // of edits, characters

	Runs       Took        `json:"runs"`
	Failed     int         `json:"failed"`
	FirstRound stats.Share `json:"first_round_pass"`
	Caught     int         `json:"caught"` // drafts that the validator did not pass
	// Bounced and Contested are the parts of Caught: sent back, and handed to a person with the objections.
	Bounced     int `json:"bounced"`
	Contested   int `json:"contested"`
	Escalations int `json:"escalations"` // long runs that ended
}

// Measured is a median of N values, with its 95% interval if there is one.
type Measured struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"` // null: no values
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

func measured(xs []float64) Measured {
	m := Measured{N: len(xs)}
	if len(xs) == 0 {
		return m
	}
	median, low, high := stats.Median(xs)
	m.Median = &median
	if !math.IsInf(high, 1) {
		m.Low, m.High = &low, &high
	}
	return m
}

const day = 24 * time.Hour

// LastWeek returns the report of the seven days before now.
func LastWeek(h *durable.Home, cfg *config.Config, now time.Time) (*Week, error) {
	from := now.Add(-14 * day)
	l, err := history.Read(h, decision.PolicyOf(cfg), from, now)
	if err != nil {
		return nil, err
	}
	w := &Week{At: stampJSON(now)}
	w.This, w.Before = tally(l, now.Add(-7*day), now), tally(l, from, now.Add(-7*day))
	for i := range 7 {
		w.Days = append(w.Days, tally(l, now.Add(-time.Duration(7-i)*day), now.Add(-time.Duration(6-i)*day)))
	}
	return w, w.talk(h, from)
}

// talk counts the messages.
func (w *Week) talk(h *durable.Home, from time.Time) error {
	tallies := []*Tally{&w.This, &w.Before}
	for i := range w.Days {
		tallies = append(tallies, &w.Days[i])
	}
	return history.Recent(h, history.ClassifiedLog, "classified_at", from, func(line []byte) error {
		at, asks := classified(line)
		for _, t := range tallies {
			if t.holds(at) {
				t.Messages++
				if asks {
					t.Asking++
				}
			}
		}
		return nil
	})
}

func (t *Tally) holds(at time.Time) bool {
	return !at.Before(text.ParseTime(t.From)) && at.Before(text.ParseTime(t.To))
}

// tally counts what happened in a part of the ledger.
func tally(l *history.Ledger, from, to time.Time) Tally {
	t := Tally{From: stampJSON(from), To: stampJSON(to)}
	in := func(at time.Time) bool { return !at.Before(from) && at.Before(to) }
	var waits, distances []float64
	for _, d := range l.Drafts {
		if in(d.At) {
			t.Offered++
		}
		if in(d.Decided) {
			t.word(d.Word)
			if d.Word == decision.Edit && d.Distance > 0 {
				distances = append(distances, float64(d.Distance))
			}
		}
	}
	for _, r := range l.Replies {
		if !in(r.At) {
			continue
		}
		if r.Outcome != outbox.Posted {
			t.NotPosted++
			continue
		}
		t.Answered++
		if wait, ok := r.Wait(); ok {
			waits = append(waits, wait.Seconds())
		}
	}
	for _, r := range l.Runs {
		if in(r.Ended) {
			t.run(r)
		}
	}
	t.Wait, t.Distance = measured(waits), measured(distances)
	return t
}

func (t *Tally) word(kind string) {
	switch kind {
	case decision.Approve:
		t.Approved++
	case decision.Edit:
		t.Edited++
	case decision.Dismiss, decision.Cancel:
		t.Dismissed++
	case decision.Redo, decision.Escalate, decision.Tell, decision.Redirect, decision.Reopen:
		t.SentBack++
	case decision.Auto:
		t.Auto++
	}
}

func (t *Tally) run(r *history.Run) {
	t.Runs.add(r)
	if r.Status == run.Failed {
		t.Failed++
	}
	if strings.HasPrefix(r.ID, run.Escalate[:1]+"-") {
		t.Escalations++
	}
	switch r.Verdict {
	case "":
		return
	case verdict.Pass:
	case verdict.Bounce:
		t.Caught, t.Bounced = t.Caught+1, t.Bounced+1
	default:
		t.Caught, t.Contested = t.Caught+1, t.Contested+1
	}
	if r.Round == 1 {
		t.FirstRound.Add(r.Verdict == verdict.Pass)
	}
}

// Print writes it as text.
func (w *Week) Print(out io.Writer) error {
	s := newSheet(out)
	s.printf("%s to %s UTC\n\n", clock(w.This.From), clock(w.This.To))
	t, b := &w.This, &w.Before
	both := func(name string, show func(*Tally) string) []string { return []string{name, show(t), show(b)} }
	number := func(name string, n func(*Tally) int) []string {
		return both(name, func(t *Tally) string { return count(n(t)) })
	}
	s.table(rows{
		{"", "this week", "the week before"},
		number("messages", func(t *Tally) int { return t.Messages }),
		both("  ask something", func(t *Tally) string {
			return estimateText(stats.Share{Hits: t.Asking, N: t.Messages})
		}),
		number("drafts offered", func(t *Tally) int { return t.Offered }),
		number("  approved as they were", func(t *Tally) int { return t.Approved }),
		number("  approved after an edit", func(t *Tally) int { return t.Edited }),
		both("    characters changed, median", func(t *Tally) string {
			return t.Distance.says(func(x float64) string { return fmt.Sprintf("%.0f", x) })
		}),
		number("  dismissed", func(t *Tally) int { return t.Dismissed }),
		number("  sent back for another round", func(t *Tally) int { return t.SentBack }),
		number("  replied automatically", func(t *Tally) int { return t.Auto }),
		number("answers posted", func(t *Tally) int { return t.Answered }),
		number("  approved and not posted", func(t *Tally) int { return t.NotPosted }),
		both("  message to reply, median", func(t *Tally) string { return t.Wait.says(seconds) }),
		both("first-round pass rate", func(t *Tally) string { return estimateText(t.FirstRound) }),
		number("drafts the validator stopped", func(t *Tally) int { return t.Caught }),
		number("  bounced", func(t *Tally) int { return t.Bounced }),
		number("  escalated to a person", func(t *Tally) int { return t.Contested }),
		number("long investigations", func(t *Tally) int { return t.Escalations }),
		number("runs", func(t *Tally) int { return t.Runs.Runs }),
		number("  failed", func(t *Tally) int { return t.Failed }),
		both("cost", func(t *Tally) string { return t.Runs.cost() }),
		both("tokens", func(t *Tally) string { return t.Runs.tokens() }),
	})
	s.printf("\n")
	r := rows{{"24 h until", "messages", "ask", "offered", "answered", "wait", "cost"}}
	for i := range w.Days {
		d := &w.Days[i]
		r = append(r, []string{text.ParseTime(d.To).UTC().Format("Mon 2 Jan 15:04"), count(d.Messages),
			fmt.Sprint(d.Asking), fmt.Sprint(d.Offered), fmt.Sprint(d.Answered), d.Wait.says(seconds),
			d.Runs.cost()})
	}
	s.table(r)
	return s.send(out)
}

// says returns the median as text, without its interval.
func (m Measured) says(unit func(float64) string) string {
	if m.Median == nil {
		return "-"
	}
	return unit(*m.Median)
}

func estimateText(s stats.Share) string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%s of %s, %s", count(s.Hits), count(s.N), percent(s.Value()))
}

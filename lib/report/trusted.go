package report

import (
	"fmt"
	"io"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/record/decision"
)

// Trusted reports which kinds of answers have earned automatic replies.
type Trusted struct{ *autoreply.Report }

// Trust computes it from the home's logs.
func Trust(h *durable.Home, cfg *config.Config, now time.Time) (*Trusted, error) {
	p, err := autoreply.New(cfg)
	if err != nil {
		return nil, err
	}
	b, err := autoreply.Read(h, p, decision.PolicyOf(cfg), now.Add(-(autoreply.Weeks+2)*7*day))
	if err != nil {
		return nil, err
	}
	return &Trusted{b.Report(now)}, nil
}

var preconditions = map[string]string{
	"mention":       "we were mentioned",
	"confidence":    "the investigator's confidence was high",
	"first-round":   "the validator let it pass in round 1",
	"risk":          "the risk gate passed",
	"question-type": "question type and rules allow it",
	"hours":         "it was within working hours",
	"told":          "a person would be told (gate.chat)",
}

// maxWrong is how many false positives are printed.
const maxWrong = 10

// Print writes it as text.
func (t *Trusted) Print(w io.Writer) error {
	s := newSheet(w)
	gate := s.paint("not earned", false, true)
	if t.Open {
		gate = s.paint("earned", true, false)
	}
	switch {
	case !t.Enabled:
		s.printf("automatic replies: %s, and off in the configuration\n", gate)
	case t.Open:
		s.printf("automatic replies: %s, and on\n", gate)
	default:
		s.printf("automatic replies: %s; every draft waits for a person\n", gate)
	}
	for _, m := range t.Missing {
		s.wrap("  missing: ", m)
	}
	s.printf("\nwrong: drafts that passed, and a person edited in meaning, dismissed, sent back\nor corrected; missed: planted faults that passed (each at most %.0f%% in each week)\n",
		100*autoreply.MaxRate)
	t.printWeeks(s)
	if t.ProductionKnown {
		s.printf("  that touch production: %d wrong of %d judged (none is allowed)\n", t.Production.Hits,
			t.Production.N)
	}
	s.printf("\nthe seven preconditions, of the drafts judged in these weeks\n")
	r := rows{}
	for _, c := range t.Preconditions {
		r = append(r, []string{preconditions[c.Name], fmt.Sprintf("%d of %d", c.Hits, c.N)})
	}
	s.table(append(r, []string{"all seven: would have been automatic", fmt.Sprint(t.Would)},
		[]string{"  of these, wrong", fmt.Sprint(t.WouldWrong)}))
	t.printFaults(s)
	return s.send(w)
}

// printWeeks prints a line for each week.
func (t *Trusted) printWeeks(s *sheet) {
	r := rows{{"week to", "passed", "judged", "wrong", "95% interval", "planted", "missed"}}
	for _, wk := range t.Weeks {
		wrong, interval, missed := "-", "-", "-"
		if wk.Judged > 0 {
			wrong = fmt.Sprintf("%d (%.1f%%)", wk.Wrong, 100*wk.Rate)
			interval = fmt.Sprintf("%.1f to %.1f%%", 100*wk.Low, 100*wk.High)
		}
		if wk.Planted.N > 0 {
			missed = fmt.Sprintf("%d (%.1f%%)", wk.Planted.Hits, 100*wk.MissRate)
		}
		r = append(r, []string{text.ParseTime(wk.To).UTC().Format(time.DateOnly), fmt.Sprint(wk.Passed),
			fmt.Sprint(wk.Judged), wrong, interval, fmt.Sprint(wk.Planted.N), missed})
	}
	s.table(r)
}

// printFaults prints the wrong drafts and the planted faults that passed.
func (t *Trusted) printFaults(s *sheet) {
	if len(t.Wrong) > 0 {
		s.printf("\nwhat was wrong, the latest first\n")
	}
	for i, x := range t.Wrong {
		if i == maxWrong {
			s.printf("  and %d more: --json\n", len(t.Wrong)-i)
			break
		}
		s.printf("  %s  %s\n", text.ParseTime(x.At).UTC().Format(time.DateOnly), fit(x.Key, width-14))
		s.wrap("              ", text.Line(x.Why, 140))
	}
	if len(t.Missed) > 0 {
		s.printf("\nplanted faults that the validator let pass, the latest first\n")
	}
	for i, m := range t.Missed {
		if i == maxWrong {
			s.printf("  and %d more: --json\n", len(t.Missed)-i)
			break
		}
		s.printf("  %s  %s, %d of %d\n", text.ParseTime(m.At).UTC().Format(time.DateOnly), fit(m.Fault.Fault, 20),
			m.Missed, m.Caught+m.Missed)
	}
}

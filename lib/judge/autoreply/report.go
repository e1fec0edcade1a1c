package autoreply

import (
	"fmt"
	"slices"
	"time"

	"tri/lib/base/stats"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// The maturity gate: in each of four weeks at most two in a hundred judged drafts are wrong and at most two
// in a hundred planted faults pass the validator, and nothing wrong touches production. A week with fewer
// than MinWeek judged drafts proves nothing, and it is not skipped.
const (
	Weeks   = 4
	MaxRate = 0.02
	MinWeek = 10
	week    = 7 * 24 * time.Hour
)

// Report says whether automatic replies have been earned.
type Report struct {
	At      string `json:"at"`
	Enabled bool   `json:"enabled"` // in the configuration

	Weeks      []Week      `json:"weeks"` // four, oldest first
	Production stats.Share `json:"production"`
	// ProductionKnown is whether there is a rule for what touches production.
	ProductionKnown bool `json:"production_known"`

	Open    bool     `json:"open"`    // whether the gate is open
	Missing []string `json:"missing"` // what is missing until it opens

	// Preconditions counts, for each, the passed drafts of the four weeks that met it. Would is the number
	// that met all seven, WouldWrong how many of these were wrong.
	Preconditions []Count `json:"preconditions"`
	Would         int     `json:"would"`
	WouldWrong    int     `json:"would_wrong"`

	Wrong  []Wrong  `json:"wrong"`  // the false positives, latest first
	Missed []Missed `json:"missed"` // the planted faults that passed, of the latest drill first
}

// Week is a period of seven days that ends at the report's time, or at the beginning of the next week.
type Week struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Passed int    `json:"passed"` // drafts that the validator passed
	Judged int    `json:"judged"` // of these, decided or corrected by a person
	Wrong  int    `json:"wrong"`  // of these, wrong
	// Planted are the faults of the week's drills that the cited lines show; hits are those that passed.
	Planted stats.Share `json:"planted"`
	// Rate is the share of wrong drafts among judged ones; Low and High are its 95% interval. MissRate is the
	// share of planted faults that passed.
	Rate     float64 `json:"rate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	MissRate float64 `json:"miss_rate"`
}

// Count is the number of drafts that met a precondition.
type Count struct {
	Name string `json:"name"`
	stats.Share
}

// Missed is how many faults of a kind passed in a drill.
type Missed struct {
	At string `json:"at"` // time of the drill
	Fault
}

// Wrong is one false positive.
type Wrong struct {
	Key        string `json:"key"`
	Cycle      int    `json:"cycle"`
	At         string `json:"at"` // time of the decision
	Why        string `json:"why"`
	Production bool   `json:"production,omitempty"`
}

// Report computes the current report.
func (b *Book) Report(now time.Time) *Report {
	r := &Report{At: now.UTC().Format(time.RFC3339), Enabled: b.policy.Enabled,
		ProductionKnown: b.policy.HasProduction(), Wrong: []Wrong{}, Missed: []Missed{}, Missing: []string{}}
	for i := range Weeks {
		to := now.Add(-time.Duration(Weeks-1-i) * week)
		r.Weeks = append(r.Weeks, Week{From: to.Add(-week).UTC().Format(time.RFC3339),
			To: to.UTC().Format(time.RFC3339)})
	}
	for _, d := range b.drafts {
		b.count(r, d, now)
	}
	for _, d := range b.drills {
		i := weekOf(text.ParseTime(d.At), now)
		if i < 0 {
			continue
		}
		s := d.Missed()
		p := &r.Weeks[i].Planted
		p.Hits, p.N = p.Hits+s.Hits, p.N+s.N
		for _, f := range d.Faults {
			if f.Decidable && f.Missed > 0 {
				r.Missed = append(r.Missed, Missed{d.At, f})
			}
		}
	}
	for i := range r.Weeks {
		w := &r.Weeks[i]
		wrong := stats.Share{Hits: w.Wrong, N: w.Judged}
		w.Rate, w.MissRate = wrong.Value(), w.Planted.Value()
		w.Low, w.High = wrong.Interval()
	}
	slices.SortStableFunc(r.Wrong, func(x, y Wrong) int { return text.CompareTimes(y.At, x.At) })
	slices.SortStableFunc(r.Missed, func(x, y Missed) int { return text.CompareTimes(y.At, x.At) })
	r.Missing = r.missing()
	r.Open = len(r.Missing) == 0
	return r
}

// weekOf returns the index of the week that contains an instant, or -1.
func weekOf(at, now time.Time) int {
	ago := now.Sub(at)
	if ago < 0 || ago >= Weeks*week {
		return -1
	}
	return Weeks - 1 - int(ago/week)
}

func (b *Book) count(r *Report, d *Draft, now time.Time) {
	if !d.Passed() {
		return
	}
	asked, judged := b.question(d), b.judged[round{d.Key, d.Cycle, d.Round}]
	if judged.Round == 0 { // the journal entry is missing: use the offer
		judged.Round, judged.Verdict = d.Round, "pass"
	}
	if i := weekOf(d.At, now); i >= 0 {
		r.Weeks[i].Passed++
	}
	i := weekOf(d.Decided, now)
	why := b.wrongs(d)
	if d.Word == "" || i < 0 || d.By == decision.Dispatcher && why == "" { // no person said anything of it
		return
	}
	w := &r.Weeks[i]
	w.Judged++
	if len(asked.Production) > 0 {
		r.Production.Add(why != "")
	}
	if why != "" {
		w.Wrong++
		r.Wrong = append(r.Wrong, Wrong{d.Key, d.Cycle, d.Decided.UTC().Format(time.RFC3339), why,
			len(asked.Production) > 0})
	}
	conditions := b.policy.Preconditions(asked, judged, d.At)
	for i, c := range conditions {
		if len(r.Preconditions) <= i {
			r.Preconditions = append(r.Preconditions, Count{Name: c.Name})
		}
		r.Preconditions[i].Add(c.Holds)
	}
	if Hold(conditions) {
		r.Would++
		if why != "" {
			r.WouldWrong++
		}
	}
}

// Earned says in a sentence what the open gate is based on.
func (r *Report) Earned() string {
	judged, wrong, planted := 0, 0, stats.Share{}
	for _, w := range r.Weeks {
		judged, wrong = judged+w.Judged, wrong+w.Wrong
		planted.Hits, planted.N = planted.Hits+w.Planted.Hits, planted.N+w.Planted.N
	}
	return fmt.Sprintf("in four weeks %d of %d drafts that passed were wrong, %d of %d planted faults passed; of %d that touch production none was wrong",
		wrong, judged, planted.Hits, planted.N, r.Production.N)
}

// missing lists the reasons why the gate is closed.
func (r *Report) missing() []string {
	out := []string{}
	for _, w := range r.Weeks {
		name := "the week to " + w.To[:len("2006-01-02")]
		switch {
		case w.Judged < MinWeek:
			out = append(out, fmt.Sprintf("%s: %d drafts were judged, at least %d are needed", name,
				w.Judged, MinWeek))
		case w.Rate > MaxRate:
			out = append(out, fmt.Sprintf("%s has %.1f%% false positives, at most %.0f%% are allowed", name,
				100*w.Rate, 100*MaxRate))
		}
		if w.MissRate > MaxRate {
			out = append(out, fmt.Sprintf("%s let %.1f%% of the planted faults pass, at most %.0f%% are allowed", name,
				100*w.MissRate, 100*MaxRate))
		}
	}
	switch {
	case !r.ProductionKnown:
		out = append(out, "no rule in auto_reply.production says what touches production")
	case r.Production.Hits > 0:
		out = append(out, fmt.Sprintf("%d false positives touched production, none is allowed",
			r.Production.Hits))
	}
	return out
}

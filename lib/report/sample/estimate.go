package sample

import (
	"fmt"
	"io"
	"strings"

	"tri/lib/base/sysexit"
)

// Estimate is the result of the labels of a sample for the whole frame.
type Estimate struct {
	Version string  `json:"classifier_version"`
	Seed    int64   `json:"seed"`
	Of      string  `json:"of"`       // "dropped" or "actionable" messages
	Frame   int     `json:"frame"`    // number of these
	Sample  int     `json:"sample"`   // messages to label
	Labels  int     `json:"labelled"` // without the skipped
	Misses  int     `json:"misses"`   // that the filter had wrong
	Skipped int     `json:"skipped"`
	Rate    float64 `json:"-"` // misses per 100 of these messages
	Low     float64 `json:"-"` // exact 95% bounds
	High    float64 `json:"-"`
	Others  int     `json:"other_versions"` // messages of other versions, left out
	Target  float64 `json:"target_per_100,omitempty"`
	Counts
}

// target is the maximum rate of acceptance criterion AC-11, in percent; fewer than least labels decide
// nothing, even if the window has no more messages.
const (
	target = 1
	least  = 20
)

// Estimate counts the labels in the order of drawing up to the first message without one: only
// these are a simple random sample. A skipped message counts as not drawn.
func (s *Sample) Estimate(labels *Labels) Estimate {
	e := Estimate{Version: s.Version, Seed: s.Seed, Of: Nothing, Frame: s.Frame, Sample: len(s.drops),
		Others: s.Others, Target: target}
	if s.asked {
		e.Of, e.Target = Opens, 0
	}
	for i := range s.drops {
		l, ok := labels.of(s.Version, &s.drops[i])
		if !ok {
			break
		}
		if l.Label == Skip {
			e.Skipped++
			continue
		}
		if (l.Label == Nothing) == s.asked {
			e.Misses++
		}
		e.Labels++
	}
	e.judge()
	return e
}

// judge computes the rate and its bounds from the counts.
func (e *Estimate) judge() {
	if e.Labels == 0 {
		e.High = 100
		return
	}
	population := e.Frame - e.Skipped
	if population < e.Labels { // the labels are of several frames: as if there was no end of messages
		population = 1000 * e.Labels
	}
	low, high := interval(e.Misses, e.Labels, population)
	e.Rate = 100 * float64(e.Misses) / float64(e.Labels)
	e.Low, e.High = 100*float64(low)/float64(population), 100*float64(high)/float64(population)
}

// verdict compares the misses of the dropped messages with the threshold.
func (e *Estimate) verdict() string {
	switch {
	case e.Labels < least:
		return fmt.Sprintf("open: at least %d labels are needed", least)
	case e.High <= target:
		return "met: even the upper bound is below the threshold"
	case e.Low > target:
		return "missed: even the lower bound is above the threshold; tri-report tune shows other values"
	}
	return "open: the interval contains the threshold; label more (--sample)"
}

// Print writes the estimate as text.
func (e Estimate) Print(w io.Writer) error {
	var b strings.Builder
	e.Counts.print(&b)
	if e.Target > 0 {
		fmt.Fprintf(&b, "at most %d miss of 100 dropped messages: %s\n", target, e.verdict())
	}
	if e.Skipped > 0 {
		fmt.Fprintf(&b, "%d skipped: they count as not drawn\n", e.Skipped)
	}
	if e.Others > 0 {
		fmt.Fprintf(&b, "%d messages classified by earlier versions of the rules are left out\n", e.Others)
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

package faults

import (
	"fmt"
	"io"
	"strings"

	"tri/lib/base/stats"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// shown is the maximum number of misses in the table.
const shown = 20

// Table prints s as text.
func (s *Score) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-17s %7s %6s %6s %4s  %s\n", "fault", "planted", "caught", "missed", "void",
		"caught, 95%")
	for i, c := range s.Faults {
		if !c.Decidable && (i == 0 || s.Faults[i-1].Decidable) {
			b.WriteString("of which the cited lines say nothing:\n")
		}
		fmt.Fprintf(&b, "%-17s %7d %6d %6d %4d  %s\n", c.Fault, c.Planted, c.Caught, c.Missed, c.Void,
			share(c.Caught, c.Caught+c.Missed))
	}
	fmt.Fprintf(&b, "good returns: %d, of which %d passed; false alarms %s\n", s.Good.Total, s.Good.Passed,
		share(s.Good.Total-s.Good.Passed, s.Good.Total))
	if s.Alone {
		fmt.Fprintf(&b, "%s judged alone, without the checks of code\n", strings.Join(s.Validators, ", "))
	}
	if s.Doubled > 0 {
		fmt.Fprintf(&b, "%d verdicts came twice and were counted once\n", s.Doubled)
	}
	if s.Lost > 0 {
		fmt.Fprintf(&b, "%d planted faults have no verdict\n", s.Lost)
	}
	for i, m := range s.Missed {
		if i == shown {
			fmt.Fprintf(&b, "and more; --json has them\n")
			break
		}
		fmt.Fprintf(&b, "missed: %s in %s (%s: %s)\n", m.Fault, text.Visible(m.Of), text.Visible(m.Where),
			text.Line(m.What, 80))
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

// share formats a share with its 95% interval, in percent.
func share(hits, n int) string {
	if n == 0 {
		return "-"
	}
	s := stats.Share{Hits: hits, N: n}
	low, high := s.Interval()
	return fmt.Sprintf("%5.1f%% (%.1f to %.1f)", 100*s.Value(), 100*low, 100*high)
}

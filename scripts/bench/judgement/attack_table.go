package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"tri/lib/record/verdict"
	"tri/lib/report/faults"
)

// alarms prints how many good returns were refused.
func alarms(out io.Writer, goods []*trial) {
	fmt.Fprintf(out, "%-26s %6s %6s  %-22s %s\n", "good returns", "n", "alarms", "share, 95%", "refused by")
	row := func(name string, of func(*trial) bool) {
		n, bad := 0, []*trial{}
		for _, t := range goods {
			if of(t) {
				n++
				if t.verdict.Verdict != verdict.Pass {
					bad = append(bad, t)
				}
			}
		}
		fmt.Fprintf(out, "%-26s %6d %6d  %-22s %s\n", name, n, len(bad), percent(len(bad), n), blame(bad))
	}
	for _, maker := range makers {
		for _, half := range halves {
			row(maker+", "+half, func(t *trial) bool { return t.maker == maker && t.half == half })
		}
	}
	row("all", func(*trial) bool { return true })
}

func percent(hits, n int) string {
	if n == 0 {
		return "-"
	}
	share, low, high := interval(hits, n)
	return fmt.Sprintf("%5.1f%% (%.1f to %.1f)", 100*share, 100*low, 100*high)
}

// catches prints a row for each kind of fault, and which checks refused it.
func catches(out io.Writer, plants []*trial) {
	fmt.Fprintf(out, "\n%-17s %6s %6s  %-22s %-7s %-9s  %s\n", "fault", "n", "caught", "share, 95%", "tuned",
		"untouched", "caught by")
	total, caught := 0, 0
	for _, decidable := range []bool{true, false} {
		if !decidable {
			fmt.Fprintln(out, "of which the cited lines say nothing:")
		}
		for _, fault := range faults.Faults {
			rows := slices.DeleteFunc(slices.Clone(plants), func(t *trial) bool {
				return t.Drill.Fault != fault || t.Drill.Decidable != decidable
			})
			if len(rows) == 0 {
				continue
			}
			n := count(rows, "")
			fmt.Fprintf(out, "%-17s %6d %6d  %-22s %-7s %-9s  %s\n", fault, len(rows), n,
				percent(n, len(rows)), brief(rows, "tuned"), brief(rows, "untouched"), blame(rows))
			total, caught = total+len(rows), caught+n
		}
	}
	fmt.Fprintf(out, "%-17s %6d %6d  %s\n", "all", total, caught, percent(caught, total))
	fmt.Fprintln(out, "claims inverted where the cited lines decide it, by who made the return:")
	for _, maker := range makers {
		rows := slices.DeleteFunc(slices.Clone(plants), func(t *trial) bool {
			return t.maker != maker || !t.Drill.Decidable || !strings.HasPrefix(t.Drill.Fault, "inverted")
		})
		row(out, maker, rows)
	}
}

// row prints how many of some plants were caught.
func row(out io.Writer, name string, rows []*trial) {
	if n := count(rows, ""); len(rows) > 0 {
		fmt.Fprintf(out, "%-17s %6d %6d  %-22s %-7s %-9s\n", name, len(rows), n, percent(n, len(rows)),
			brief(rows, "tuned"), brief(rows, "untouched"))
	}
}

func count(rows []*trial, half string) int {
	n := 0
	for _, t := range rows {
		if (half == "" || t.half == half) && t.verdict.Verdict != verdict.Pass {
			n++
		}
	}
	return n
}

func brief(rows []*trial, half string) string {
	n := 0
	for _, t := range rows {
		if t.half == half {
			n++
		}
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(count(rows, half))/float64(n))
}

// blame says which checks failed most often, with their counts.
func blame(rows []*trial) string {
	counts := map[string]int{}
	for _, t := range rows {
		seen := map[string]bool{}
		for _, c := range t.verdict.Checks {
			name, _, _ := strings.Cut(c.Name, " ")
			bad := c.Result == verdict.Fail || c.Result == verdict.Fabricated ||
				c.Result == verdict.Contradicts
			if bad && !seen[name] {
				seen[name] = true
				counts[name]++
			}
		}
	}
	var names []string
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var out []string
	for _, n := range names[:min(len(names), 3)] {
		out = append(out, fmt.Sprintf("%s %d", n, counts[n]))
	}
	return strings.Join(out, ", ")
}

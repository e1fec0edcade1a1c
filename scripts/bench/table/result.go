package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// group is one question put to several programs, in one run and in turns: the
// first is what the others are a ratio of.
type group struct {
	part, what string
	axis       string // what size counts, as "events"; "" where there is no size
	size       int
	unit       unit
	series     []*series
}

// series is what one program took.
type series struct {
	who     string
	samples []float64
	missing string // why there are none
}

// unit is what is measured: seconds, bytes, tokens.
type unit string

const (
	seconds  unit = "s"
	bytesOf  unit = "B"
	tokensOf unit = "tokens"
)

// of is the series of a program in the group, made if it is not there.
func (g *group) of(who string) *series {
	if i := slices.IndexFunc(g.series, func(s *series) bool { return s.who == who }); i >= 0 {
		return g.series[i]
	}
	g.series = append(g.series, &series{who: who})
	return g.series[len(g.series)-1]
}

func (g *group) add(who string, samples ...float64) {
	s := g.of(who)
	s.samples = append(s.samples, samples...)
}

// lacks notes why a program was not measured.
func (g *group) lacks(who, why string) { g.of(who).missing = why }

func (s *series) median() float64 {
	if len(s.samples) == 0 {
		return math.NaN()
	}
	return percentile(s.samples, 50)
}

// spread is how far most samples are from the median, in percent: half of what is
// between the quartiles; nothing where there are few.
func (s *series) spread() string {
	if len(s.samples) < 4 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 50*(percentile(s.samples, 75)-percentile(s.samples, 25))/s.median())
}

func percentile(samples []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[(len(sorted)-1)*p/100]
}

// ratio is how many times what base took s took: the median of the ratios taken in
// turns where both have as many samples, that of the medians else.
func (s *series) ratio(base *series) float64 {
	if len(s.samples) != len(base.samples) {
		return s.median() / base.median()
	}
	var pairs []float64
	for i := range s.samples {
		pairs = append(pairs, s.samples[i]/base.samples[i])
	}
	return (&series{samples: pairs}).median()
}

// text is a value with its unit, in three figures.
func (u unit) text(v float64) string {
	scale := func(v float64, names ...string) string {
		for _, name := range names[:len(names)-1] {
			if v < 999.5 {
				return figures(v) + " " + name
			}
			v /= 1000
		}
		return figures(v) + " " + names[len(names)-1]
	}
	switch u {
	case seconds:
		return scale(v*1e9, "ns", "µs", "ms", "s")
	case bytesOf:
		return scale(v, "B", "kB", "MB", "GB")
	}
	return figures(v) + " " + string(u)
}

func figures(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v < 0.1:
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// count is a number with its thousands apart.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// base is what a series is a ratio of: the first of its group, or for the first
// itself the same program at the smallest size.
func base(groups []*group, g *group, s *series) (of *series, name string) {
	if first := g.series[0]; s != first {
		return first, first.who
	}
	for _, other := range groups {
		if len(g.series) == 1 && other != g && other.part == g.part && other.what == g.what &&
			other.series[0].who == s.who && len(other.series[0].samples) > 0 {
			return other.series[0], "at " + count(other.size)
		}
		if other == g {
			break
		}
	}
	return s, ""
}

// writeTable prints all groups as one table.
func writeTable(out io.Writer, groups []*group) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "part\twhat\tsize\twho\tmedian\t±\tn\tratio\tto")
	for _, g := range groups {
		part, what, at := g.part, g.what, ""
		if g.axis != "" {
			at = count(g.size) + " " + g.axis
		}
		for _, s := range g.series {
			if len(s.samples) == 0 {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t-\t\t0\t-\t%s\n", part, what, at, s.who, s.missing)
			} else {
				of, name := base(groups, g, s)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", part, what, at, s.who,
					g.unit.text(s.median()), s.spread(), len(s.samples), figures(s.ratio(of)), name)
			}
			part, what, at = "", "", ""
		}
	}
	return w.Flush()
}

// writeBenchstat prints every sample in the format of Go's benchmarks, for benchstat.
func writeBenchstat(out io.Writer, groups []*group) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: tri/scripts/bench\n", runtime.GOOS, runtime.GOARCH)
	for _, g := range groups {
		name := "Benchmark" + title(g.part) + "/" + key(g.what)
		if g.axis != "" {
			name += fmt.Sprintf("/%s=%d", key(g.axis), g.size)
		}
		for _, s := range g.series {
			for _, v := range s.samples {
				fmt.Fprintf(&b, "%s/who=%s-%d\t1\t%s\n", name, key(s.who), runtime.GOMAXPROCS(0),
					g.unit.benchstat(v))
			}
			if s.missing != "" {
				fmt.Fprintf(&b, "# %s/who=%s: %s\n", name, key(s.who), s.missing)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (u unit) benchstat(v float64) string {
	if u == seconds {
		return fmt.Sprintf("%.0f ns/op", v*1e9)
	}
	return fmt.Sprintf("%.0f %s", v, u)
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// key is a text as it can stand in the name of a benchmark.
func key(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == '=' || r == ',' {
			return '_'
		}
		return r
	}, s)
}

var formats = map[string]func(io.Writer, []*group) error{"table": writeTable, "benchstat": writeBenchstat}

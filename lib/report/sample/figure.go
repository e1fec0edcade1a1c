package sample

import (
	"fmt"
	"math"
	"strings"
)

// Counts are what the labels of both samples say of the whole window.
type Counts struct {
	Dropped          int      `json:"dropped"` // messages of the window, without the skipped
	DroppedLabels    int      `json:"dropped_labels"`
	Actionable       int      `json:"actionable"`
	ActionableLabels int      `json:"actionable_labels"`
	Figures          []Figure `json:"figures"`
}

// Figure is a rate in the window. Rate and bounds are nil if the labels are too few.
type Figure struct {
	Name  string   `json:"name"`
	Found int      `json:"found"` // labelled messages
	N     int      `json:"n"`     // of so many; of all messages, for called
	Rate  *float64 `json:"per_100"`
	Low   *float64 `json:"low_per_100"` // 95% bounds
	High  *float64 `json:"high_per_100"`
	Lacks string   `json:"lacks,omitempty"` // why there is no rate
}

// The names of figures.
const (
	missed   = "openings_missed"
	needless = "called_for_nothing"
	lost     = "follow_ups_lost"
	called   = "called"
	misses   = "misses"
)

// leastOf is how many labelled openings, follow-ups, or messages that needed nothing give a rate of these.
const leastOf = 10

// The kinds of labelled messages.
const (
	opens = iota
	follows
	nothing
	kinds
)

// cell holds messages that the recorded classification and the one to be measured each drop, or each do not.
type cell struct {
	n  int        // messages, without the skipped
	of [kinds]int // labelled
}

func (c *cell) labels() int { return c.of[opens] + c.of[follows] + c.of[nothing] }

// cells are by what was recorded, then by what is to be measured: 0 dropped, 1 called actionable. What is
// recorded of a message determines its chance to be drawn.
type cells [2][2]cell

// count counts the messages of both samples, and their labels in the order of drawing up to the first message
// without one.
func count(labels *Labels, calledNow func(key string, before bool) bool, samples ...*Sample) (all cells) {
	for _, s := range samples {
		drawn := true
		for i := range s.drops {
			d := &s.drops[i]
			c := &all[bit(s.asked)][bit(calledNow(d.key(), s.asked))]
			c.n++
			l, ok := labels.of(s.Version, d)
			if drawn = drawn && ok; !drawn {
				continue
			}
			switch l.Label {
			case Skip:
				c.n--
			case Opens:
				c.of[opens]++
			case Follows:
				c.of[follows]++
			case Nothing:
				c.of[nothing]++
			}
		}
	}
	return all
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// counts computes the figures.
func (all *cells) counts() Counts {
	var n, m [2]int // messages and labels, by what was recorded
	for i := range all {
		for j := range all[i] {
			n[i], m[i] = n[i]+all[i][j].n, m[i]+all[i][j].labels()
		}
	}
	now := [2]int{all[0][0].n + all[1][0].n, all[0][1].n + all[1][1].n}
	call := Figure{Name: called, Found: now[1], N: now[0] + now[1]}
	if call.N > 0 {
		share := 100 * float64(call.Found) / float64(call.N)
		call.set(share, share, share)
	}
	return Counts{n[0], m[0], n[1], m[1], []Figure{all.share(missed, opens, 0),
		all.share(needless, nothing, 1), all.share(lost, follows, 0), call, all.misses()}}
}

// share estimates how many messages of a kind are dropped now, or called.
func (all *cells) share(name string, kind, now int) Figure {
	hit, rest := all.parts(now, kind), all.parts(1-now, kind)
	f := Figure{Name: name}
	for i := range all {
		f.Found += all[i][now].of[kind]
		f.N += all[i][now].of[kind] + all[i][1-now].of[kind]
	}
	f.Lacks = lacks(append(hit, rest...))
	if f.Lacks == "" && f.N < leastOf && !exact(append(hit, rest...)) {
		f.Lacks = fmt.Sprintf("too few labels: %d such messages, %d are needed", f.N, leastOf)
	}
	if rate, low, high := ratio(sum(hit), sum(rest)); f.Lacks == "" && !math.IsNaN(rate) {
		f.set(rate, low, high)
	} else if f.Lacks == "" {
		f.Lacks = "there is none"
	}
	return f
}

// misses estimates how many of the messages that are dropped now needed an answer.
func (all *cells) misses() Figure {
	f := Figure{Name: misses}
	n := 0
	for i := range all {
		c := &all[i][0]
		n, f.N, f.Found = n+c.n, f.N+c.labels(), f.Found+c.of[opens]+c.of[follows]
	}
	parts := all.parts(0, opens, follows)
	if f.Lacks = lacks(parts); f.Lacks == "" && n == 0 {
		f.Lacks = "there is none"
	} else if f.Lacks == "" {
		t := sum(parts)
		of := 100 / float64(n)
		f.set(of*t.value, of*t.low, min(100, of*t.high))
	}
	return f
}

func (f *Figure) set(rate, low, high float64) { f.Rate, f.Low, f.High = &rate, &low, &high }

// part is the messages of one recorded classification: x of m labelled ones count, and at most so many of n.
type part struct {
	before  int // what was recorded
	n, m, x int
	most    int
}

// parts returns the messages that are dropped, or called, now and were labelled as one of some kinds.
func (all *cells) parts(now int, of ...int) (list []part) {
	for i := range all {
		c := &all[i][now]
		p := part{before: i, n: all[i][0].n + all[i][1].n, m: all[i][0].labels() + all[i][1].labels()}
		for _, kind := range of {
			p.x += c.of[kind]
		}
		if p.most = c.n - (c.labels() - p.x); c.n > 0 {
			list = append(list, p)
		}
	}
	return list
}

// lacks says which sample has too few labels for parts, "" if none has.
func lacks(parts []part) string {
	for _, p := range parts {
		if p.m < least && p.m < p.n {
			return fmt.Sprintf("too few labels: %d of %s messages, %d are needed", p.m,
				[]string{"dropped", "actionable"}[p.before], min(least, p.n))
		}
	}
	return ""
}

// exact reports whether all messages are labelled.
func exact(parts []part) bool {
	for _, p := range parts {
		if p.m < p.n {
			return false
		}
	}
	return true
}

// bounded is a number with its 95% bounds.
type bounded struct{ value, low, high float64 }

// sum estimates a number of messages: each labelled one counts for as many as its sample was drawn from. The
// squares of the distances between estimate and exact bound add up (MOVER; Zou and Donner, Statistics in
// Medicine 27, 2008).
func sum(parts []part) (t bounded) {
	below, above := 0.0, 0.0
	for _, p := range parts {
		e := bounded{0, 0, float64(p.most)}
		if p.m > 0 {
			low, high := interval(p.x, p.m, p.n)
			e.value = min(e.high, float64(p.n)*float64(p.x)/float64(p.m))
			e.low, e.high = min(e.value, float64(low)), max(e.value, min(e.high, float64(high)))
		}
		t.value += e.value
		below += (e.value - e.low) * (e.value - e.low)
		above += (e.high - e.value) * (e.high - e.value)
	}
	t.low, t.high = max(0, t.value-math.Sqrt(below)), t.value+math.Sqrt(above)
	return t
}

// ratio returns x of x+y, in percent, with bounds, for independent x and y: the shares r for which 0 is
// within the bounds of (1-r)x - ry, computed as in sum. It is NaN if both are 0.
func ratio(x, y bounded) (rate, low, high float64) {
	r := x.value / (x.value + y.value)
	above := func(r float64) bool { // the upper bound is
		return (1-r)*x.value-r*y.value+math.Hypot((1-r)*(x.high-x.value), r*(y.value-y.low)) >= 0
	}
	below := func(r float64) bool { // the lower bound is
		return (1-r)*x.value-r*y.value-math.Hypot((1-r)*(x.value-x.low), r*(y.high-y.value)) <= 0
	}
	return 100 * r, 100 * edge(below, r, 0), 100 * edge(above, r, 1)
}

// edge returns the last number on the way from one that ok accepts to another.
func edge(ok func(float64) bool, from, to float64) float64 {
	if ok(to) {
		return to
	}
	for range 50 {
		if mid := (from + to) / 2; ok(mid) {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// shown are the rows of the table: a figure, and of which labelled messages it is.
var shown = []struct{ name, title, found string }{
	{missed, "openings missed", "%d dropped of %d that asked something new"},
	{needless, "called for nothing", "%d called of %d that needed no answer"},
	{lost, "follow-ups lost", "%d dropped of %d that added to a question"},
	{called, "called actionable", "%d of all %d messages"},
	{misses, "misses of the dropped", "%d needed an answer of %d dropped"},
}

// head says how many messages are labelled, and of how many.
func (c *Counts) head(b *strings.Builder) {
	fmt.Fprintf(b, "labelled: %d of %d dropped messages, %d of %d called actionable\n\n", c.DroppedLabels,
		c.Dropped, c.ActionableLabels, c.Actionable)
}

// foot says how to get the labels that are missing.
func (c *Counts) foot(b *strings.Builder) {
	if c.Dropped+c.Actionable == 0 {
		b.WriteString("the window has no message of the rules whose messages were labelled: --window 0 takes all\n")
	}
	if c.DroppedLabels < min(least, c.Dropped) {
		fmt.Fprintf(b, "too few labels of dropped messages: tri-report audit\n")
	}
	if c.ActionableLabels < min(least, c.Actionable) {
		fmt.Fprintf(b, "too few labels of messages called actionable: tri-report audit --actionable\n")
	}
}

func (c *Counts) print(b *strings.Builder) {
	c.head(b)
	fmt.Fprintf(b, "%-22s %6s  %-15s  %s\n", "", "of 100", "95% interval", "labelled")
	for _, row := range shown {
		f := c.figure(row.name)
		if f.Rate == nil {
			fmt.Fprintf(b, "%-22s %6s  %s\n", row.title, "-", f.Lacks)
			continue
		}
		within := fmt.Sprintf("%.1f to %.1f", *f.Low, *f.High)
		if *f.Low == *f.High {
			within = "exact"
		}
		fmt.Fprintf(b, "%-22s %6.1f  %-15s  %s\n", row.title, *f.Rate, within,
			fmt.Sprintf(row.found, f.Found, f.N))
	}
	b.WriteString("\nA labelled message counts for all that could have been drawn in its place.\n")
	c.foot(b)
}

func (c *Counts) figure(name string) Figure {
	for _, f := range c.Figures {
		if f.Name == name {
			return f
		}
	}
	return Figure{}
}

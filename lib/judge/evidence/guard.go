package evidence

import (
	"fmt"
	"strings"

	"tri/lib/base/lazyregexp"
)

// guard is a condition that ends in an error.
type guard struct {
	less  bool // values below the bound are refused, else those above
	bound quantity
	line  int
}

var (
	bounded2 = lazyregexp.New(`(<=?|>=?)\s*([\w.]+)`)
	refuses  = lazyregexp.New(`(?i)\breturn\b.*\berr|\b(?:throw|raise|panic|abort|reject|fatal\w*|die|exit)\b|\bErr[A-Z]|errors?\.New|Errorf`)
	outcome  = lazyregexp.New(`(?i)\berr(?:or)?\w*|\b(?:reject|refus|fail|throw|rais|invalid|panic|abort|den(?:y|ied))\w*|\btoo\b`)
	ought    = lazyregexp.New(`(?i)\b(?:must|needs?|have to|has to|at least|at most|may|allowed|can|up to|minimum|maximum|no (?:more|less|fewer|longer|shorter) than|required?)\b`)
)

// guardsOf lists the conditions whose next line refuses.
func guardsOf(lines []string, first int) []guard {
	var out []guard
	for i, l := range lines {
		m := bounded2.FindStringSubmatchIndex(l)
		if m == nil || !strings.Contains(l, "if") {
			continue
		}
		rest := strings.Join(lines[i:min(i+3, len(lines))], "\n")
		if !refuses.MatchString(rest) {
			continue
		}
		qs := quantities(l[m[4]:], true)
		if len(qs) == 0 || qs[0].at != 0 {
			continue
		}
		out = append(out, guard{less: l[m[2]] == '<', bound: qs[0], line: first + i})
	}
	return out
}

// guard compares what c says of a bound with a condition that refuses.
func (e *Evidence) guard(c clause) string {
	less, more := c.bounds()
	if less == more {
		return ""
	}
	must := ought.MatchString(c.text)
	if !must && !outcome.MatchString(c.text) {
		return ""
	}
	for _, g := range e.guards {
		if !g.bound.in(c.nums) {
			continue
		}
		// What is refused lies below; what is asked for lies above.
		if wantLess := g.less != must; wantLess != less {
			return fmt.Sprintf("says %s %s, %s refuses what is %s", side(less), g.bound.text, e.at(g.line), side(g.less))
		}
	}
	return ""
}

func side(less bool) string {
	if less {
		return "below"
	}
	return "above"
}

// bounds tells whether a clause speaks of what is below a figure, or above.
func (c *clause) bounds() (less, more bool) {
	l := words()
	for _, h := range c.hits {
		at := l.axes[h.axis]
		name := at.sides[0][0]
		if name != "at most" && name != "less than" {
			continue
		}
		less = less || h.side == 0
		more = more || h.side == 1
	}
	return less, more
}

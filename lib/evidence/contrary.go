package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/pattern"
)

// Shares of a claim's words that must stand in a sentence or in a line of code
// before the two are held to speak of the same thing.
const (
	alike      = 0.7  // a sentence
	alikeCase  = 0.9  // where one tells an exception
	alikeProse = 0.8  // what another text of the return says, in its own words
	alikeCode  = 0.7  // a line of code, where a negation is concerned
	rivalry    = 0.15 // a passage this much less alike can still speak for the claim
)

// Contrary says why a claim is not true where the evidence is: a word that is the
// opposite, a negation too many or too few, another value for the same name.
// "" means that nothing shows it, not that it is true.
func Contrary(claim string, against ...*Evidence) string {
	for _, s := range statements(plainClaim(claim)) {
		c := analyse(s, false)
		if lists(s) || repeated(&c, against) {
			continue
		}
		if why := valued(c, against); why != "" {
			return why
		}
		if why := defaulted(s, against); why != "" {
			return why
		}
		for _, e := range against {
			if why := e.guard(c); why != "" {
				return why
			}
			if why := e.truth(c); why != "" {
				return why
			}
			if why := e.counted(c); why != "" {
				return why
			}
			if why := e.figures(c); why != "" {
				return why
			}
		}
		if why := opposed(c, against); why != "" {
			return why
		}
		if why := altered(c, against); why != "" {
			return why
		}
	}
	return ""
}

// lists reports whether a claim says no more than that names stand there.
func lists(s string) bool {
	rest := ticked.ReplaceAllString(s, " ")
	return rest != s && strings.Contains(rest, "stand") && !slices.ContainsFunc(content(terms(rest)), func(t term) bool { return !strings.HasPrefix(t.stem, "stand") })
}

// plainClaim is a claim without fences, addresses and citations, which are no
// statement.
func plainClaim(s string) string {
	s = fenced.ReplaceAllString(Fold(s), " ")
	for _, re := range []*pattern.Pattern{address, cited, linesOf, counted} {
		s = re.ReplaceAllString(s, " ")
	}
	return s
}

// compared is a passage beside a claim.
type compared struct {
	e     *Evidence
	p     *clause
	share float64
}

// opposed looks for a passage that says the opposite of c, and for none that
// speaks as much for it.
func opposed(c clause, against []*Evidence) string {
	var all []compared
	for _, e := range against {
		for i := range e.all {
			if r := likeness(&c, &e.all[i]); r >= alike-rivalry {
				all = append(all, compared{e, &e.all[i], r})
			}
		}
		if p := e.only; p != nil && likeness(&c, p) >= alike {
			all = append(all, compared{e, p, likeness(&c, p)})
		}
	}
	slices.SortStableFunc(all, func(a, b compared) int { return -compare(a.share, b.share) })
	for _, x := range all {
		if (conditional(&c) || conditional(x.p)) && (x.share < alikeCase || len(c.content) < leastSame) {
			continue
		}
		if x.share < alike || x.e.prose && x.share < alikeProse {
			continue
		}
		turns, why, agrees := turned(&c, x.p)
		if turns%2 == 0 {
			continue
		}
		if slices.ContainsFunc(all, func(y compared) bool { return y.p != x.p && y.share >= x.share-rivalry && agrees(y.p) }) {
			continue
		}
		return fmt.Sprintf("says %s, %s has %s", why[0], x.e.at(x.p.line), why[1])
	}
	return ""
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// likeness is the share of what c names that p names too, words and figures
// alike; 0 when that is too little to compare.
func likeness(c, p *clause) float64 {
	total, n := 0, 0
	for _, t := range c.content {
		switch {
		case has(p.terms, t), has(p.context, t):
			total++
			n++
		case !onAxis(p, t): // the opposite word is no other subject
			total++
		}
	}
	for _, q := range c.nums {
		total++
		if q.in(p.nums) {
			n++
		}
	}
	if total == 0 || n < 2 && total > 1 || n < 1 {
		return 0
	}
	return float64(n) / float64(total)
}

// onAxis reports whether p takes a side where t does.
func onAxis(p *clause, t term) bool {
	return slices.ContainsFunc(words().on[t.text], func(w where) bool {
		return slices.ContainsFunc(p.hits, func(h hit) bool { return h.axis == w.axis })
	})
}

func has(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return akin(t, u) })
}

// turned counts what turns the sense of p into the opposite of c. why names the
// last such word of both; agrees tells of another passage whether it speaks for
// c in that.
func turned(c, p *clause) (turns int, why [2]string, agrees func(*clause) bool) {
	agrees = func(*clause) bool { return false }
	if conditional(c) != conditional(p) {
		return 0, why, agrees
	}
	for i, a := range words().axes {
		if len(c.hits) == 0 || len(p.hits) == 0 {
			break
		}
		mine, theirs := sideOf(c, i), sideOf(p, i)
		if a.state {
			m, t := stateOf(c, i), stateOf(p, i)
			if byValue(c, i) != byValue(p, i) || byValue(c, i) && !sameStates(c, p, i) {
				continue
			}
			if m != 0 && t != 0 && m != t {
				turns++
				why = [2]string{stateName(c, i), strings.TrimSpace(p.text)}
				agrees = func(o *clause) bool { return stateOf(o, i) == m }
			}
			continue
		}
		if mine < 0 || theirs < 0 || mine == theirs {
			continue
		}
		if a.order && deniedBefore(c, i)%2 != deniedBefore(p, i)%2 {
			return 0, why, agrees // not before … may be after …
		}
		if a.order && !sameOperands(c, p, i) {
			continue
		}
		turns++
		why = [2]string{quoteHit(c, i), quoteHit(p, i)}
		agrees = func(o *clause) bool { return sideOf(o, i) == mine }
	}
	if conditional(c) && likeness(c, p) < alikeCase || p.code && (c.quiet || likeness(c, p) < alikeCode) {
		return turns, why, agrees
	}
	for _, n := range c.negs {
		if n := n; !n.aside && affirms(p, n) && !counts(c, p, n) && !soft(p, c, n) && !ended(c, p, n) && !nothingOf(p, c) {
			turns++
			why = [2]string{fmt.Sprintf("not %q", n.of[0].text), fmt.Sprintf("%q", said(p, n.of[0]))}
			agrees = func(o *clause) bool { return !affirms(o, n) && said(o, n.of[0]) != "" }
		}
	}
	for _, n := range p.negs {
		if n := n; !n.aside && !again(p, n) && affirms(c, n) && !counts(p, c, n) && !soft(c, p, n) && !ended(p, c, n) && !nothingOf(c, p) {
			turns++
			why = [2]string{fmt.Sprintf("%q", said(c, n.of[0])), fmt.Sprintf("not %q", n.of[0].text)}
			agrees = func(o *clause) bool { return affirms(o, n) }
		}
	}
	return turns, why, agrees
}

// conditional reports that what a clause denies holds under a condition alone.
func conditional(c *clause) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool {
		return t.text == "unless" || t.text == "except" || t.text == "otherwise" || t.text == "only" || t.text == "exception" || t.text == "kecuali" || t.text == "hanya"
	})
}

// counts reports whether the word that negates in a is one of an axis that b
// speaks of too, and counts there: never beside always.
func counts(a, b *clause, n denial) bool {
	for _, h := range a.hits {
		if ax := words().axes[h.axis]; ax.state && n.of[0].at >= h.at && n.of[0].end <= h.end && n.of[0].end > 0 && stateOf(b, h.axis) != 0 {
			return true // not true has been counted as false
		}
	}
	return slices.ContainsFunc(words().on[n.by], func(w where) bool { return sideOf(a, w.axis) >= 0 && sideOf(b, w.axis) >= 0 })
}

// affirms reports whether a clause says what a negation denies: it has the first
// of its words, and denies none of them.
func affirms(c *clause, n denial) bool {
	if said(c, n.of[0]) == "" || nothing[n.by] && deniedOf(c, n.of[0]) {
		return false
	}
	for _, h := range n.of {
		if unlike(c, h) {
			return false
		}
		for _, m := range c.negs {
			if slices.ContainsFunc(m.of, func(t term) bool { return akin(t, h) }) {
				return false
			}
		}
	}
	return true
}

func said(c *clause, h term) string {
	for _, t := range c.terms {
		if akin(t, h) {
			return t.text
		}
	}
	for _, w := range words().on[h.text] {
		if sideOf(c, w.axis) >= 0 {
			return strings.Trim(quoteHit(c, w.axis), `"`)
		}
	}
	return ""
}

// unlike reports whether c has h with a prefix that negates it: inactive.
func unlike(c *clause, h term) bool {
	for _, t := range c.terms {
		if glued(c.text, t.at, t.end) {
			continue
		}
		for _, prefix := range []string{"un", "in", "non", "dis", "im", "ir"} {
			if rest, ok := strings.CutPrefix(t.text, prefix); ok && len(rest) >= 4 && akin(term{text: rest, stem: stem(rest)}, h) {
				return true
			}
		}
	}
	return false
}

// sideOf is the side of an axis that a clause takes; -1 none, or both.
func sideOf(c *clause, axis int) int {
	side := -1
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		if side >= 0 && side != h.side {
			return -1
		}
		side = h.side
	}
	return side
}

func quoteHit(c *clause, axis int) string {
	for _, h := range c.hits {
		if h.axis == axis {
			return fmt.Sprintf("%q", h.text)
		}
	}
	return ""
}

// stateOf is 1 when what a clause says of a switch comes to on, -1 for off, 0
// when it says nothing: disabled: false is on, not enabled is off.
func stateOf(c *clause, axis int) int {
	state := 0
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		if state == 0 {
			state = 1
		}
		if h.side == 1 {
			state = -state
		}
		if slices.ContainsFunc(c.negs, func(n denial) bool { return n.of[0].at >= h.at && n.of[0].end <= h.end && n.of[0].end > 0 }) {
			state = -state
		}
	}
	return state
}

func stateName(c *clause, axis int) string {
	if stateOf(c, axis) > 0 {
		return "it is on"
	}
	return "it is off"
}

// sameOperands reports whether what stands behind the word of an order is in both
// the same: "a before b" is no opposite of "b after a".
func sameOperands(c, p *clause, axis int) bool {
	cl, cr := operands(c, axis)
	pl, pr := operands(p, axis)
	straight := overlap(cl, pl) + overlap(cr, pr)
	crossed := overlap(cl, pr) + overlap(cr, pl)
	return straight > crossed
}

func operands(c *clause, axis int) (left, right []term) {
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		for _, t := range c.terms {
			switch {
			case words().stop[t.text]:
			case t.end <= h.at:
				left = append(left, t)
			case t.at >= h.end:
				right = append(right, t)
			}
		}
		break
	}
	return left, right
}

func overlap(a, b []term) int {
	n, _ := shared(a, b)
	return n
}

package evidence

import (
	"slices"
)

// compared is a passage beside a claim.
type compared struct {
	e     *Evidence
	p     *clause
	share float64
	same  []string // stems of the claim's words that stand there
	// joined: it is a sentence and the next one, which goes on about the same.
	joined bool
}

// common lists the stems of what c names that p names too.
func common(c, p *clause) []string {
	var out []string
	for _, t := range c.content {
		if has(p.terms, t) && !slices.Contains(out, t.stem) {
			out = append(out, t.stem)
		}
	}
	return out
}

// near reports whether another passage names as much of the claim as x.
func (x compared) near(y compared) bool {
	gone := lacking(x.same, y.same) - b2i(words().pronoun[y.p.first()])
	return gone <= lacking(y.same, x.same) || 3*gone <= len(x.same)
}

func (c *clause) first() string {
	if len(c.terms) == 0 {
		return ""
	}
	return c.terms[0].text
}

func lacking(of, in []string) (n int) {
	for _, w := range of {
		n += b2i(!slices.Contains(in, w))
	}
	return n
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
	if len(c.content) < 2 && words().pronoun[c.first()] {
		return 0 // they are not: who?
	}
	total, n, aside, across := 0, 0, 0, 0
	for _, t := range c.content {
		switch {
		case has(p.terms, t), has(p.context, t):
			total++
			n++
		case onAxis(p, t): // the opposite word is no other subject
			across += b2i(!onSwitch(t))
		case !p.code && c.beside(p.scene, t): // what is named beside it
			aside++
		default:
			total++
		}
	}
	if aside > n { // too little of it is there
		total, aside = total+aside, 0
	}
	for _, q := range c.nums {
		if q.soft && len(q.values) == 1 && q.values[0] == 1 && q.unit.dim == noDim {
			continue // one of them
		}
		total++
		if q.in(p.nums) {
			n++
		}
	}
	short := aside > 0 && len(p.content) == 1 && words().pronoun[p.first()] // it does not reach out
	if total == 0 || n < 2 && total+aside+across > 1 && !short || n < 1 {
		return 0
	}
	return float64(n) / float64(total)
}

// beside reports whether a word of a claim is named in a scene; it is looked for
// once. Only a claim has words looked for, and it is one call's own.
func (c *clause) beside(s *scenery, t term) bool {
	if s == nil {
		return false
	}
	if c.seen == nil {
		c.seen = map[*scenery]map[string]bool{}
	}
	if c.seen[s] == nil {
		c.seen[s] = map[string]bool{}
	}
	is, known := c.seen[s][t.text]
	if !known {
		is = has(s.terms, t)
		c.seen[s][t.text] = is
	}
	return is
}

// onAxis reports whether p takes a side where t does.
func onAxis(p *clause, t term) bool {
	return slices.ContainsFunc(words().on[t.text], func(w where) bool {
		return slices.ContainsFunc(p.hits, func(h hit) bool { return h.axis == w.axis })
	})
}

// onSwitch reports whether a word tells the state of a switch.
func onSwitch(t term) bool {
	return slices.ContainsFunc(words().on[t.text], func(w where) bool { return words().axes[w.axis].state })
}

func has(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return akin(t, u) })
}

func hasExact(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return u.text == t.text })
}

package evidence

import (
	"fmt"
	"slices"
)

// specialAt is special of the part that the word of an axis stands in.
func (c *clause) specialAt(axis int, o *clause) bool {
	for _, h := range c.hits {
		if h.axis == axis {
			return c.special(c.partAt(h.at), o)
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

// sideIn is sideOf in the conditions of a clause alone, or outside of them.
func sideIn(c *clause, axis, role int) int {
	side := -1
	for _, h := range c.hits {
		if h.axis != axis || (c.partAt(h.at).role == asks) != (role == asks) {
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
	stated := slices.ContainsFunc(c.hits, func(h hit) bool { return h.axis == axis && c.partAt(h.at).role != asks })
	for _, h := range c.hits {
		if h.axis != axis || stated && c.partAt(h.at).role == asks {
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

// hasBoth reports whether a clause takes both sides of an axis, each once.
func hasBoth(c *clause, axis int) bool {
	sides := [2]int{}
	for _, h := range c.hits {
		if h.axis == axis && h.side < len(sides) {
			sides[h.side]++
		}
	}
	return sides == [2]int{1, 1}
}

// crossed reports whether two clauses that take both sides of an axis give each to
// what the other gives the other: the first to readers and the last to writers.
func crossed(c, p *clause, axis int) bool {
	if !hasBoth(c, axis) || !hasBoth(p, axis) {
		return false
	}
	straight, across := 0, 0
	for _, h := range c.hits {
		for _, o := range p.hits {
			if h.axis != axis || o.axis != axis {
				continue
			}
			if n := overlap(c.beforehand(h), p.beforehand(o)); h.side == o.side {
				straight += n
			} else {
				across += n
			}
		}
	}
	return across > straight
}

// beforehand are the words that lead to the phrase of an axis, up to the one before.
func (c *clause) beforehand(h hit) []term {
	var out []term
	for _, t := range c.terms {
		if t.end > h.at {
			break
		}
		if slices.ContainsFunc(c.hits, func(o hit) bool { return o.axis == h.axis && o.at <= t.at && t.end <= o.end }) {
			out = nil
			continue
		}
		if !words().stop[t.text] {
			out = append(out, t)
		}
	}
	return out
}

// firstOn is where the first word of an axis stands.
func (c *clause) firstOn(axis int) int {
	for _, h := range c.hits {
		if h.axis == axis {
			return h.at
		}
	}
	return -1
}

// deniedOn reports whether the word of an axis is denied itself: not present.
func deniedOn(c *clause, axis int) bool {
	return slices.ContainsFunc(c.hits, func(h hit) bool {
		return h.axis == axis && slices.ContainsFunc(c.negs, func(d denial) bool { return d.of[0].at >= h.at && d.of[0].end <= h.end && d.of[0].end > 0 })
	})
}

// sequence writes down which sides of an axis a clause takes, one behind the other.
func sequence(c *clause, axis int) string {
	out := ""
	for _, h := range c.hits {
		if h.axis == axis {
			out += string(rune('0' + h.side))
		}
	}
	return out
}

// inSequence reports whether two clauses take sides of an axis as often, more than
// once, and differ in one of them: up to … at least, up to … at most.
func inSequence(c, p *clause, axis int) bool {
	a, b := sequence(c, axis), sequence(p, axis)
	if len(a) < 2 || len(a) != len(b) {
		return false
	}
	n := 0
	for i := range a {
		n += b2i(a[i] != b[i])
	}
	return n == 1
}

// otherwiseAsked reports whether two clauses speak of what is so under conditions of
// which one is the other denied: true if it was there, false if it was not.
func otherwiseAsked(c, p *clause) bool {
	deny := func(a, b *clause) bool {
		return slices.ContainsFunc(a.negs, func(n denial) bool {
			return n.in.role == asks && has(b.asked(), n.of[0]) &&
				!slices.ContainsFunc(b.negs, func(m denial) bool { return akin(m.of[0], n.of[0]) })
		})
	}
	return deny(c, p) || deny(p, c)
}

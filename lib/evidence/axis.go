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

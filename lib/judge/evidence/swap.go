package evidence

import (
	"fmt"
	"slices"
)

// swapped says where a passage gives to one thing what c gives to another, and has
// the other as well: if both are given, the first is ignored, the second is ignored.
func (e *Evidence) swapped(c clause) string {
	for i := range e.all {
		p := &e.all[i]
		if p.code || len(c.negs) != len(p.negs) || likeness(&c, p) < alikeCase {
			continue
		}
		for _, u := range c.parts {
			for _, v := range p.parts {
				if mine, theirs, ok := exchanged(&c, p, u, v); ok {
					return fmt.Sprintf("says of %q what %s says of %q", mine.text, e.at(p.line), theirs.text)
				}
			}
		}
	}
	return ""
}

// exchanged reports whether two short statements are the same but for the one thing
// that they speak of first, and each clause has the other's elsewhere.
func exchanged(c, p *clause, u, v part) (mine, theirs term, ok bool) {
	a, b := c.within(u), p.within(v)
	if u.role != states || v.role != states || len(a) < 2 || len(a) > mostSwapped || len(a) != len(b) || akin(a[0], b[0]) {
		return mine, theirs, false
	}
	if n, _ := shared(a[1:], b[1:]); n < len(a)-1 {
		return mine, theirs, false
	}
	if slices.ContainsFunc(p.parts, func(w part) bool { n, _ := shared(a, p.within(w)); return n == len(a) }) {
		return mine, theirs, false // it stands there as it is
	}
	outside := func(c *clause, p part, t term) bool {
		return slices.ContainsFunc(c.content, func(u term) bool { return akin(t, u) && (u.at < p.at || u.at >= p.end) })
	}
	return a[0], b[0], outside(c, u, b[0]) && outside(p, v, a[0])
}

const mostSwapped = 4 // words of such a statement

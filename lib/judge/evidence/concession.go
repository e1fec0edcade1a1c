package evidence

import (
	"fmt"
	"slices"
)

// conceded says where a passage makes what c says depend on what c says it does not
// depend on, or the other way round: even if it is set, only if it is set.
func (e *Evidence) conceded(c clause) string {
	for i := range e.all {
		p := &e.all[i]
		if p.code || likeness(&c, p) < alike || strangers(&c, p) {
			continue
		}
		if about, ok := yields(&c, p); ok {
			return fmt.Sprintf("says it does not depend on %q, %s has that it does", about.text, e.at(p.line))
		}
		if about, ok := yields(p, &c); ok {
			return fmt.Sprintf("says it depends on %q, %s has that it does not", about.text, e.at(p.line))
		}
		if about, ok := reversed(&c, p); ok {
			return fmt.Sprintf("says it is so with the other value of %q than %s has", about.text, e.at(p.line))
		}
		if about, ok := exceeds(&c, p); ok {
			return fmt.Sprintf("says it of what is not %q, %s has it only of what is", about.text, e.at(p.line))
		}
		if about, ok := exempts(&c, p); ok {
			return fmt.Sprintf("says it is so only with %q, %s has it only without", about.text, e.at(p.line))
		}
		if about, ok := exempts(p, &c); ok {
			return fmt.Sprintf("says it is so only without %q, %s has it only with it", about.text, e.at(p.line))
		}
	}
	return ""
}

// yields reports whether a holds whatever is so on which b depends, and what that is.
func yields(a, b *clause) (about term, ok bool) {
	for _, u := range a.parts {
		if !u.even {
			continue
		}
		for i, v := range b.parts {
			if !b.limits(v) || i > 0 && !b.concerns(b.parts[i-1], a) {
				continue
			}
			if n, which := shared(a.within(u), b.within(v)); n > 0 && !slices.ContainsFunc(b.parts, func(w part) bool { return w.even }) {
				return which[0], true
			}
		}
	}
	return term{}, false
}

// limits reports whether a part tells when alone, or when not, the rest holds.
func (c *clause) limits(p part) bool {
	if p.role != asks || p.even {
		return false
	}
	i := slices.IndexFunc(c.parts, func(q part) bool { return q.at == p.at })
	return p.only || p.but || i > 0 && c.parts[i-1].only && c.parts[i-1].role == states
}

// concerns reports whether a part speaks of what o does, as far as it speaks of
// anything.
func (c *clause) concerns(p part, o *clause) bool {
	all := c.within(p)
	n, _ := shared(all, o.content)
	return n > 0 || len(all) == 0
}

// exempts reports whether a says that something is so only if, and b that it is so
// unless, and what that is about.
func exempts(a, b *clause) (about term, ok bool) {
	if len(a.parts) > mostLimited || len(b.parts) > mostLimited || (a.denialsAs(states)+b.denialsAs(states))%2 != 0 || (a.denialsAs(asks)+b.denialsAs(asks))%2 != 0 {
		return term{}, false
	}
	for _, u := range a.parts {
		for _, v := range b.parts {
			if u.role != asks || v.role != asks || !a.limits(u) || u.but || !v.but || v.only {
				continue
			}
			mine, theirs := a.within(u), b.within(v)
			if n, which := shared(mine, theirs); n > 0 && 2*n >= max(len(mine), len(theirs)) && sameStatement(a, b, alike) {
				return which[0], true
			}
		}
	}
	return term{}, false
}

const mostLimited = 3 // parts of a sentence that says no more than when it is so

// denialsAs counts the negations in the parts of one role.
func (c *clause) denialsAs(role int) (n int) {
	for _, d := range c.negs {
		n += b2i(d.in.role == role)
	}
	return n
}

// exceeds reports whether a says of what is not so what b says only if it is so.
func exceeds(a, b *clause) (about term, ok bool) {
	for _, n := range a.negs {
		for _, v := range b.parts {
			if n.in.role != states && b.limits(v) && !v.but && b.tells(v, n.of[0]) && !b.deniesIn(v) && !a.narrow() {
				return n.of[0], true
			}
		}
	}
	return term{}, false
}

// reversed reports whether two clauses say the same under conditions that give one name
// the two values of a switch: unless it is true, unless it is false.
func reversed(a, b *clause) (about term, ok bool) {
	if (a.denialsAs(states)+b.denialsAs(states))%2 != 0 || !sameStatement(a, b, alikeCase) {
		return term{}, false
	}
	for _, u := range a.parts {
		for _, v := range b.parts {
			if u.role != asks || v.role != asks || u.but != v.but || u.only != v.only || u.even || v.even {
				continue
			}
			x, y := a.valueIn(u), b.valueIn(v)
			if n, which := shared(a.within(u), b.within(v)); n > 0 && x != 0 && y != 0 && x != y {
				return which[0], true
			}
		}
	}
	return term{}, false
}

// valueIn is 1 where a part gives something true, -1 for false, 0 where it gives
// neither, or both.
func (c *clause) valueIn(p part) (value int) {
	for _, t := range c.spoken(p) {
		is := map[string]int{"true": 1, "false": -1}[t.text]
		if is != 0 && value != 0 && is != value || words().not[t.text] {
			return 0
		}
		if is != 0 {
			value = is
		}
	}
	return value
}

package evidence

import (
	"slices"
	"strings"
)

// meets reports whether what a denies by n can be what b says: a statement of a
// statement, a condition of a condition under which the same is said.
func meets(a, b *clause, n denial) bool {
	conditional := slices.ContainsFunc(a.parts, func(u part) bool { return u.role != states && len(a.within(u)) > 0 })
	switch {
	case n.aside && (n.in.end == 0 || b.code), b.code && conditional:
		return false // of code, and of a text that has no parts, it is not known under which condition
	case n.in.end == 0 || b.code:
		return true
	case n.in.role == states && apart(a, b), strangers(a, b) && !a.tellsOf(n.in), n.in.role != states && a.narrow() != b.narrow():
		return false
	case a.usual() != b.usual() && (a.usual() && len(b.asked()) > 0 || b.usual() && len(a.asked()) > 0):
		return false
	}
	return slices.ContainsFunc(b.parts, func(v part) bool { return answers(a, b, n, v) && sameMatter(a, b, n, v) })
}

// answers reports whether a part of b says, as it is, what a denies by n.
func answers(a, b *clause, n denial, v part) bool {
	h := n.of[0]
	if v.role != n.in.role && !(v.role == selects && n.in.role == states) || !b.tells(v, h) {
		return false
	}
	if said := b.spoken(v); len(said) > 0 && said[0].text == "not" { // a search, not a reading
		return false
	}
	few := max(likeness(a, b), likeness(b, a)) < alikeCase || len(a.content) < leastSame
	if mine, theirs := a.special(n.in, b), b.special(v, a); mine != theirs || mine && few {
		return false
	}
	weak := b.hedges(v) && !a.hedges(n.in) && n.by != "never" && n.by != "cannot" && n.by != "can't"
	return !weak && (nothing[n.by] || !b.ofNothing(v, h)) && !under(b, v, h) && !(n.passed && b.deniesIn(v)) && !qualified(a, n.in, b, v)
}

// sameMatter reports whether the part of a in which n stands and a part of b are
// about the same, apart from what is denied.
func sameMatter(a, b *clause, n denial, v part) bool {
	mine, theirs := without(a.within(n.in), n.of), without(b.within(v), n.of)
	if n.weak() {
		mine = slices.DeleteFunc(mine, func(t term) bool { return t.at > n.at })
	}
	k, _ := shared(mine, theirs)
	if n.in.role == states {
		return k > 0 || len(mine) == 0 || len(theirs) == 0
	}
	if len(mine) == 0 && len(theirs) == 0 { // if it exists, if it does not
		return sameStatement(a, b, alikeCase)
	}
	return k > 0 && 3*k >= 2*min(len(mine), len(theirs)) && sameStatement(a, b, alike)
}

// qualified reports whether what a part denies is only that it is so more often,
// again, of all, of which the other part says nothing.
func qualified(a *clause, u part, b *clause, v part) bool {
	theirs := b.spoken(v)
	return slices.ContainsFunc(a.spoken(u), func(t term) bool { return words().again[t.text] && !hasExact(theirs, t) })
}

// deniesIn reports whether a part denies anything.
func (c *clause) deniesIn(p part) bool {
	return slices.ContainsFunc(c.negs, func(n denial) bool { return n.in.at == p.at && n.in.end == p.end })
}

// under reports whether a word of a part stands behind a negation in it.
func under(c *clause, p part, h term) bool {
	for _, t := range c.spoken(p) {
		if akin(t, h) {
			return slices.ContainsFunc(c.negs, func(n denial) bool {
				return n.in.at == p.at && n.at < t.at && n.in.end > 0 && (!nothing[n.by] && n.by != "without" || has(n.of, h))
			})
		}
	}
	return false
}

// apart reports whether two clauses speak of what is so under conditions that
// have little in common.
func apart(a, b *clause) bool {
	mine, theirs := a.asked(), b.asked()
	n, _ := shared(mine, theirs)
	beside := func(all []term, s *scenery) bool { // what it stands beside need not be named
		return s != nil && !slices.ContainsFunc(all, func(t term) bool { return !has(s.terms, t) })
	}
	if n == 0 && (beside(mine, b.scene) || beside(theirs, a.scene)) {
		return false
	}
	return len(mine) > 0 && len(theirs) > 0 && 2*n <= min(len(mine), len(theirs))
}

// tellsOf reports whether a part says no more than that there is something, or is none.
func (c *clause) tellsOf(p part) bool {
	for _, t := range c.spoken(p) {
		if t.text == "there" {
			return true
		}
		if !words().stop[t.text] {
			return false
		}
	}
	return false
}

// strangers reports whether two clauses begin with things of which the other does
// not speak: kqueue sends it, inotify does not.
func strangers(a, b *clause) bool {
	if len(a.content) == 0 || len(b.content) == 0 || words().pronoun[a.first()] || words().pronoun[b.first()] {
		return false
	}
	mine, known := a.subject()
	theirs, told := b.subject()
	if !known || !told {
		return false
	}
	if a.name(mine) != "" && b.name(theirs) != "" {
		return namesakes(a, b)
	}
	return !has(b.terms, mine) && !has(a.terms, theirs)
}

// namesakes reports whether two clauses begin with names of which the other does not
// speak, though they may have words in common: FileHandler is no StreamHandler.
func namesakes(a, b *clause) bool {
	if len(a.content) == 0 || len(b.content) == 0 {
		return false
	}
	x, y := a.name(a.content[0]), b.name(b.content[0])
	return x != "" && y != "" && !strings.Contains(lower(a.text), y) && !strings.Contains(lower(b.text), x)
}

// name is the longer name that a word is a part of; "" where it stands alone.
func (c *clause) name(t term) string {
	from, to := t.at, t.end
	for from > 0 && joins(c.text[from-1]) {
		from--
	}
	for to < len(c.text) && joins(c.text[to]) {
		to++
	}
	if to-from == t.end-t.at {
		return ""
	}
	return lower(c.text[from:to])
}

// subject is the first word that says something of what a clause is about; there is
// none where a pronoun stands for it, as in "like the other, it does not".
func (c *clause) subject() (term, bool) {
	if len(c.parts) > 1 && words().apposed[c.first()] {
		p := c.parts[1]
		if all := c.spoken(p); len(all) > 0 && words().pronoun[all[0].text] {
			return term{}, false
		}
		if all := c.within(p); len(all) > 0 {
			return all[0], true
		}
	}
	return c.content[0], true
}

// sameStatement reports whether so large a share of what a says apart from its
// conditions is in b.
func sameStatement(a, b *clause, least float64) bool {
	var mine, theirs []term
	for _, u := range a.parts {
		if u.role == states {
			mine = append(mine, a.within(u)...)
		}
	}
	for _, v := range b.parts {
		if v.role == states {
			theirs = append(theirs, b.within(v)...)
		}
	}
	isSoft := func(t term) bool { return words().soft[t.text] }
	if slices.ContainsFunc(mine, isSoft) != slices.ContainsFunc(theirs, isSoft) {
		return false
	}
	k, _ := shared(mine, theirs)
	return len(mine) > 0 && float64(k) >= least*float64(max(1, min(len(mine), len(theirs))))
}

func without(all, some []term) []term {
	return slices.DeleteFunc(slices.Clone(all), func(t term) bool { return has(some, t) })
}

// counts reports whether the word that negates in a is one of an axis that b
// speaks of too, and counts there: never beside always.
func counts(a, b *clause, n denial) bool {
	for _, h := range a.hits {
		if ax := words().axes[h.axis]; ax.state && n.of[0].at >= h.at && n.of[0].end <= h.end && n.of[0].end > 0 && stateOf(b, h.axis) != 0 {
			return true // not true has been counted as false
		}
		if ax := words().axes[h.axis]; !ax.state && !ax.order && n.of[0].at == h.at && sideOf(b, h.axis) >= 0 && sideOf(b, h.axis) != h.side {
			return true // nor does not present deny missing
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
	said := 0
	for _, h := range n.of {
		if has(c.terms, h) {
			said++
		}
		if unlike(c, h) {
			return false
		}
		for _, m := range c.negs {
			if slices.ContainsFunc(m.of, func(t term) bool { return akin(t, h) }) {
				return false
			}
		}
	}
	return !nothing[n.by] || said == len(n.of)
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

// prefixed finds a word of a sentence that stands in another with a prefix that
// turns it around, and in neither both ways: encoded, unencoded.
func prefixed(c, p *clause) (mine, theirs term, ok bool) {
	if c.code || p.code {
		return term{}, term{}, false
	}
	for _, turn := range []bool{false, true} {
		a, b := c, p
		if turn {
			a, b = p, c
		}
		for _, t := range b.terms {
			if glued(b.text, t.at, t.end) {
				continue
			}
			for _, prefix := range []string{"un", "non"} {
				rest, cut := strings.CutPrefix(t.text, prefix)
				if !cut || len(rest) < 5 {
					continue
				}
				i := slices.IndexFunc(a.terms, func(u term) bool { return u.stem == stem(rest) })
				if i < 0 || words().on[rest] != nil || hasExact(a.terms, t) || slices.ContainsFunc(b.terms, func(u term) bool { return u.stem == stem(rest) }) {
					continue
				}
				u := a.terms[i]
				if a.special(a.partAt(u.at), b) != b.special(b.partAt(t.at), a) || denies(a, u) || denies(b, t) || a.partAt(u.at).role != b.partAt(t.at).role {
					continue
				}
				if turn {
					return t, u, true
				}
				return u, t, true
			}
		}
	}
	return term{}, term{}, false
}

// denies reports whether a negation stands before a word in its part.
func denies(c *clause, t term) bool {
	in := c.partAt(t.at)
	return slices.ContainsFunc(c.negs, func(n denial) bool { return n.in.at == in.at && n.at < t.at })
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

package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
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
	claim = plainClaim(claim)
	for _, s := range statements(claim) {
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
		for _, e := range against {
			if why := e.conceded(c); why != "" {
				return why
			}
			if why := e.swapped(c); why != "" {
				return why
			}
		}
	}
	for _, s := range sentences(claim) {
		if lists(s) || strings.ContainsAny(s, ":：") {
			continue
		}
		if why := altered(analyse(answer.ReplaceAllString(s, ""), false), against); why != "" {
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
	for _, re := range []*lazyregexp.Pattern{address, cited, linesOf, counted} {
		s = re.ReplaceAllString(s, " ")
	}
	return s
}

// opposed looks for a passage that says the opposite of c, and for none that
// speaks as much for it.
func opposed(c clause, against []*Evidence) string {
	var all []compared
	for _, e := range against {
		for i := range e.all {
			if r := likeness(&c, &e.all[i]); r >= alike-rivalry {
				all = append(all, compared{e: e, p: &e.all[i], share: r})
			}
		}
		for i := range e.joined {
			if p := &e.joined[i]; likeness(&c, p) >= alike {
				all = append(all, compared{e: e, p: p, share: likeness(&c, p), joined: true})
			}
		}
		if p := e.only; p != nil && likeness(&c, p) >= alike {
			all = append(all, compared{e: e, p: p, share: likeness(&c, p)})
		}
	}
	for i := range all {
		all[i].same = common(&c, all[i].p)
	}
	slices.SortStableFunc(all, func(a, b compared) int { return -compare(a.share, b.share) })
	for _, x := range all {
		if x.share < alike || x.e.prose && x.share < alikeProse {
			continue
		}
		t := turned(&c, x.p)
		if t.turns%2 == 0 || x.joined && !t.beyond(x.p.seam) {
			continue
		}
		if slices.ContainsFunc(all, func(y compared) bool {
			return len(y.same) > len(x.same) && lacking(x.same, y.same) == 0 && !y.p.code && !y.joined
		}) {
			continue // that one tells
		}
		if slices.ContainsFunc(all, func(y compared) bool {
			return y.p != x.p && !y.joined && y.share >= x.share-rivalry && x.near(y) && t.agrees(y.p)
		}) {
			continue
		}
		return fmt.Sprintf("says %s, %s has %s", t.why[0], x.e.at(x.p.line), t.why[1])
	}
	return ""
}

// turning is what turns the sense of a passage into the opposite of a claim.
type turning struct {
	c, p   *clause // the claim and the passage
	turns  int
	why    [2]string          // the last such word of both
	told   [][2]int           // places in both of the words of axes that have been counted
	agrees func(*clause) bool // tells of another passage whether it speaks for the claim in that
}

// beyond reports whether all that turned is a negation on one side, said behind a
// place of the passage.
func (t *turning) beyond(at int) bool {
	return t.turns == 1 && len(t.told) == 0 && (len(t.p.negs) > 0 && t.p.negs[len(t.p.negs)-1].at >= at) == (t.why[1] != "" && strings.HasPrefix(t.why[1], "not "))
}

func (t *turning) turn(mine, theirs string, agrees func(*clause) bool) {
	t.turns++
	t.why, t.agrees = [2]string{mine, theirs}, agrees
}

// turned compares two clauses.
func turned(c, p *clause) turning {
	t := turning{c: c, p: p, agrees: func(*clause) bool { return false }}
	few := likeness(c, p) < alikeCase || len(c.content) < leastSame
	for i := range words().axes {
		if len(c.hits) == 0 || len(p.hits) == 0 {
			break
		}
		if mine, theirs := c.specialAt(i, p), p.specialAt(i, c); mine != theirs || mine && few {
			continue
		}
		if !t.axis(i) {
			return turning{agrees: t.agrees}
		}
	}
	if !p.code || !c.quiet && likeness(c, p) >= alikeCode {
		t.denials()
	}
	return t
}

// axis compares what two clauses say on one axis. It is false where that makes
// them say nothing of each other: what is not before may be after.
func (t *turning) axis(i int) bool {
	c, p, a := t.c, t.p, words().axes[i]
	if a.state {
		m, n := stateOf(c, i), stateOf(p, i)
		if byValue(c, i) == byValue(p, i) && !otherwiseAsked(c, p) && (!byValue(c, i) || sameStates(c, p, i)) && m != 0 && n != 0 && m != n {
			t.turnAt(i, stateName(c, i), strings.TrimSpace(p.text), func(o *clause) bool { return stateOf(o, i) == m })
		}
		return true
	}
	mine, theirs := sideOf(c, i), sideOf(p, i)
	for _, role := range []int{states, asks} { // both sides of it: one of them in a condition
		if mine < 0 || theirs < 0 {
			mine, theirs = sideIn(c, i, role), sideIn(p, i, role)
		}
	}
	if mine < 0 || theirs < 0 {
		if inSequence(c, p, i) || mine < 0 && theirs < 0 && crossed(c, p, i) {
			t.turnAt(i, quoteHit(c, i), quoteHit(p, i)+" in its place", func(o *clause) bool { return sequence(o, i) == sequence(c, i) })
		}
		return true
	}
	if mine == theirs || c.wonders(i) != p.wonders(i) || namesakes(c, p) {
		return true
	}
	if a.order && deniedBefore(c, i)%2 != deniedBefore(p, i)%2 {
		return false
	}
	if a.order && !sameOperands(c, p, i) || a.sides[0][0] == "always" && non(c) != non(p) { // never nil is always non-nil
		return true
	}
	if !a.order && deniedOn(c, i) != deniedOn(p, i) { // not present is missing
		return true
	}
	t.turnAt(i, quoteHit(c, i), quoteHit(p, i), func(o *clause) bool { return (sideOf(o, i) == mine) != (deniedOn(o, i) != deniedOn(c, i)) })
	return true
}

// turnAt is turn for the words of an axis. A pair of words turns once, however many
// axes they are on.
func (t *turning) turnAt(axis int, mine, theirs string, agrees func(*clause) bool) {
	at := [2]int{t.c.firstOn(axis), t.p.firstOn(axis)}
	if slices.Contains(t.told, at) {
		return
	}
	t.told = append(t.told, at)
	t.turn(mine, theirs, agrees)
}

func non(c *clause) bool { return hasExact(c.terms, term{text: "non"}) }

// denials compares what two clauses deny.
func (t *turning) denials() {
	c, p := t.c, t.p
	for _, n := range c.negs {
		if meets(c, p, n) && !again(c, p, n) && affirms(p, n) && !counts(c, p, n) && !soft(p, c, n) && !ended(c, p, n) && !nothingOf(p, c) {
			t.turn(fmt.Sprintf("not %q", n.of[0].text), fmt.Sprintf("%q", said(p, n.of[0])), func(o *clause) bool {
				return !affirms(o, n) && (said(o, n.of[0]) != "" || unlike(o, n.of[0]))
			})
		}
	}
	if mine, theirs, ok := prefixed(c, p); ok {
		t.turn(fmt.Sprintf("%q", mine.text), fmt.Sprintf("%q", theirs.text), func(o *clause) bool {
			return has(o.terms, mine) && !hasExact(o.terms, theirs)
		})
	}
	for _, n := range p.negs {
		if meets(p, c, n) && !again(p, c, n) && affirms(c, n) && !counts(p, c, n) && !soft(c, p, n) && !ended(p, c, n) && !nothingOf(c, p) {
			t.turn(fmt.Sprintf("%q", said(c, n.of[0])), fmt.Sprintf("not %q", n.of[0].text), func(o *clause) bool { return affirms(o, n) })
		}
	}
}

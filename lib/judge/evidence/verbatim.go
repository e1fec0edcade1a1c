package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// A sentence repeated word for word but for one or two has been changed there.
const (
	leastSame = 6 // words that both have, in the same order
	leastAny  = 6 // of those, where any other word counts
	// leastDenied is leastSame where all that differs is a negation.
	leastDenied = 4
	mostOther   = 2 // places where they differ
	// percent of the claim's words that are the same: of what can be told to be
	// another thing, and of any word
	shareSame, shareAlike = 75, 85
)

// repeated reports whether a sentence of prose says c word for word.
func repeated(c *clause, against []*Evidence) bool {
	if len(c.terms) < leastSame {
		return false
	}
	said := " " + joinTerms(c.terms) + " "
	for _, e := range against {
		for i := range e.all {
			p := &e.all[i]
			if !p.code && !e.prose && len(p.negs) == len(c.negs) && strings.Contains(" "+joinTerms(p.terms)+" ", said) {
				return true
			}
		}
	}
	return false
}

// altered finds a sentence of prose that c repeats but for a word or two, and
// tells which words. Words of one family and small words are no change.
func altered(c clause, against []*Evidence) string {
	mine := spokenWords(&c)
	if len(mine) < leastDenied || len(mine) > 60 {
		return ""
	}
	why := ""
	for _, e := range against {
		for i := range e.all {
			p := &e.all[i]
			if p.code {
				continue
			}
			theirs := spokenWords(p)
			if len(theirs) < leastDenied || len(theirs) > 90 {
				continue
			}
			gaps, same := differences(mine, theirs)
			word := denied(&c, p, mine, theirs, same)
			if word == "" && same == len(mine) {
				return "" // it stands there to the word
			}
			if word != "" && why == "" {
				why = fmt.Sprintf("says %s, %s has it otherwise", word, e.at(p.line))
			}
			if same < leastSame || same*100 < len(mine)*shareSame || len(gaps) > mostOther {
				continue
			}
			if c.refusals() != p.refusals() && otherwiseAsked(&c, p) {
				continue
			}
			for _, g := range gaps {
				if why == "" && !twice(&c, p, g) && changes(g, !e.prose && len(gaps) == 1 && same >= leastAny && same*100 >= len(mine)*shareAlike) {
					why = fmt.Sprintf("says %q where %s has %q", joinTerms(g.mine), e.at(p.line), joinTerms(g.theirs))
				}
			}
		}
	}
	return why
}

// denied tells of two sentences that are the same but for small words whether one
// has a negation that the other has not.
func denied(c, p *clause, mine, theirs []term, same int) string {
	if same < leastDenied || same*100 < max(len(mine), len(theirs))*shareSame || (c.refusals()+p.refusals())%2 == 0 {
		return ""
	}
	l := words()
	more := func(all, other []term) bool {
		return slices.ContainsFunc(all, func(t term) bool { return !l.not[t.text] && !l.stop[t.text] && !l.light[t.text] && !has(other, t) })
	}
	if more(mine, theirs) || more(theirs, mine) {
		return ""
	}
	if c.refusals() > p.refusals() {
		return fmt.Sprintf("not what %q does", p.text)
	}
	return "it without a not"
}

// refusals counts the words of a clause that negate, but for those in a phrase that
// has a meaning of its own.
func (c *clause) refusals() (n int) {
	for i, t := range c.terms {
		if t.text == "not" && i > 0 && (c.terms[i-1].text == "why" || c.terms[i-1].text == "or") {
			continue // whether it is or not
		}
		if words().not[t.text] && !slices.ContainsFunc(c.hits, func(h hit) bool { return h.at <= t.at && t.end <= h.end && h.text != t.text }) {
			n++
		}
	}
	return n
}

// twice reports whether two sentences that differ in the words of an order differ in
// a negation before them as well: not before is after.
func twice(c, p *clause, g gap) bool {
	return slices.ContainsFunc(g.mine, func(t term) bool {
		return slices.ContainsFunc(words().on[t.text], func(w where) bool {
			return words().axes[w.axis].order && deniedBefore(c, w.axis)%2 != deniedBefore(p, w.axis)%2
		})
	})
}

// gap is a place where two sentences differ: what the one has for what the other.
type gap struct {
	mine, theirs []term
	before       string // the word before it, which both have
}

func spokenWords(c *clause) []term {
	return slices.DeleteFunc(slices.Clone(c.terms), func(t term) bool { return t.text == "the" || t.text == "a" || t.text == "an" })
}

// differences aligns two sentences by their longest common words.
func differences(a, b []term) (gaps []gap, same int) {
	n, m := len(a), len(b)
	table := make([][]int, n+1)
	for i := range table {
		table[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i].text == b[j].text {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var g gap
	i, j := 0, 0
	began := false
	flush := func() {
		// What only the longer one has before or behind is no difference.
		if len(g.mine) > 0 && len(g.theirs) > 0 && began {
			gaps = append(gaps, g)
		}
		g = gap{}
	}
	for i < n && j < m {
		switch {
		case a[i].text == b[j].text:
			flush()
			began = true
			g.before = a[i].text
			same++
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			g.mine = append(g.mine, a[i])
			i++
		default:
			g.theirs = append(g.theirs, b[j])
			j++
		}
	}
	g.mine = append(g.mine, a[i:]...)
	if rest := b[j:]; len(g.mine) > 0 && len(g.theirs) == 0 && len(rest) > 0 {
		g.theirs = rest[:min(len(rest), len(g.mine))]
	}
	flush()
	return gaps, same
}

// changes reports whether a difference is one of sense: opposites, units, figures
// and the like always; of other words only one for another that is no form of it,
// where the rest of a line of the codebase is repeated.
func changes(g gap, cited bool) bool {
	if len(g.mine) > 2 || len(g.theirs) > 2 {
		return false
	}
	for _, t := range g.mine {
		if has(g.theirs, t) {
			return false
		}
	}
	if len(g.mine) == 1 && len(g.theirs) == 1 {
		a, b := spelled(g.mine[0].text), spelled(g.theirs[0].text)
		a, b = append(a, quantities(g.mine[0].text, false)...), append(b, quantities(g.theirs[0].text, false)...)
		if len(a) > 0 && len(b) > 0 {
			return !a[0].same(b[0])
		}
	}
	if opposites(g) {
		return true
	}
	return cited && len(content(g.mine)) > 0 && len(content(g.theirs)) > 0
}

// opposites reports whether what two gaps hold are words of one axis, units, or small
// words that change the sense.
func opposites(g gap) bool {
	l, mine, theirs := words(), g.mine, g.theirs
	on := func(all []term) []where {
		out := slices.Concat(l.on[joinTerms(all)], l.on[g.before+" "+joinTerms(all)]) // at most, at least
		for _, t := range all {
			out = append(out, l.on[t.text]...)
		}
		return out
	}
	is := func(all []term, of func(term) bool) bool { return slices.ContainsFunc(all, of) }
	isUnit := func(t term) bool { _, ok := unitOf(t.text); return ok && len(t.text) > 1 }
	isTurn := func(t term) bool { return l.turn[t.text] }
	return is(mine, isUnit) && is(theirs, isUnit) || is(mine, isTurn) && is(theirs, isTurn) ||
		slices.ContainsFunc(on(mine), func(a where) bool {
			return slices.ContainsFunc(on(theirs), func(b where) bool { return a.axis == b.axis && a.side != b.side })
		})
}

func joinTerms(all []term) string {
	var out []string
	for _, t := range all {
		out = append(out, t.text)
	}
	return strings.Join(out, " ")
}

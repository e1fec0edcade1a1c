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
	mostOther = 2 // places where they differ
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
	if len(mine) < leastSame || len(mine) > 60 {
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
			if len(theirs) < leastSame || len(theirs) > 90 {
				continue
			}
			gaps, same := differences(mine, theirs)
			if same == len(mine) {
				return "" // it stands there to the word
			}
			if word := denied(&c, p, mine, theirs, same); word != "" && why == "" {
				why = fmt.Sprintf("says %s, %s has it otherwise", word, e.at(p.line))
			}
			if same < leastSame || same*100 < len(mine)*shareSame || len(gaps) > mostOther {
				continue
			}
			for _, g := range gaps {
				if why == "" && changes(g, !e.prose && len(gaps) == 1 && same >= leastAny && same*100 >= len(mine)*shareAlike) {
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
	if same < leastSame || same*100 < max(len(mine), len(theirs))*shareSame || (len(c.negs)+len(p.negs))%2 == 0 {
		return ""
	}
	l := words()
	more := func(all, other []term) bool {
		return slices.ContainsFunc(all, func(t term) bool { return !l.not[t.text] && !l.stop[t.text] && !l.light[t.text] && !has(other, t) })
	}
	if more(mine, theirs) || more(theirs, mine) {
		return ""
	}
	if len(c.negs) > len(p.negs) {
		return fmt.Sprintf("%q", c.negs[0].by)
	}
	return fmt.Sprintf("it without %q", p.negs[0].by)
}

// gap is a place where two sentences differ: what the one has for what the other.
type gap struct{ mine, theirs []term }

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
	marked := func(all []term) bool {
		if len(words().on[joinTerms(all)]) > 0 {
			return true
		}
		return slices.ContainsFunc(all, func(t term) bool {
			_, isUnit := unitOf(t.text)
			return isUnit && len(t.text) > 1 || len(words().on[t.text]) > 0 || words().turn[t.text]
		})
	}
	if marked(g.mine) && marked(g.theirs) {
		return true
	}
	return cited && len(g.mine) == 1 && len(g.theirs) == 1 && len(content(g.mine)) == 1 && len(content(g.theirs)) == 1
}

func joinTerms(all []term) string {
	var out []string
	for _, t := range all {
		out = append(out, t.text)
	}
	return strings.Join(out, " ")
}

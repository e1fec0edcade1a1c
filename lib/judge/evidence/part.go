package evidence

import (
	"slices"
	"strings"
)

// What a part of a sentence does in it.
const (
	states  = iota // says something, as a reason and what a bracket holds do
	asks           // tells when the rest holds
	selects        // tells which things are meant
)

// part is a piece of a sentence with a verb of its own.
type part struct {
	at, end int // bytes of the text
	role    int
	but     bool // opened by unless
	doubt   bool // opened by whether
	only    bool // it holds nowhere else, or not there
	even    bool // opened by even if, regardless: the rest holds all the same
}

// cutter parts a sentence where another of its verbs begins.
type cutter struct {
	c     *clause
	out   []part
	cur   part
	outer int  // role of what goes on behind a bracket
	aside bool // inside of a bracket that says something
	verbs int  // of a part that selects
	lack  bool // the condition is that something is not there: without it, …
}

const maxParts = 40 // of a sentence, and as many denials

// next begins a part at the k-th term.
func (u *cutter) next(k, role int) {
	at := u.c.terms[k].at
	if len(u.out) == maxParts { // what is left is no sentence
		return
	}
	if k == 0 {
		at = 0
	}
	if at > u.cur.at {
		u.cur.end = at
		u.out = append(u.out, u.cur)
	}
	u.cur = part{at: at, end: len(u.c.text), role: role}
}

// word is the k-th word of the sentence; "" outside of it.
func (u *cutter) word(k int) string {
	if k < 0 || k >= len(u.c.terms) {
		return ""
	}
	return u.c.terms[k].text
}

// cut lists the parts of a clause. Code is one part.
func (c *clause) cut() []part {
	if len(c.terms) == 0 {
		return nil
	}
	u := &cutter{c: c, cur: part{end: len(c.text)}}
	if c.code {
		return []part{u.cur}
	}
	for k := range c.terms {
		u.mark(k)
		if !u.open(k) {
			u.goOn(k)
		}
	}
	return c.join(append(u.out, u.cur))
}

// mark parts a sentence at what stands before its k-th term.
func (u *cutter) mark(k int) {
	if k == 0 {
		return
	}
	gap := u.c.text[u.c.terms[k-1].end:u.c.terms[k].at]
	switch {
	case strings.Contains(gap, "("):
		if u.aside = u.c.saysWithin(k); u.aside {
			u.outer = u.cur.role
			u.next(k, states)
		}
	case strings.Contains(gap, ")"):
		if u.aside {
			u.next(k, u.outer)
		}
		u.aside = false
	case strings.ContainsAny(gap, ",;:—–") && strings.ContainsAny(gap, " \n"), strings.Contains(gap, " - "), strings.Contains(gap, "--"):
		u.next(k, states)
	}
}

// open begins a part where the k-th word does.
func (u *cutter) open(k int) bool {
	l, w, prev, next := words(), u.word(k), u.word(k-1), u.word(k+1)
	switch {
	case l.when[w] && !(w == "once" && (prev == "at" || next == "")), w == "as" && prev != "as" && (next == "long" || next == "soon"):
		only := false
		if u.cur.at != u.c.terms[k].at {
			if only = prev == "only" || prev == "except"; only {
				u.cur.only = false // but what it opens
			}
			if only || prev == "even" || prev == "also" { // only when: both are its
				k--
			}
			u.next(k, asks)
		}
		orNot := w == "whether" && next == "or"
		u.cur.role, u.cur.only, u.cur.but, u.cur.doubt, u.cur.even = asks, only, w == "unless", w == "whether" && !orNot, prev == "even" || orNot
	case l.even[w] && w != "even", w == "no" && next == "matter":
		if k > 0 && u.cur.at != u.c.terms[k].at {
			u.next(k, asks)
		}
		u.cur.role, u.cur.even = asks, true
	case k > 0 && l.which[w] && (w != "that" || !l.saying[prev] && !l.begins[next]):
		role := selects
		if u.predicate(k) || w == "which" && prev == "in" && next == "case" { // these are cases that are not matched: they are not
			role = u.cur.role
		}
		u.next(k, role)
		u.verbs = 0
	case k > 0 && l.because[w], w == "without" && k > 0 && strings.HasSuffix(next, "ing"):
		u.next(k, states)
	case w == "without" && k == 0:
		u.cur.role, u.cur.but, u.lack = asks, true, true
	case w == "with" && k == 0 && u.ends(k):
		u.cur.role = asks
	case w == "and" && u.cur.role == states && (l.andThen[next] || u.c.verbBetween(u.cur.at, u.c.terms[k].at) && u.c.verbSoon(k+1)):
		u.next(k, states)
	default:
		return false
	}
	return true
}

// ends reports whether a comma follows the k-th word before any verb does.
func (u *cutter) ends(k int) bool {
	for i := k + 1; i < len(u.c.terms) && i <= k+soon; i++ {
		if strings.Contains(u.c.text[u.c.terms[i-1].end:u.c.terms[i].at], ",") {
			return true
		}
		if words().finite[u.word(i)] {
			return false
		}
	}
	return false
}

// predicate reports whether the word before the k-th is what its part says that
// something is.
func (u *cutter) predicate(k int) bool {
	l := words()
	is := -1
	for i := k - 1; i >= 0 && u.c.terms[i].at >= u.cur.at; i-- {
		w := u.word(i)
		if l.not[w] || l.goesWith[w] && w != "to" || w == "there" {
			return false
		}
		if l.copula[w] && is < 0 {
			is = i
		} else if l.finite[w] {
			return false
		}
	}
	return is > 0 && is >= k-1-inList && !l.stop[u.word(k-1)] && u.word(is-1) != "there"
}

// goOn ends a condition, or what selects, where the sentence goes on without a mark.
func (u *cutter) goOn(k int) {
	l, w, prev := words(), u.word(k), u.word(k-1)
	switch {
	case u.cur.role == asks && w == "then" && k > 0:
		u.next(k, states)
	case u.cur.role == asks && u.lack && k > 1 && l.begins[w]:
		u.lack = false
		u.next(k, states)
	case u.cur.role == asks && l.pronoun[w] && (l.finite[u.word(k+1)] && !strings.HasSuffix(prev, "ing") || u.c.verbBetween(u.cur.at, u.c.terms[k].at) && !l.goesWith[prev]) && k > 0 && !l.when[prev] && u.c.terms[k-1].at > u.cur.at+len("if"):
		u.next(k, states)
	case u.cur.role == selects && u.verbs == 0:
		u.verbs++
	case u.cur.role == selects && l.finite[w] && !l.goesWith[prev] && !l.finite[prev]:
		u.next(k, states)
	}
	if l.only[w] {
		u.cur.only = true
	}
}

// saysWithin reports whether the bracket that opens before the i-th term holds a
// verb or a denial.
func (c *clause) saysWithin(i int) bool {
	for k := i; k < len(c.terms); k++ {
		t := c.terms[k]
		if k > i && strings.Contains(c.text[c.terms[k-1].end:t.at], ")") {
			return false
		}
		if words().finite[t.text] || words().not[t.text] {
			return true
		}
	}
	return false
}

// verbBetween reports whether a finite verb stands between two places.
func (c *clause) verbBetween(from, to int) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool { return t.at >= from && t.at < to && words().finite[t.text] })
}

const soon = 6 // words between an "and" and the verb that it leads to

// verbSoon reports whether a finite verb follows before anything parts it off.
func (c *clause) verbSoon(i int) bool {
	for k := i; k < min(len(c.terms), i+soon); k++ {
		t := c.terms[k]
		if k > i && strings.ContainsAny(c.text[c.terms[k-1].end:t.at], ",;:()") || words().which[t.text] || words().when[t.text] {
			return false
		}
		if words().finite[t.text] {
			return true
		}
	}
	return false
}

const inList = 3 // words of an item of a list

// join puts the items of a list, which no verb stands in, to what they belong to.
func (c *clause) join(all []part) []part {
	out := all[:1]
	for _, p := range all[1:] {
		last := &out[len(out)-1]
		n, verb := 0, false
		for _, t := range c.terms {
			if t.at >= p.at && t.at < p.end {
				n++
				verb = verb || words().finite[t.text] || words().not[t.text]
			}
		}
		comma := strings.HasSuffix(strings.TrimSpace(c.text[last.at:p.at]), ",")
		if p.role == states && last.role == states && comma && n <= inList+2 && !verb && !p.only {
			last.end = p.end
			continue
		}
		out = append(out, p)
	}
	return out
}

// partAt is the part that a byte of the text is in.
func (c *clause) partAt(at int) part {
	for _, p := range c.parts {
		if p.at <= at && at < p.end {
			return p
		}
	}
	return part{end: len(c.text)}
}

// within lists the words of a part that say something.
func (c *clause) within(p part) []term {
	return slices.DeleteFunc(slices.Clone(c.content), func(t term) bool { return t.at < p.at || t.at >= p.end })
}

// spoken lists all words of a part.
func (c *clause) spoken(p part) []term {
	return slices.DeleteFunc(slices.Clone(c.terms), func(t term) bool { return t.at < p.at || t.at >= p.end })
}

// weak reports whether a denial sets one thing against what was said before it.
func (n denial) weak() bool { return n.by == "instead" || n.by == "rather" }

// tells reports whether a part has a word, or one that an axis sets beside it.
func (c *clause) tells(p part, h term) bool {
	return slices.ContainsFunc(c.spoken(p), func(t term) bool { return akin(t, h) && (c.code || !c.mentions(t, h)) }) || slices.ContainsFunc(words().on[h.text], func(w where) bool {
		return slices.ContainsFunc(c.hits, func(hit hit) bool { return hit.axis == w.axis && hit.at >= p.at && hit.at < p.end })
	})
}

// wonders reports whether a clause asks of an axis which side is so.
func (c *clause) wonders(axis int) bool {
	for _, h := range c.hits {
		if h.axis == axis {
			return c.partAt(h.at).doubt
		}
	}
	return false
}

// special reports whether what a part says holds in some cases alone: nowhere
// else, or not in those that o speaks of.
func (c *clause) special(p part, o *clause) bool {
	if p.only || p.but {
		return true
	}
	return slices.ContainsFunc(c.parts, func(q part) bool {
		if q.role != asks || !q.only && !q.but {
			return false
		}
		n, _ := shared(c.within(q), o.content)
		return q.only || n > 0 || o.usual() || len(o.asked()) > 0
	})
}

// narrow reports whether a clause speaks of some cases alone.
func (c *clause) narrow() bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.only || p.but })
}

// usual reports whether a clause says what is so when nobody says otherwise.
func (c *clause) usual() bool {
	return slices.ContainsFunc(c.terms, func(t term) bool { return words().usual[t.text] })
}

// asked lists the words of the conditions of a clause.
func (c *clause) asked() []term {
	var out []term
	for _, p := range c.parts {
		if p.role == asks && !p.even {
			out = append(out, c.within(p)...)
		}
	}
	return out
}

// ofNothing reports whether a word of a part is said of nothing: it changes
// nothing, it has no effect.
func (c *clause) ofNothing(p part, h term) bool {
	all := c.spoken(p)
	for i, t := range all {
		if akin(t, h) {
			return slices.ContainsFunc(all[i+1:min(len(all), i+3)], func(u term) bool { return nothing[u.text] })
		}
	}
	return false
}

// mentions reports whether a word is no more than a name in which h is, or the
// thing that a deed is called by: compresslevel, compression.
func (c *clause) mentions(t, h term) bool {
	if t.text == h.text {
		return glued(c.text, t.at, t.end) && strings.ContainsAny(c.text[max(0, t.at-1):t.at]+c.text[t.end:min(len(c.text), t.end+1)], "_")
	}
	return len(t.stem)-len(h.stem) > 2 || len(h.stem)-len(t.stem) > 2 || nominal(t.text) != nominal(h.text)
}

func nominal(w string) bool {
	return slices.ContainsFunc([]string{"tion", "sion", "ment", "ness", "ance", "ence"}, func(e string) bool { return strings.HasSuffix(w, e) || strings.HasSuffix(w, e+"s") })
}

// hedges reports whether a part says no more than that something may be.
func (c *clause) hedges(p part) bool {
	return slices.ContainsFunc(c.spoken(p), func(t term) bool { return words().hedge[t.text] })
}

package evidence

import (
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// until are the words behind which a negation is over: what does not stop before
// the end stops at the end.
var until = []string{"until", "till", "before", "sebelum", "sampai", "hingga"}

// ended reports whether a denies something up to a moment alone, of which b, the
// other clause, does not speak.
func ended(a, b *clause, n denial) bool {
	for _, t := range a.terms {
		if t.at > n.of[0].at && slices.Contains(until, t.text) {
			return !slices.ContainsFunc(b.terms, func(u term) bool { return slices.Contains(until, u.text) || u.text == t.text }) &&
				!onAxis(b, t)
		}
	}
	return false
}

// deniedBefore counts the negations that stand before the word of an order.
func deniedBefore(c *clause, axis int) (n int) {
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		for _, d := range c.negs {
			if d.of[0].at <= h.at {
				n++
			}
		}
		break
	}
	return n
}

// nothing are the words that deny a thing, and with it whatever is said of it.
var nothing = map[string]bool{"no": true, "none": true, "nobody": true, "nothing": true, "neither": true, "nor": true, "tiada": true}

// deniedOf reports whether a clause denies what it says of a thing: that the
// backoff is not applied, where another says no backoff.
func deniedOf(c *clause, thing term) bool {
	lacked := func(t term) bool {
		return slices.ContainsFunc(c.negs, func(d denial) bool { return d.of[0].at == t.at && d.of[0].end == t.end })
	}
	return slices.ContainsFunc(c.terms, func(t term) bool {
		return akin(t, thing) && !lacked(t) && slices.ContainsFunc(c.negs, func(d denial) bool { return !d.aside && d.of[0].at > t.end })
	})
}

// nothingOf reports whether a has no such thing of which b denies what it says.
func nothingOf(a, b *clause) bool {
	return slices.ContainsFunc(a.negs, func(n denial) bool { return nothing[n.by] && deniedOf(b, n.of[0]) })
}

// again reports whether a clause that denies something says it of another thing as
// well, of which o speaks rather: it is not passed this way, it is passed that way.
func again(c, o *clause, n denial) bool {
	if n.in.end == 0 {
		return false
	}
	about := without(o.content, n.of)
	denied, _ := shared(about, c.within(n.in))
	for _, t := range c.terms {
		if t.stem != n.of[0].stem || glued(c.text, t.at, t.end) || slices.ContainsFunc(c.negs, func(d denial) bool { return slices.ContainsFunc(d.of, func(h term) bool { return h.at == t.at }) }) {
			continue
		}
		in := c.partAt(t.at)
		if in.at == n.in.at {
			return true
		}
		if said, _ := shared(about, c.within(in)); said >= denied {
			return true
		}
	}
	return false
}

// soft reports whether c has a word that is as good as a negation and that d,
// which has one, does not have, in the part of the sentence that affirms what d
// denies.
func soft(c, d *clause, n denial) bool {
	from, to := 0, len(c.text)
	for _, t := range c.terms {
		if akin(t, n.of[0]) {
			in := c.partAt(t.at)
			from, to = in.at, in.end
			break
		}
	}
	return slices.ContainsFunc(c.terms, func(t term) bool {
		return t.at >= from && t.end <= to && words().soft[t.text] && !has(d.terms, t) && !rivals(t, n.of[0]) // its axis tells
	})
}

// rivals reports whether two words are on one axis.
func rivals(t, u term) bool {
	return slices.ContainsFunc(words().on[t.text], func(a where) bool {
		return slices.ContainsFunc(words().on[u.text], func(b where) bool { return a.axis == b.axis })
	})
}

// byValue reports whether a sentence speaks of a switch both by a value and by what
// that does, as in "false disables it": which of the two the other says of cannot
// be told.
func byValue(c *clause, axis int) bool {
	value, verb := false, false
	for _, h := range c.hits {
		if h.axis == axis {
			isValue := h.text == "true" || h.text == "false" || h.text == "yes"
			value, verb = value || isValue, verb || !isValue
		}
	}
	return value && verb && !c.code
}

// sameStates reports whether two clauses have as many words of a switch.
func sameStates(c, p *clause, axis int) bool {
	count := func(c *clause) (n int) {
		for _, h := range c.hits {
			if h.axis == axis {
				n++
			}
		}
		return n
	}
	return count(c) == count(p)
}

// statements are the sentences of a claim, and the parts of those that explain
// themselves or go on with something else. One whose parts say too little to stand
// alone is left out whole: it speaks of what stood before it.
func statements(claim string) []string {
	var out []string
	for _, s := range sentences(claim) {
		s = answer.ReplaceAllString(s, "")
		parts := parting.Split(s, -1)
		if len(parts) == 1 || strings.Count(s, "`")%2 == 1 || strings.Contains(s, "`: ") {
			out = append(out, s)
			continue
		}
		full := len(parts)
		for _, p := range parts {
			if len(content(terms(p))) >= 2 {
				out = append(out, p)
			} else {
				full--
			}
		}
		if full == len(parts) {
			out = append(out, s)
		}
	}
	return out
}

// parting is what stands between a statement and its explanation, or the next.
var parting = lazyregexp.New(`[:：]\s+|,\s+(?:so|and|because|since)\s+|\s+because\s+`)

// answer is a yes or no that a sentence begins with: it answers what was asked, and
// negates nothing of what follows.
var answer = lazyregexp.New(`^(?i)(?:yes|no|nope|yep|yeah|right|correct|exactly|indeed|ya|tidak|sí|si|oui|non|ja|nein|はい|いいえ)\s*[,:、:]\s*`)

package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// value is the number that a line assigns to a name: a constant, a setting.
type value struct {
	key  []term
	is   quantity
	line int
}

var (
	// assigned matches the text before a value: a name and an operator, with a type between or before, or
	// a quoted name as in flag declarations.
	assigned = lazyregexp.New(`((?:[A-Za-z_][\w.<>\[\]-]*[\s:]+)*[A-Za-z_][\w.-]*)["'\])]*\s*(?::=|=|:)\s*["']?$|["']([A-Za-z_][\w-]*)["'],\s*["']?$`)
	types    = lazyregexp.New(`^(?i:u?int\d*|float\d*|double|long|string|bool(?:ean)?|number|usize|[ui]\d+|f\d+|byte|rune|char|(?:time\.)?duration|size_t|any|auto)$`)
)

// valuesOf lists the values that a line of code assigns to names.
func valuesOf(line string, n int) []value {
	if remarked.MatchString(line) {
		return nil
	}
	var out []value
	for _, q := range quantities(line, true) {
		if key := keyOf(tail(line[:q.at])); len(key) > 0 {
			out = append(out, value{key: key, is: q, line: n})
		}
	}
	return out
}

// keyOf returns the words of the name to which a value is assigned; none if there is no assignment.
func keyOf(before string) []term {
	m := assigned.FindStringSubmatch(before)
	if m == nil {
		return nil
	}
	if m[2] != "" {
		return nameTerms(m[2])
	}
	names := strings.FieldsFunc(m[1], func(r rune) bool { return r == ' ' || r == '\t' || r == ':' })
	for len(names) > 1 && types.MatchString(names[len(names)-1]) {
		names = names[:len(names)-1]
	}
	last := names[len(names)-1]
	return nameTerms(last[strings.LastIndexByte(last, '.')+1:])
}

// nameTerms returns the words of a name, without a unit at its end.
func nameTerms(name string) []term {
	var out []term
	for _, w := range identifierWords(name) {
		if _, isUnit := unitOf(w); isUnit && w != "min" && len(out) > 0 {
			continue
		}
		if !isDigits(w) {
			out = append(out, term{text: w, stem: stem(w)})
		}
	}
	return out
}

const keyReach = 8 // maximum words between a name and its value in a claim

// valued compares the value that c gives a name with the values in lines. One line that agrees suffices, and
// a text that also states the lines' value, among its nums, may give another one. A value that the lines have
// anywhere may be that of another name.
func (c *sentence) valued(nums []quantity, against []*Text) string {
	for _, q := range c.nums {
		if q.soft && q.unit.dim == noDim && q.values[0] < 3 {
			continue
		}
		if c.denies(q) || slices.ContainsFunc(against, func(e *Text) bool { return q.in(e.nums) }) {
			continue
		}
		why, longest := "", 0
		for _, e := range against {
			for _, v := range e.values {
				if !c.binds(v.key, q) {
					continue
				}
				if q.same(v.is) || len(v.is.text) == 0 || slices.ContainsFunc(nums, v.is.same) {
					why, longest = "", 1<<10
				} else if len(v.key) > longest {
					why, longest = fmt.Sprintf("says %s, %s has %s", q.text, e.at(v.line), v.is.text),
						len(v.key)
				}
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// refused finds a value that a sentence without a condition denies of a name, though the lines assign it, and
// no other, to that name.
func (c *sentence) refused(against []*Text) (why string) {
	for _, q := range c.nums {
		if !c.plainly() || !c.denies(q) {
			continue
		}
		why = ""
		for _, e := range against {
			for _, v := range e.values {
				switch {
				case !c.binds(v.key, q):
				case !q.same(v.is):
					return ""
				case why == "":
					why = fmt.Sprintf("says not %s, %s has it", q.text, e.at(v.line))
				}
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// between matches what may be between a negation and the value that it denies.
var between = lazyregexp.New("(?i)^[\\s`\"'(]*(?:(?:set|equal|default|by default|be|an?|the|of|to)[\\s`\"'(]+)*$")

// denies reports whether the only negation of a sentence denies a figure.
func (c *sentence) denies(q quantity) bool {
	at := c.negations()
	return len(at) == 1 && c.terms[at[0]].end <= q.at &&
		between.MatchString(c.text[c.terms[at[0]].end:q.at])
}

// assigns reports whether t gives a name the value that lines assign to it.
func (t *Text) assigns(lines []*Text) bool {
	for i := range t.sentences {
		s := &t.sentences[i]
		for _, e := range lines {
			if slices.ContainsFunc(e.values, func(v value) bool {
				return slices.ContainsFunc(s.nums, func(q quantity) bool {
					return q.same(v.is) && s.binds(v.key, q) && !s.denies(q)
				})
			}) {
				return true
			}
		}
	}
	return false
}

// binds reports whether c gives q to a name: the words of the name occur in sequence shortly before q, with
// no other figure between. A name of one word must be in backticks, since prose has such words too.
func (c *sentence) binds(key []term, q quantity) bool {
	from := 0
	for _, o := range c.nums {
		if o.end <= q.at && o.end > from {
			from = o.end
		}
	}
	var before []term
	for _, t := range c.terms {
		if t.at >= from && t.end <= q.at {
			before = append(before, t)
		}
	}
	if len(before) > keyReach {
		before = before[len(before)-keyReach:]
	}
	found := len(before) - 1
	for found >= len(key)-1 && !slices.EqualFunc(before[found+1-len(key):found+1], key, func(a, b term) bool {
		return a.stem == b.stem
	}) {
		found--
	}
	if found < len(key)-1 || len(key) == 1 && !strings.HasSuffix(c.text[:before[found].at], "`") {
		return false
	}
	if i := strings.IndexAny(c.text[before[found].end:q.at], ",;"); i >= 0 {
		return false
	}
	// The words between the name and the figure must not introduce another subject.
	other, denied := 0, c.denies(q)
	for _, t := range before[found+1:] {
		if denied && words().is("not", t.text) {
			continue
		}
		if !words().is("stop", t.text) && t.text != "equal" && t.text != "equals" {
			other++
		}
	}
	return other <= 1 && !(other == 1 && len(key) == 1)
}

package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// value is what a line gives a name: a constant, a setting, a default.
type value struct {
	key   []term
	is    quantity
	truth int // 1 true, -1 false, 0 a figure
	line  int
}

var (
	// assigned is what stands before a value: a name and an operator, with a type
	// between or before, or a quoted name as flags are declared.
	assigned = lazyregexp.New(`((?:[A-Za-z_][\w.<>\[\]-]*[\s:]+)*[A-Za-z_][\w.-]*)["'\])]*\s*(?::=|=|:)\s*["']?$|["']([A-Za-z_][\w-]*)["'],\s*["']?$`)
	truth    = lazyregexp.New(`(?i)\b(?:true|false|yes|no|on|off)\b`)
	types    = lazyregexp.New(`^(?i:u?int\d*|float\d*|double|long|string|bool(?:ean)?|number|usize|[ui]\d+|f\d+|byte|rune|char|(?:time\.)?duration|size_t|any|auto)$`)
)

// valuesOf lists what a line of code gives to names.
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
	for _, m := range truth.FindAllStringIndex(line, 3) {
		if key := keyOf(tail(line[:m[0]])); len(key) > 0 {
			w := strings.ToLower(line[m[0]:m[1]])
			out = append(out, value{key: key, is: quantity{text: line[m[0]:m[1]]}, truth: 1 - 2*b2i(w == "false" || w == "no" || w == "off"), line: n})
		}
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keyOf are the words of the name that stands before a value; none when there is
// no assignment.
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

// nameTerms are the words of a name, without the unit at its end.
func nameTerms(name string) []term {
	var out []term
	for _, w := range split2(name) {
		if _, isUnit := unitOf(w); isUnit && w != "min" && len(out) > 0 {
			continue
		}
		if !isDigits(w) {
			out = append(out, term{text: w, stem: stem(w)})
		}
	}
	return out
}

const keyReach = 8 // words between a name and the value that a claim gives it

// valued compares what c gives to a name with what lines give it; one line that
// agrees is enough.
func valued(c clause, against []*Evidence) string {
	for _, q := range c.nums {
		if q.soft && q.unit.dim == noDim && q.values[0] < 3 {
			continue
		}
		why, longest := "", 0
		for _, e := range against {
			if q.soft && q.in(e.nums) {
				why, longest = "", 1<<10
			}
			for _, v := range e.values {
				if v.truth != 0 || !c.binds(v.key, q) {
					continue
				}
				if q.same(v.is) || len(v.is.text) == 0 {
					why, longest = "", 1<<10
				} else if len(v.key) > longest {
					why, longest = fmt.Sprintf("says %s, %s has %s", q.text, e.at(v.line), v.is.text), len(v.key)
				}
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// binds reports whether c says q of a name: all words of the name stand a little
// before q, the last of them closest, and no other figure between.
func (c *clause) binds(key []term, q quantity) bool {
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
	found := -1
	for _, k := range key {
		at := slices.IndexFunc(before, func(t term) bool { return t.stem == k.stem })
		if at < 0 {
			return false
		}
		found = max(found, at)
	}
	if i := strings.IndexAny(c.text[before[found].end:q.at], ",;"); i >= 0 {
		return false
	}
	// What follows the name must lead to the figure, and not to another subject.
	other := 0
	for _, t := range before[found+1:] {
		if !words().stop[t.text] && words().on[t.text] == nil && t.text != "equal" && t.text != "equals" {
			other++
		}
	}
	return other <= 1 && !(other == 1 && len(key) == 1)
}

// truth compares what c says of a switch with the value that it is given.
func (e *Evidence) truth(c clause) string {
	for _, v := range e.values {
		if v.truth == 0 || !slices.ContainsFunc(v.key, func(t term) bool { return len(content([]term{t})) > 0 }) {
			continue
		}
		if slices.ContainsFunc(v.key, func(k term) bool { return !has(c.terms, k) }) {
			continue
		}
		state := 0
		for i, a := range words().axes {
			if a.state && state == 0 && !byValue(&c, i) && slices.ContainsFunc(c.hits, func(h hit) bool { return h.axis == i && c.partAt(h.at).role != asks }) {
				state = stateOf(&c, i)
			}
		}
		if state == 0 && slices.ContainsFunc(c.negs, func(n denial) bool {
			return !words().does[n.by] && slices.ContainsFunc(n.of, func(t term) bool { return has(v.key, t) })
		}) {
			state = -1
		}
		if state != 0 && state != v.truth && !c.quiet {
			return fmt.Sprintf("says it is %s, %s has %s", [...]string{"off", "", "on"}[state+1], e.at(v.line), v.is.text)
		}
	}
	return ""
}

// counted compares how many of something c speaks of with how many a passage
// does: "the last nine files" of "the last seven files".
func (e *Evidence) counted(c clause) string {
	for _, q := range c.nums {
		if q.in(e.nums) || q.values == nil || q.unit.dim != noDim {
			continue
		}
		t, ok := c.next(q)
		if !ok {
			continue
		}
		for i := range e.all {
			p := &e.all[i]
			if p.code || likeness(&c, p) < alike-rivalry {
				continue
			}
			for _, o := range p.nums {
				if u, ok := p.next(o); ok && t.stem == u.stem && o.unit.dim == noDim && !q.same(o) {
					return fmt.Sprintf("says %s %s, %s has %s", q.text, t.text, e.at(p.line), o.text)
				}
			}
		}
	}
	return ""
}

// next is the word that a figure counts.
func (c *clause) next(q quantity) (term, bool) {
	for _, t := range c.terms {
		if t.at >= q.end {
			return t, t.at-q.end < 3 && !words().stop[t.text]
		}
	}
	return term{}, false
}

// figures compares the numbers of two sentences of prose that say the same
// otherwise.
func (e *Evidence) figures(c clause) string {
	if !e.prose || len(c.nums) == 0 {
		return ""
	}
	words := c
	words.nums = nil
	for i := range e.all {
		p := &e.all[i]
		if len(p.nums) == 0 || len(c.content) < 2 || likeness(&words, p) < alike {
			continue
		}
		for _, q := range c.nums {
			if q.in(p.nums) || q.in(e.nums) || q.soft && q.unit.dim == noDim && q.values[0] < 3 {
				continue
			}
			for _, o := range p.nums {
				if o.unit.dim == q.unit.dim && !o.in(c.nums) && !(o.soft && o.unit.dim == noDim && o.values[0] < 3) {
					return fmt.Sprintf("says %s, %s has %s", q.text, e.at(p.line), o.text)
				}
			}
		}
	}
	return ""
}

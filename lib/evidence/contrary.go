package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// Evidence is text that claims are compared with, taken apart once.
type Evidence struct {
	place  string
	all    []clause
	values []value
	guards []guard
	nums   []quantity
	text   string
	first  int // line of text
	prose  bool
	only   *clause // the one line that turns something on or off, with what it belongs to
}

// value is what a line gives a name: a constant, a setting, a default.
type value struct {
	key   []term
	is    quantity
	truth int // 1 true, -1 false, 0 a figure
	line  int
}

// guard is a condition that ends in an error.
type guard struct {
	less  bool // values below the bound are refused, else those above
	bound quantity
	line  int
}

// Take takes lines of a file apart; first is the number of the first.
func Take(path string, lines []string, first int) *Evidence {
	e := &Evidence{place: path, all: passages(lines, first, isProse(path))}
	for i, l := range lines {
		e.values = append(e.values, valuesOf(l, first+i)...)
	}
	e.guards = guardsOf(lines, first)
	e.only = switched(path, lines, e.all)
	e.text, e.first = Fold(strings.Join(lines, "\n")), first
	e.nums = slices.Concat(quantities(e.text, true), spelled(e.text))
	return e
}

// switched is the one line of code that says on or off, with the words of the
// lines above it and of its file: enabled: true says of what by where it stands.
// nil when there is none, or several.
func switched(path string, lines []string, all []clause) *clause {
	var out *clause
	for i := range all {
		for k, a := range words().axes {
			if p := &all[i]; a.state && p.code && stateOf(p, k) != 0 {
				if out != nil && out.line != p.line {
					return nil
				}
				out = p
			}
		}
	}
	if out == nil {
		return nil
	}
	c := *out
	for _, l := range lines {
		c.context = append(c.context, terms(l)...)
	}
	c.context = append(c.context, terms(path)...)
	return &c
}

// Said takes prose apart, to be compared with other prose; name tells where it
// stands.
func Said(name, text string) *Evidence {
	e := &Evidence{place: name, prose: true, text: Fold(text)}
	for _, s := range sentences(text) {
		e.all = append(e.all, analyse(s, false))
	}
	e.nums = slices.Concat(quantities(e.text, true), spelled(e.text))
	return e
}

func (e *Evidence) at(line int) string {
	if line == 0 {
		return e.place
	}
	return fmt.Sprintf("%s:%d", e.place, line)
}

// Contrary says why a claim is not true where the evidence is: a word that is the
// opposite, a negation too many or too few, another value for the same name.
// "" means that nothing shows it, not that it is true.
func Contrary(claim string, against ...*Evidence) string {
	for _, s := range sentences(plainClaim(claim)) {
		c := analyse(s, false)
		if lists(s) || repeated(&c, against) {
			continue
		}
		if why := valued(c, against); why != "" {
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
	for _, re := range []*regexp.Regexp{address, cited, linesOf, counted} {
		s = re.ReplaceAllString(s, " ")
	}
	return s
}

// compared is a passage beside a claim.
type compared struct {
	e     *Evidence
	p     *clause
	share float64
}

// opposed looks for a passage that says the opposite of c, and for none that
// speaks as much for it.
func opposed(c clause, against []*Evidence) string {
	var all []compared
	for _, e := range against {
		for i := range e.all {
			if r := likeness(&c, &e.all[i]); r >= alike-rivalry {
				all = append(all, compared{e, &e.all[i], r})
			}
		}
		if p := e.only; p != nil && likeness(&c, p) >= alike {
			all = append(all, compared{e, p, likeness(&c, p)})
		}
	}
	slices.SortStableFunc(all, func(a, b compared) int { return -compare(a.share, b.share) })
	for _, x := range all {
		if (conditional(&c) || conditional(x.p)) && (x.share < alikeCase || len(c.content) < leastSame) {
			continue
		}
		if x.share < alike || x.e.prose && x.share < alikeProse {
			continue
		}
		turns, why, agrees := turned(&c, x.p)
		if turns%2 == 0 {
			continue
		}
		if slices.ContainsFunc(all, func(y compared) bool { return y.p != x.p && y.share >= x.share-rivalry && agrees(y.p) }) {
			continue
		}
		return fmt.Sprintf("says %s, %s has %s", why[0], x.e.at(x.p.line), why[1])
	}
	return ""
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// likeness is the share of what c names that p names too, words and figures
// alike; 0 when that is too little to compare.
func likeness(c, p *clause) float64 {
	total, n := 0, 0
	for _, t := range c.content {
		switch {
		case has(p.terms, t), has(p.context, t):
			total++
			n++
		case !onAxis(p, t): // the opposite word is no other subject
			total++
		}
	}
	for _, q := range c.nums {
		total++
		if q.in(p.nums) {
			n++
		}
	}
	if total == 0 || n < 2 && total > 1 || n < 1 {
		return 0
	}
	return float64(n) / float64(total)
}

// onAxis reports whether p takes a side where t does.
func onAxis(p *clause, t term) bool {
	return slices.ContainsFunc(words().on[t.text], func(w where) bool {
		return slices.ContainsFunc(p.hits, func(h hit) bool { return h.axis == w.axis })
	})
}

func has(all []term, t term) bool {
	return slices.ContainsFunc(all, func(u term) bool { return akin(t, u) })
}

// turned counts what turns the sense of p into the opposite of c. why names the
// last such word of both; agrees tells of another passage whether it speaks for
// c in that.
func turned(c, p *clause) (turns int, why [2]string, agrees func(*clause) bool) {
	agrees = func(*clause) bool { return false }
	if conditional(c) != conditional(p) {
		return 0, why, agrees
	}
	for i, a := range words().axes {
		if len(c.hits) == 0 || len(p.hits) == 0 {
			break
		}
		mine, theirs := sideOf(c, i), sideOf(p, i)
		if a.state {
			m, t := stateOf(c, i), stateOf(p, i)
			if m != 0 && t != 0 && m != t {
				turns++
				why = [2]string{stateName(c, i), strings.TrimSpace(p.text)}
				agrees = func(o *clause) bool { return stateOf(o, i) == m }
			}
			continue
		}
		if mine < 0 || theirs < 0 || mine == theirs || a.order && !sameOperands(c, p, i) {
			continue
		}
		turns++
		why = [2]string{quoteHit(c, i), quoteHit(p, i)}
		agrees = func(o *clause) bool { return sideOf(o, i) == mine }
	}
	if conditional(c) && likeness(c, p) < alikeCase || p.code && (c.quiet || likeness(c, p) < alikeCode) {
		return turns, why, agrees
	}
	for _, n := range c.negs {
		if n := n; !n.aside && affirms(p, n) && !counts(c, p, n) && !soft(p, c) {
			turns++
			why = [2]string{fmt.Sprintf("not %q", n.of[0].text), fmt.Sprintf("%q", said(p, n.of[0]))}
			agrees = func(o *clause) bool { return !affirms(o, n) && said(o, n.of[0]) != "" }
		}
	}
	for _, n := range p.negs {
		if n := n; !n.aside && affirms(c, n) && !counts(p, c, n) && !soft(c, p) {
			turns++
			why = [2]string{fmt.Sprintf("%q", said(c, n.of[0])), fmt.Sprintf("not %q", n.of[0].text)}
			agrees = func(o *clause) bool { return affirms(o, n) }
		}
	}
	return turns, why, agrees
}

// conditional reports that what a clause denies holds under a condition alone.
func conditional(c *clause) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool {
		return t.text == "unless" || t.text == "except" || t.text == "otherwise" || t.text == "only" || t.text == "exception" || t.text == "kecuali" || t.text == "hanya"
	})
}

// counts reports whether the word that negates in a is one of an axis that b
// speaks of too, and counts there: never beside always.
func counts(a, b *clause, n denial) bool {
	for _, h := range a.hits {
		if ax := words().axes[h.axis]; ax.state && n.of[0].at >= h.at && n.of[0].end <= h.end && n.of[0].end > 0 && stateOf(b, h.axis) != 0 {
			return true // not true has been counted as false
		}
	}
	return slices.ContainsFunc(words().on[n.by], func(w where) bool { return sideOf(a, w.axis) >= 0 && sideOf(b, w.axis) >= 0 })
}

// soft reports whether c has a word that is as good as a negation and that d,
// which has one, does not have.
func soft(c, d *clause) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool { return words().soft[t.text] && !has(d.terms, t) })
}

// affirms reports whether a clause says what a negation denies: it has the first
// of its words, and denies none of them.
func affirms(c *clause, n denial) bool {
	if said(c, n.of[0]) == "" {
		return false
	}
	for _, h := range n.of {
		if unlike(c, h) {
			return false
		}
		for _, m := range c.negs {
			if slices.ContainsFunc(m.of, func(t term) bool { return akin(t, h) }) {
				return false
			}
		}
	}
	return true
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

// sideOf is the side of an axis that a clause takes; -1 none, or both.
func sideOf(c *clause, axis int) int {
	side := -1
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		if side >= 0 && side != h.side {
			return -1
		}
		side = h.side
	}
	return side
}

func quoteHit(c *clause, axis int) string {
	for _, h := range c.hits {
		if h.axis == axis {
			return fmt.Sprintf("%q", h.text)
		}
	}
	return ""
}

// stateOf is 1 when what a clause says of a switch comes to on, -1 for off, 0
// when it says nothing: disabled: false is on, not enabled is off.
func stateOf(c *clause, axis int) int {
	state := 0
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		if state == 0 {
			state = 1
		}
		if h.side == 1 {
			state = -state
		}
		if slices.ContainsFunc(c.negs, func(n denial) bool { return n.of[0].at >= h.at && n.of[0].end <= h.end && n.of[0].end > 0 }) {
			state = -state
		}
	}
	return state
}

func stateName(c *clause, axis int) string {
	if stateOf(c, axis) > 0 {
		return "it is on"
	}
	return "it is off"
}

// sameOperands reports whether what stands behind the word of an order is in both
// the same: "a before b" is no opposite of "b after a".
func sameOperands(c, p *clause, axis int) bool {
	cl, cr := operands(c, axis)
	pl, pr := operands(p, axis)
	straight := overlap(cl, pl) + overlap(cr, pr)
	crossed := overlap(cl, pr) + overlap(cr, pl)
	return straight > crossed
}

func operands(c *clause, axis int) (left, right []term) {
	for _, h := range c.hits {
		if h.axis != axis {
			continue
		}
		for _, t := range c.terms {
			switch {
			case words().stop[t.text]:
			case t.end <= h.at:
				left = append(left, t)
			case t.at >= h.end:
				right = append(right, t)
			}
		}
		break
	}
	return left, right
}

func overlap(a, b []term) int {
	n, _ := shared(a, b)
	return n
}

var (
	// assigned is what stands before a value: a name and an operator, with a type
	// between or before, or a quoted name as flags are declared.
	assigned = regexp.MustCompile(`((?:[A-Za-z_][\w.<>\[\]-]*[\s:]+)*[A-Za-z_][\w.-]*)["'\])]*\s*(?::=|=|:)\s*["']?$|["']([A-Za-z_][\w-]*)["'],\s*["']?$`)
	truth    = regexp.MustCompile(`(?i)\b(?:true|false|yes|no|on|off)\b`)
	types    = regexp.MustCompile(`^(?i:u?int\d*|float\d*|double|long|string|bool(?:ean)?|number|usize|[ui]\d+|f\d+|byte|rune|char|(?:time\.)?duration|size_t|any|auto)$`)
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

var (
	bounded2 = regexp.MustCompile(`(<=?|>=?)\s*([\w.]+)`)
	refuses  = regexp.MustCompile(`(?i)\breturn\b.*\berr|\b(?:throw|raise|panic|abort|reject|fatal\w*|die|exit)\b|\bErr[A-Z]|errors?\.New|Errorf`)
	outcome  = regexp.MustCompile(`(?i)\berr(?:or)?\w*|\b(?:reject|refus|fail|throw|rais|invalid|panic|abort|den(?:y|ied))\w*|\btoo\b`)
	ought    = regexp.MustCompile(`(?i)\b(?:must|needs?|have to|has to|at least|at most|may|allowed|can|up to|minimum|maximum|no (?:more|less|fewer|longer|shorter) than|required?)\b`)
)

// guardsOf lists the conditions whose next line refuses.
func guardsOf(lines []string, first int) []guard {
	var out []guard
	for i, l := range lines {
		m := bounded2.FindStringSubmatchIndex(l)
		if m == nil || !strings.Contains(l, "if") {
			continue
		}
		rest := strings.Join(lines[i:min(i+3, len(lines))], "\n")
		if !refuses.MatchString(rest) {
			continue
		}
		qs := quantities(l[m[4]:], true)
		if len(qs) == 0 || qs[0].at != 0 {
			continue
		}
		out = append(out, guard{less: l[m[2]] == '<', bound: qs[0], line: first + i})
	}
	return out
}

// guard compares what c says of a bound with a condition that refuses.
func (e *Evidence) guard(c clause) string {
	less, more := c.bounds()
	if less == more {
		return ""
	}
	must := ought.MatchString(c.text)
	if !must && !outcome.MatchString(c.text) {
		return ""
	}
	for _, g := range e.guards {
		if !g.bound.in(c.nums) {
			continue
		}
		// What is refused lies below; what is asked for lies above.
		if wantLess := g.less != must; wantLess != less {
			return fmt.Sprintf("says %s %s, %s refuses what is %s", side(less), g.bound.text, e.at(g.line), side(g.less))
		}
	}
	return ""
}

func side(less bool) string {
	if less {
		return "below"
	}
	return "above"
}

// bounds tells whether a clause speaks of what is below a figure, or above.
func (c *clause) bounds() (less, more bool) {
	l := words()
	for _, h := range c.hits {
		at := l.axes[h.axis]
		name := at.sides[0][0]
		if name != "at most" && name != "less than" {
			continue
		}
		less = less || h.side == 0
		more = more || h.side == 1
	}
	return less, more
}

// Text is what was taken apart; Place is the file or the name of it.
func (e *Evidence) Text() string  { return e.text }
func (e *Evidence) Place() string { return e.place }

// Stranger returns the first sentence of text that has many words and shares next
// to none of them with another text; "" when there is none.
func Stranger(text, about string) string {
	low := ""
	for _, s := range sentences(plainClaim(text)) {
		all := content(terms(s))
		if len(all) < leastStrange || !english(s) {
			continue
		}
		if low == "" {
			low = strings.ToLower(about)
		}
		n := 0
		for _, t := range all {
			if strings.Contains(low, t.text[:min(len(t.text), leastPrefix+1)]) {
				n++
			}
		}
		if n*3 <= len(all) {
			return s
		}
	}
	return ""
}

const leastStrange = 6 // words of a sentence that is about something else

// Where tells at which place of the evidence a token stands; "" where it does not.
// A name that stands there in parts alone is at the place as a whole.
func (e *Evidence) Where(t Token) string {
	if t.Kind == Number {
		for _, q := range slices.Concat(quantities(t.Text, false), quantities(t.Text, true)) {
			for _, n := range e.nums {
				if q.same(n) {
					return e.at(e.lineOf(n.at))
				}
			}
		}
		return ""
	}
	if !t.In(e.text) {
		return ""
	}
	if i := strings.Index(e.text, strings.TrimLeft(t.Text, "-${./~")); i >= 0 {
		return e.at(e.lineOf(i))
	}
	return e.at(e.first)
}

func (e *Evidence) lineOf(at int) int {
	if e.first == 0 {
		return 0
	}
	return e.first + strings.Count(e.text[:min(at, len(e.text))], "\n")
}

// Words are the words of a text that say something of its subject, each once, in
// the form in which they are compared.
func Words(text string) []string {
	var out []string
	for _, t := range content(terms(plainClaim(text))) {
		if !slices.Contains(out, t.stem) {
			out = append(out, t.stem)
		}
	}
	return out
}

// Shared lists the words of a text that another has too, in any form.
func Shared(text, other string) []string {
	_, which := shared(content(terms(plainClaim(text))), terms(other))
	var out []string
	for _, t := range which {
		if !slices.Contains(out, t.stem) {
			out = append(out, t.stem)
		}
	}
	return out
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
			if a.state && state == 0 {
				state = stateOf(&c, i)
			}
		}
		if state == 0 && slices.ContainsFunc(c.negs, func(n denial) bool { return slices.ContainsFunc(n.of, func(t term) bool { return has(v.key, t) }) }) {
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

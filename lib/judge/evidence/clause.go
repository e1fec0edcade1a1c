package evidence

import (
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
)

// clause is a piece of a claim or of what stands in the evidence, taken apart for
// comparison.
type clause struct {
	text    string
	line    int  // where it begins, from 1; 0 in a claim
	code    bool // no sentence
	terms   []term
	context []term // of what is around it
	content []term
	nums    []quantity
	hits    []hit
	negs    []denial
	parts   []part
	scene   *scenery // what stands around it
	seen    map[*scenery]map[string]bool
	quiet   bool // it tells a condition
	seam    int  // where the second of two sentences begins
}

// hit is a phrase of an axis.
type hit struct {
	where
	at, end int
	text    string
}

// What of one sentence or line is compared; the rest is no sentence.
const (
	maxClause  = 1000 // bytes
	maxFigures = 30
)

// analyse takes a text apart.
func analyse(text string, code bool) clause {
	if len(text) > maxClause {
		text = strings.ToValidUTF8(text[:maxClause], "")
	}
	if code {
		text = per(text)
	}
	c := clause{text: text, code: code, terms: terms(text)}
	c.nums = quantities(text, code)
	c.nums = c.nums[:min(len(c.nums), maxFigures)]
	c.hits = c.phrases()
	for _, t := range c.terms {
		if words().quiet[t.text] {
			c.quiet = true
		}
	}
	for i, t := range c.terms {
		if t.text == "need" && i+1 < len(c.terms) && c.terms[i+1].text == "not" {
			continue // it need not be
		}
		inside := func(h hit) bool { return !code && h.at <= t.at && t.end <= h.end && h.end-h.at > t.end-t.at }
		if len(content([]term{t})) > 0 && !slices.ContainsFunc(c.hits, inside) {
			c.content = append(c.content, t)
		}
	}
	c.parts = c.cut()
	c.negs = c.negated()
	return c
}

var perTime = lazyregexp.New(`(\d)/(s|second|minute|hour|day|sec|min)\b`)

// per writes 10/s as it is said.
func per(text string) string {
	return perTime.ReplaceAllStringFunc(text, func(m string) string {
		n, u, _ := strings.Cut(m, "/")
		switch u {
		case "s", "sec":
			u = "second"
		case "min":
			u = "minute"
		}
		return n + " per " + u
	})
}

// glued reports whether text[i:j] is a part of an identifier or an option, and
// not a word of its own.
func glued(text string, i, j int) bool {
	joins := func(b byte) bool {
		return b == '_' || b == '-' || b >= '0' && b <= '9' || unicode.IsLetter(rune(b)) && b < 0x80
	}
	if i > 0 && (joins(text[i-1]) || text[i-1] == '.' && i > 1 && joins(text[i-2])) {
		return true
	}
	return j < len(text) && (joins(text[j]) || text[j] == '.' && j+1 < len(text) && joins(text[j+1]))
}

// phrases finds the words of the axes, the longest first. In a sentence those
// inside a name or in backticks are no statement; in code they are.
func (c *clause) phrases() []hit {
	l := words()
	var out []hit
	for i := 0; i < len(c.terms); i++ {
		for _, p := range l.begin[c.terms[i].text] {
			if !c.follows(i, p.words) {
				continue
			}
			at, end := c.terms[i].at, c.terms[i+len(p.words)-1].end
			text := lower(c.text[at:end])
			if c.code && l.named(p) && within(c.text, at, end) || text == "longer" && i > 0 && (c.terms[i-1].text == "no" || c.terms[i-1].text == "any") {
				break // a part of a name; no longer
			}
			if !c.code && (glued(c.text, at, end) || strings.Count(c.text[:at], "`")%2 == 1 && !truth.MatchString(text)) {
				break
			}
			for _, w := range p.on {
				out = append(out, hit{w, at, end, text})
			}
			i += len(p.words) - 1
			break
		}
	}
	return out
}

// within reports whether text[i:j] is a part of a longer name.
func within(text string, i, j int) bool {
	return i > 0 && joins(text[i-1]) || j < len(text) && joins(text[j])
}

// joins reports whether a byte goes on with a name.
func joins(b byte) bool { return b == '_' || unicode.IsLetter(rune(b)) && b < 0x80 }

// named reports whether a phrase is on no axis of a switch: in code, EnableKeepAlive
// tells of one, AcceptBacklog of none that accepts.
func (l *lexicon) named(p phrase) bool {
	return !slices.ContainsFunc(p.on, func(w where) bool { return l.axes[w.axis].state })
}

// follows reports whether the words stand from the i-th term on, with nothing but
// spaces and hyphens between.
func (c *clause) follows(i int, phrase []string) bool {
	if i+len(phrase) > len(c.terms) {
		return false
	}
	for k, w := range phrase {
		t := c.terms[i+k]
		if t.text != w || k > 0 && strings.Trim(c.text[c.terms[i+k-1].end:t.at], " _-\n") != "" {
			return false
		}
	}
	return true
}

// lower is ToLower that keeps every byte's place.
func lower(s string) string {
	if l := strings.ToLower(s); len(l) == len(s) {
		return l
	}
	return s
}

const maxHead = 6 // words between a negation and what it is said of

// denial is a negation: the words that it is said of, the nearest first.
type denial struct {
	by     string
	of     []term
	at     int
	in     part // that it stands in
	passed bool // over a verb that says little: does not get it
	aside  bool // in a subordinate clause
}

// negated lists the negations of a clause, each with the words behind it that say
// something, unless it is an answer (No, …), sets two things apart (…, not …), is
// only mentioned (in backticks) or stands in a phrase that has a meaning of its own
// (no more than).
func (c *clause) negated() []denial {
	l := words()
	var out []denial
	deep := false
	for i, t := range c.terms {
		if len(out) == maxParts {
			break
		}
		if i > 0 && strings.ContainsAny(c.text[c.terms[i-1].end:t.at], ",;.:") {
			deep = false
		}
		deep = deep || l.clause[t.text]
		two := i+1 < len(c.terms) && l.not2[t.text+"-"+c.terms[i+1].text]
		if !l.not[t.text] && !two || slices.ContainsFunc(c.hits, func(h hit) bool { return h.at <= t.at && t.end <= h.end && h.text != t.text }) {
			continue
		}
		if glued(c.text, t.at, t.end) || ticking(c.text[:t.at]) || c.text[t.at:t.end] == "None" && (i+1 == len(c.terms) || c.terms[i+1].text != "of") {
			continue
		}
		if t.text == "not" && (i == 0 || strings.TrimSpace(c.text[c.terms[i-1].end:t.at]) == ",") {
			continue
		}
		of := c.heads(i, t.text)
		if behind(t.text) {
			of = c.denied(i)
		}
		if len(of) > 0 {
			in := c.partAt(t.at)
			by := t.text
			if by == "nor" && len(of) == 1 {
				by = "not"
			}
			passed := i+1 < len(c.terms) && l.light[c.terms[i+1].text] && of[0].at > c.terms[i+1].at
			out = append(out, denial{by, of, t.at, in, passed, deep && !c.code || in.role != states})
		}
	}
	if c.code && !strings.Contains(c.text, "&&") && !strings.Contains(c.text, "||") {
		for _, t := range banged(c.text) {
			out = append(out, denial{by: "!", of: []term{t}})
		}
	}
	return out
}

// heads are the words that say something behind the i-th, a negation, up to the
// next mark: the first; behind no, which is said of a thing and means what happens
// to it, two, and those up to its verb; all behind neither … nor.
func (c *clause) heads(i int, by string) []term {
	l := words()
	most := 1
	switch by {
	case "no", "none", "nobody", "nothing", "without":
		most = 2
	case "neither", "nor":
		most = maxHead
	}
	if by == "nor" && slices.ContainsFunc(c.terms[:i], func(t term) bool { return l.not[t.text] && t.text != "neither" }) {
		by, most = "not", 1 // does not close nor wait
	}
	if by == "no" && i > 0 && c.terms[i-1].text == "with" {
		by, most = "without", 1 // what follows is said of something else
	}
	in := c.partAt(c.terms[i].at)
	verb := false
	var out []term
	for k := i + 1; k < len(c.terms) && k <= i+maxHead+most && len(out) < most; k++ {
		t := c.terms[k]
		if gap := c.text[c.terms[k-1].end:t.at]; strings.ContainsAny(gap, ".;,:") && (strings.Contains(gap, " ") || !glued(c.text, t.at, t.end)) {
			break
		}
		if t.at >= in.end {
			break
		}
		if nothing[by] && words().finite[t.text] && !verb && len(out) > 0 && t.at < in.end {
			verb = true
			most = len(out) + 1
		}
		if t.text == "or" || t.text == "nor" || t.text == "atau" {
			continue
		}
		if l.stop[t.text] && !l.deed[t.text] || l.light[t.text] || strings.HasSuffix(t.text, "ly") || t.text == "longer" || t.text == "than" || l.not[t.text] {
			continue
		}
		out = append(out, t)
		if k+1 < len(c.terms) && (c.terms[k+1].text == "or" || c.terms[k+1].text == "nor" || c.terms[k+1].text == "atau") {
			most++
		}
		if nothing[by] && by != "neither" && by != "nor" && !verb && len(out) == most && most < 4 && c.verbAhead(k, in.end) {
			most++
		}
	}
	return out
}

// verbAhead reports whether a part has a finite verb behind its k-th term.
func (c *clause) verbAhead(k, end int) bool {
	for _, t := range c.terms[k+1:] {
		if t.at >= end {
			return false
		}
		if words().finite[t.text] {
			return true
		}
	}
	return false
}

// ticking reports whether a text ends inside of backticks.
func ticking(text string) bool { return strings.Count(strings.ReplaceAll(text, "``", "`"), "`")%2 == 1 }

var bang = lazyregexp.New(`(?:^|[^!\w])!\s*\(?([A-Za-z_][\w.]*)`)

// banged are the words of names behind a ! in code.
func banged(text string) []term {
	var out []term
	for _, m := range bang.FindAllStringSubmatch(text, -1) {
		if parts := split2(m[1]); len(parts) > 0 {
			w := parts[len(parts)-1]
			out = append(out, term{text: w, stem: stem(w)})
		}
	}
	return out
}

// sentenceEnd parts what is said: the end of a sentence, a semicolon, a but.
var sentenceEnd = lazyregexp.New(`[.!?。！？]+(?:["')\]` + "`" + `]*)(?:\s+|$)|[。！？]+|;\s+|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s+|,\s+(?:but|while|whereas|tetapi|sedangkan)\s+|\s+-\s+|\s+—\s+`)

// sentences are the statements of a text.
func sentences(text string) []string {
	var out []string
	from := 0
	for _, m := range sentenceEnd.FindAllStringIndex(text, -1) {
		if s := strings.TrimSpace(text[from:m[1]]); s != "" {
			out = append(out, s)
		}
		from = m[1]
	}
	if s := strings.TrimSpace(text[from:]); s != "" {
		out = append(out, s)
	}
	return out
}

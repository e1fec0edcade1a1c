package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is how many lines beside a place tell what it is part of.
const Scope = 12

// A claim is about lines when they and what is around them cover more than LeastShare of it,
// and the cited lines alone leastCited; or when a name or a measure of it is in the
// cited lines, with one word more, and leastNamed of it is covered.
const (
	LeastShare = 0.5
	leastCited = 0.3
	leastNamed = 0.4
	leastOwn   = 2
)

// Coverage is how much of what a text says is in the lines beside it.
type Coverage struct {
	Share   float64  // of the words and names, 0 to 1
	About   bool     // enough of them
	Missing []string // the words that the lines do not have
	Empty   bool     // the text has no word, name or number that could be covered
}

// meta are words by which a claim speaks of its own lines: they are no subject.
var meta = strings.Fields("stand stands here comment comments quote quoted quotes lines cited shown shows says tells means answer yes no search searched seem seems best following")

// Cover measures how much of a claim is in lines: own are those that are cited, near
// those around them.
func (t *Text) Cover(own, near []*Text) Coverage {
	return cover(t.text, t.terms, t.content, t.tokens, own, near)
}

// cover weighs words and figures: one that stands in any talk counts half, unless it
// is written as a name.
func cover(text string, terms, content []term, tokens []Token, own, near []*Text) Coverage {
	var c Coverage
	var cited, all, total float64
	hits, named := 0, false
	add := func(what string, weight float64, in func(*Text) bool) bool {
		total += weight
		switch {
		case slices.ContainsFunc(own, in):
			cited, all, hits = cited+weight, all+weight, hits+1
			return true
		case slices.ContainsFunc(near, in):
			all, hits = all+weight, hits+1
		default:
			c.Missing = append(c.Missing, what)
		}
		return false
	}
	marked := strings.ToLower(strings.Join(ticked.FindAllString(text, -1), " "))
	for _, w := range content {
		if slices.Contains(meta, w.text) {
			continue
		}
		weight := 1.0
		if commonStems()[w.stem] && !strings.Contains(marked, w.text) {
			weight = 0.5
		}
		add(w.text, weight, func(t *Text) bool { return has(t.terms, w) })
	}
	for _, tok := range tokens {
		there := func(t *Text) bool { return t.Where(tok) != "" }
		switch {
		case tok.Kind == Number:
			named = add(tok.Text, 1, there) && measure(tok.Text) || named
		default:
			named = named || slices.ContainsFunc(own, there)
		}
	}
	c.Empty = total <= 1 && len(tokens) == 0
	if total > 0 {
		c.Share = all / total
		c.About = c.Share > LeastShare && cited >= leastCited*total || named && hits >= leastOwn && c.Share >= leastNamed
	}
	if !c.About && foreign(terms) {
		c.About = hits >= leastOwn && cited > 0 && c.Share >= leastNamed // its words cannot be there
		c.byNames(tokens, append(slices.Clone(own), near...))
	}
	return c
}

// measure reports whether a number is told with its unit.
func measure(number string) bool {
	return slices.ContainsFunc(quantities(number, false), func(q quantity) bool { return q.unit.dim != noDim })
}

// byNames measures a text of another language than the code's by what it names alone:
// a name, path or option must be among it.
func (c *Coverage) byNames(tokens []Token, in []*Text) {
	n, named := 0, false
	for _, tok := range tokens {
		if slices.ContainsFunc(in, func(t *Text) bool { return t.Where(tok) != "" }) {
			n++
			named = named || tok.Kind != Number
		}
	}
	if named && n == len(tokens) && !c.About {
		c.Share, c.About, c.Missing = 1, true, nil
	}
}

// foreign guesses whether words are those of another language than English.
func foreign(all []term) bool {
	n := 0
	for _, w := range all {
		if !isASCII(w.text) || words().other[w.text] {
			n++
		}
	}
	return n > 1 || n > 0 && 3*n >= len(all)
}

// String says how much is covered, and which words are not.
func (c Coverage) String() string {
	text := fmt.Sprintf("%.0f%% of the claim", 100*c.Share)
	if n := len(c.Missing); n > 0 {
		text += ", not " + list(c.Missing)
	}
	return text
}

// anglo are small words that few sentences of English lack, and other languages do
// not have.
var anglo = map[string]bool{
	"the": true, "is": true, "are": true, "of": true, "and": true, "it": true, "that": true, "by": true,
	"when": true, "with": true, "its": true, "has": true, "which": true, "from": true, "this": true,
}

// Part is one sentence of a text, and how much of it is covered.
type Part struct {
	Text string
	Coverage
	English  bool   // so that a word that its lines lack tells something
	Contrary string // why the places say otherwise, as far as code can show
	Ref      int    // place in refs of what covers it best; -1 all together or none
	Negates  bool   // it has a negation, which code seldom decides
	Bound    bool   // it tells a condition or an exception, which code does not decide
}

// Account measures each sentence of a text against each of some references, and where
// none is enough against all together.
func (t *Text) Account(found []Finding) []Part {
	var out []Part
	var cited, around []*Text
	for _, f := range found {
		if f.backs() {
			cited, around = append(cited, f.Places...), append(around, f.Around...)
		}
	}
	for i := range t.sentences {
		s := &t.sentences[i]
		tokens := slices.DeleteFunc(slices.Clone(t.tokens), func(tok Token) bool { return !strings.Contains(s.text, tok.Text) })
		p := Part{Text: s.text, Ref: -1, Negates: len(s.negations()) > 0, Bound: !s.plainly()}
		p.English = slices.ContainsFunc(s.terms, func(w term) bool { return anglo[w.text] })
		against := func(k int, own, near []*Text) {
			if c := cover(s.text, s.terms, s.content, tokens, own, near); c.About && !p.About || c.About == p.About && c.Share > p.Share {
				p.Coverage, p.Ref = c, k
			}
		}
		p.Coverage = cover(s.text, s.terms, s.content, tokens, nil, nil)
		for k, f := range found {
			if f.backs() {
				against(k, f.Places, f.Around)
			}
		}
		if !p.About {
			against(-1, cited, around)
		}
		p.Contrary = s.contrary(cited)
		out = append(out, p)
	}
	return out
}

// backs reports whether a sentence can be covered by what a reference cites.
func (f *Finding) backs() bool { return f.Stands && f.Result != Contradicts }

// Lists reports whether a claim says no more than that names are there.
func (t *Text) Lists() bool {
	if t == nil {
		return false
	}
	rest := ticked.ReplaceAllString(t.text, " ")
	return rest != t.text && strings.Contains(rest, "stand") && !strings.ContainsAny(rest, "0123456789") && !slices.ContainsFunc(content(terms(rest)), func(w term) bool { return !slices.Contains(meta, w.text) })
}

// Has reports whether all of some words are among a text's.
func (t *Text) Has(all []string) bool {
	return !slices.ContainsFunc(all, func(w string) bool { return !has(t.terms, term{text: w, stem: stem(w)}) })
}

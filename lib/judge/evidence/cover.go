package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is how many lines on each side of a place show what it is part of.
const Scope = 12

// A claim is about lines if they and their surroundings cover at least LeastShare of it, and the cited
// lines alone at least leastCited; or if a name or a measure of it is in the cited lines, with one word
// more, and at least leastNamed of it is covered.
const (
	LeastShare = 0.5
	leastCited = 0.3
	leastNamed = 0.4
	leastOwn   = 2
)

// Coverage is how much of a text's content is in the given lines.
type Coverage struct {
	Share   float64  // share of its words and names, 0 to 1
	About   bool     // enough of them are covered
	Missing []string // words that the lines do not contain
	Empty   bool     // the text has no word, name or number to cover
}

// meta are words by which a claim refers to its own lines; they carry no subject.
var meta = strings.Fields("stand stands here comment comments quote quoted quotes lines cited shown shows says tells means answer yes no search searched seem seems best following")

// Cover measures how much of a claim is in the cited lines own and their surroundings near.
func (t *Text) Cover(own, near []*Text) Coverage {
	return cover(t.text, t.terms, t.content, t.tokens, own, near)
}

// cover weighs words and figures. A common word counts half, unless it is written as a name.
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
	strange := false // it names something, and nothing that the cited lines have
	for _, tok := range tokens {
		there := func(t *Text) bool { return t.Where(tok) != "" }
		switch {
		case tok.Kind == Number:
			named = add(tok.Text, 1, there) && measure(tok.Text) || named
		default:
			named = named || slices.ContainsFunc(own, there)
			strange = strange || !slices.ContainsFunc(own, there) && !slices.ContainsFunc(near, there)
		}
	}
	strange = strange && !named
	c.Empty = total <= 1 && len(tokens) == 0
	if total > 0 {
		c.Share = all / total
		c.About = c.Share > LeastShare && cited >= leastCited*total && !strange || named && hits >= leastOwn && c.Share >= leastNamed
	}
	if !c.About && foreign(terms) {
		c.About = hits >= leastOwn && cited > 0 && c.Share >= leastNamed // its words cannot be in the lines
		c.byNames(tokens, append(slices.Clone(own), near...))
	}
	return c
}

// measure reports whether a number has a unit.
func measure(number string) bool {
	return slices.ContainsFunc(quantities(number, false), func(q quantity) bool { return q.unit.dim != noDim })
}

// byNames measures a text in another language than the code's by its tokens alone. At least one must be a
// name, path or option.
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

// foreign guesses whether words are in a language other than English.
func foreign(all []term) bool {
	n := 0
	for _, w := range all {
		if !isASCII(w.text) || words().other[w.text] {
			n++
		}
	}
	return n > 1 || n > 0 && 3*n >= len(all)
}

// String gives the share covered and the words that are missing.
func (c Coverage) String() string {
	text := fmt.Sprintf("%.0f%% of the claim", 100*c.Share)
	if n := len(c.Missing); n > 0 {
		text += ", not " + list(c.Missing)
	}
	return text
}

// anglo are function words found in almost every English sentence and not in other languages.
var anglo = map[string]bool{
	"the": true, "is": true, "are": true, "of": true, "and": true, "it": true, "that": true, "by": true,
	"when": true, "with": true, "its": true, "has": true, "which": true, "from": true, "this": true,
}

// Part is one sentence of a text, and its coverage.
type Part struct {
	Text string
	Coverage
	English  bool   // so a missing word is significant
	Contrary string // why the lines contradict it, as far as code can show
	Ref      int    // index of the reference that covers it best; -1 for all together or none
	Negates  bool   // it or the lines that cover it contain a negation, which code can seldom decide
	Bound    bool   // states a condition or an exception, which code does not decide
}

// Account measures each sentence of a text against each reference, and, if none suffices, against all
// together.
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
		p := Part{Text: s.raw, Ref: -1, Negates: len(s.negations()) > 0, Bound: !s.plainly()}
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
		covering := cited
		if p.Ref >= 0 {
			covering = found[p.Ref].Places
		}
		p.Negates = p.Negates || p.About && slices.ContainsFunc(covering, (*Text).negates)
		p.Contrary = s.contrary(cited)
		out = append(out, p)
	}
	return out
}

// negates reports whether a sentence of t contains a negation.
func (t *Text) negates() bool {
	for i := range t.sentences {
		if len(t.sentences[i].negations()) > 0 {
			return true
		}
	}
	return false
}

// backs reports whether the lines cited by a reference can cover a sentence.
func (f *Finding) backs() bool { return f.Stands && f.Result != Contradicts }

// Lists reports whether a claim says only that names occur.
func (t *Text) Lists() bool {
	if t == nil {
		return false
	}
	rest := ticked.ReplaceAllString(t.text, " ")
	return rest != t.text && strings.Contains(rest, "stand") && !strings.ContainsAny(rest, "0123456789") && !slices.ContainsFunc(content(terms(rest)), func(w term) bool { return !slices.Contains(meta, w.text) })
}

// Has reports whether a text contains all of some words.
func (t *Text) Has(all []string) bool {
	return !slices.ContainsFunc(all, func(w string) bool { return !has(t.terms, term{text: w, stem: stem(w)}) })
}

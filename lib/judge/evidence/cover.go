package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// Scope is how many lines on each side of a place show what it is part of.
const Scope = 12

// A text is about lines if they and their surroundings contain enough of its content by weight: LeastShare
// with two telling words in the cited lines, leastOnce with one, leastNamed if they contain a name of it;
// all of it suffices without. Telling is a word that is neither common nor plain, or a figure that is not
// everywhere. A name or a number of the text that they do not contain is decisive: the text is then not
// about them.
const (
	LeastShare  = 0.5
	leastOnce   = 0.65
	leastNamed  = 0.4
	leastCited  = 0.25 // share that the cited lines alone contain
	leastWeight = 1    // that the cited lines contain; beside a name leastBeside
	leastBeside = 1.5
	leastOwn    = 2
)

// Weights of words. A common word occurs in talk of any program, a plain one in talk of anything.
const (
	commonWeight = 0.5
	plainWeight  = 0.2
)

// Coverage is how much of a text's content is in the given lines.
type Coverage struct {
	Share   float64  // share of its words and names, 0 to 1
	About   bool     // enough of them are covered
	Missing []string // words that neither the lines nor their surroundings contain
	Beside  []string // words and names that the cited lines themselves do not contain
	Strange int      // how many of them tell of a subject
	Lost    []string // names and numbers that neither the lines nor their surroundings contain
	Apart   []string // names, counts and units that are not in the lines, whatever is around them
	Empty   bool     // the text has no word, name or number to cover
}

// meta are words by which a claim refers to its own lines; they carry no subject.
var meta = strings.Fields("stand stands here comment comments quote quoted quotes lines cited shown shows says tells means answer yes no search searched seem seems best following")

// Cover measures how much of a claim is in the cited lines own and their surroundings near.
func (t *Text) Cover(own, near []*Text) Coverage {
	whole := sentence{text: t.text, terms: t.terms, content: t.content, nums: t.nums}
	return cover(&whole, t.tokens, own, near)
}

// everywhere are figures that any program contains, and writes in many ways: that lines do not have them
// proves nothing.
var everywhere = []string{"0", "1", "2"}

// turning matches short words that are no content and yet change a claim: is on, at most, over 5.
var turning = lazyregexp.New(`(?i)\b(?:is|are|was|were|be|stays?|turned|switched|left|set)\s+(on|up)` +
	`(?:\s+(?:by|if|when|unless|only|again)\b|\s*[.,;:)]|\s*$)|\bat\s+(most)\b|\b(over|under|all|every|both)\s`)

// weight returns how much a word says of a subject; marked is what the text puts in backticks.
func weight(w term, marked string) float64 {
	switch {
	case strings.Contains(marked, w.text):
		return 1
	case plainStems()[w.stem]:
		return plainWeight
	case commonStems()[w.stem] || codeStems()[w.stem]:
		return commonWeight
	}
	return 1
}

// tally measures what the lines own and their surroundings near contain of a text, by weight.
type tally struct {
	own, near         []*Text
	said              float64 // weight of the text's words and figures, none without any
	cited, all, total float64 // in the cited lines, with their surroundings, of the text
	hits, telling     int     // words in either; telling words in the cited lines
	named             bool
	Coverage
}

func (n *tally) about() bool {
	enough := n.telling >= leastOwn && n.Share > LeastShare || n.telling > 0 && n.Share > leastOnce ||
		n.named && n.cited >= leastBeside && n.Share > leastNamed || len(n.Missing) == 0
	return enough && n.cited >= leastWeight && n.cited >= leastCited*n.total
}

// add counts a word or figure, which in finds in a text; tells says that it tells of a subject.
func (n *tally) add(what string, weight float64, tells bool, in func(*Text) bool) {
	told := 0
	if tells {
		told = 1
	}
	n.total += weight
	switch {
	case slices.ContainsFunc(n.own, in):
		n.cited, n.all, n.hits, n.telling = n.cited+weight, n.all+weight, n.hits+1, n.telling+told
	case slices.ContainsFunc(n.near, in):
		n.all, n.hits = n.all+weight, n.hits+1
		n.Beside = append(n.Beside, what)
	default:
		n.Missing, n.Strange = append(n.Missing, what), n.Strange+told
	}
}

// words counts the significant words of s. A word of a number, such as thirty, is there if the number is.
func (n *tally) words(s *sentence) {
	marked := strings.ToLower(strings.Join(ticked.FindAllString(s.text, -1), " "))
	for _, w := range s.content {
		if slices.Contains(meta, w.text) {
			continue
		}
		says := weight(w, marked)
		n.said += max(says, commonWeight)
		q := s.number(w)
		n.add(w.text, says, says == 1, func(t *Text) bool {
			return has(t.terms, w) || q != nil && q.in(t.nums)
		})
	}
	for _, m := range turning.FindAllStringSubmatch(s.text, -1) {
		if w := strings.ToLower(m[1] + m[2] + m[3]); !slices.ContainsFunc(n.own, func(t *Text) bool {
			return hasWord(strings.ToLower(t.text), w)
		}) {
			n.Beside = append(n.Beside, w)
		}
	}
}

// names counts the names and figures of a text.
func (n *tally) names(tokens []Token) {
	for _, tok := range tokens {
		there := func(t *Text) bool { return t.Where(tok) != "" }
		if !tok.among(n.own, n.near) {
			n.Lost = append(n.Lost, tok.Text)
		}
		cited := slices.ContainsFunc(n.own, there)
		n.named = n.named || cited && tok.Kind != Number
		switch {
		case tok.Kind == Number:
			n.said++
			n.add(tok.Text, 1, true, there)
		case !cited:
			n.Beside = append(n.Beside, tok.Text) // though its parts may be there
		}
	}
}

// cover weighs the words and figures of s.
func cover(s *sentence, tokens []Token, own, near []*Text) Coverage {
	n := tally{own: own, near: near}
	n.words(s)
	n.names(tokens)
	c := n.Coverage
	c.Empty = n.said <= 1 && len(tokens) == 0 && c.Strange == 0
	if n.total > 0 {
		c.Share, n.Share = n.all/n.total, n.all/n.total
		c.About = n.about() && len(c.Lost) == 0
	}
	if !c.About && len(c.Lost) == 0 && foreign(s.terms) {
		// its words cannot be in the lines
		c.About = n.hits >= leastOwn && n.cited > 0 && c.Share >= leastNamed
		c.byNames(tokens, append(slices.Clone(own), near...))
	}
	return c
}

// among reports whether a token occurs in some of the lines, their surroundings or the names of their
// files; the parts of a name may be in several of them.
func (t Token) among(own, near []*Text) bool {
	all := slices.Concat(own, near)
	if t.Kind == Number && !t.Version() {
		return slices.ContainsFunc(all, func(e *Text) bool { return e.Where(t) != "" })
	}
	var b strings.Builder
	for _, e := range all {
		if Names(e.place, t.Text) {
			return true
		}
		b.WriteString(e.place + "\n" + e.text + "\n")
	}
	return t.In(b.String())
}

// apart lists what some sentences name that the cited lines own do not contain: names, which may also be in
// the heads of the declarations around them, numbers and units. Code cannot decide it.
func apart(all []sentence, tokens []Token, own, heads []*Text) (out []string) {
	for _, t := range tokens {
		if t.Kind != Number && t.Kind != Path && !t.among(own, heads) {
			out = append(out, t.Text)
		}
	}
	add := func(what string, in func(*Text) bool) {
		if !slices.ContainsFunc(own, in) {
			out = append(out, what)
		}
	}
	for _, s := range all {
		for _, w := range s.terms {
			if u := units[w.text]; len(w.text) > 3 && (u.dim == duration || u.dim == size) &&
				!slices.Contains(singular, w.text) && s.number(w) == nil {
				add(w.text, func(e *Text) bool { return e.tells(u) >= 0 })
			}
		}
		for _, q := range s.nums {
			if q.version == "" && (!q.soft || q.values[0] > 2 || q.unit.dim != noDim) {
				add(q.text, func(e *Text) bool {
					return slices.ContainsFunc(e.nums, func(n quantity) bool {
						n.next = nil
						return e.beside(n.at, s.content) && q.same(n) &&
							(q.unit.dim == noDim || n.unit.dim == q.unit.dim ||
								e.tells(q.unit) >= 0 || q.bare(n))
					}) || e.tellsOne(q) >= 0
				})
			}
		}
	}
	return out
}

// beside reports whether the line at a byte, or one of the two above and the two below, has one of some
// words: the number of another line may be that of another name.
func (t *Text) beside(at int, some []term) bool {
	from, to := at, at
	for range 3 {
		from = max(strings.LastIndexByte(t.text[:max(from, 0)], '\n'), 0)
		if i := strings.IndexByte(t.text[min(to+1, len(t.text)):], '\n'); i >= 0 {
			to += i + 1
		} else {
			to = len(t.text)
		}
	}
	return len(some) == 0 || slices.ContainsFunc(t.terms, func(w term) bool {
		return w.at >= from && w.end <= to && has(some, w)
	})
}

// number returns the number in s that w is a word of, or nil.
func (s *sentence) number(w term) *quantity {
	for i, q := range s.nums {
		if q.at <= w.at && w.end <= q.end {
			return &s.nums[i]
		}
	}
	return nil
}

// tells returns where a text names a unit, -1 if it does not.
func (t *Text) tells(u unit) int {
	for _, w := range t.terms {
		if u.dim != noDim && len(w.text) > 1 && units[w.text] == u {
			return w.at
		}
	}
	return -1
}

// tellsOne returns where a text names the unit of q without a number, if q is one of it: one second, of the
// same second; -1 otherwise.
func (t *Text) tellsOne(q quantity) int {
	if !q.soft || !almostEqual(q.values[0], 1) {
		return -1
	}
	rest := &Text{terms: slices.DeleteFunc(slices.Clone(t.terms), func(w term) bool {
		return slices.ContainsFunc(t.nums, func(n quantity) bool { return n.at <= w.at && w.at < n.end })
	})}
	return rest.tells(q.unit)
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
	if len(c.Lost) > 0 {
		text += "; the lines do not hold " + list(c.Lost)
	}
	return text
}

// anglo are function words found in almost every English sentence and not in other languages.
var anglo = text.Set("the is are of and it that by when with its has which from this")

// negates reports whether a sentence of t contains a negation.
func (t *Text) negates() bool {
	for i := range t.sentences {
		if len(t.sentences[i].negations()) > 0 {
			return true
		}
	}
	return false
}

// heads returns the texts around the cited lines that say what they are part of: the path, and the heads of
// declarations.
func (f *Finding) heads() []*Text { return f.Around[min(len(f.Places), len(f.Around)):] }

// backs reports whether the lines cited by a reference can cover a sentence.
func (f *Finding) backs() bool { return f.Stands && f.Result != Contradicts }

// Lists reports whether a claim says only that names occur.
func (t *Text) Lists() bool {
	if t == nil {
		return false
	}
	rest := ticked.ReplaceAllString(t.text, " ")
	return rest != t.text && strings.Contains(rest, "stand") && !strings.ContainsAny(rest, "0123456789") &&
		!slices.ContainsFunc(content(terms(rest)), func(w term) bool {
			return !slices.Contains(meta, w.text)
		})
}

// Has reports whether a text contains all of some words.
func (t *Text) Has(all []string) bool {
	return !slices.ContainsFunc(all, func(w string) bool {
		return !has(t.terms, term{text: w, stem: stem(w)})
	})
}

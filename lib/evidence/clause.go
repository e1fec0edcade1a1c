package evidence

import (
	"slices"
	"strings"
	"unicode"

	"tri/lib/pattern"
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
	quiet   bool // it tells a condition
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
	for _, t := range c.terms {
		inside := func(h hit) bool { return !code && h.at <= t.at && t.end <= h.end && h.end-h.at > t.end-t.at }
		if len(content([]term{t})) > 0 && !slices.ContainsFunc(c.hits, inside) {
			c.content = append(c.content, t)
		}
	}
	c.negs = c.negated()
	return c
}

var perTime = pattern.New(`(\d)/(s|second|minute|hour|day|sec|min)\b`)

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
	by    string
	of    []term
	aside bool // in a subordinate clause
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
		if i > 0 && strings.ContainsAny(c.text[c.terms[i-1].end:t.at], ",;.:") {
			deep = false
		}
		deep = deep || l.clause[t.text]
		two := i+1 < len(c.terms) && l.not2[t.text+"-"+c.terms[i+1].text]
		if !l.not[t.text] && !two || slices.ContainsFunc(c.hits, func(h hit) bool { return h.at <= t.at && t.end <= h.end && h.text != t.text }) {
			continue
		}
		if glued(c.text, t.at, t.end) || strings.Count(c.text[:t.at], "`")%2 == 1 {
			continue
		}
		if i > 0 && strings.TrimSpace(c.text[c.terms[i-1].end:t.at]) == "," || i == 0 && t.text == "not" {
			continue
		}
		of := c.heads(i, t.text)
		if behind(t.text) {
			of = c.denied(i)
		}
		if len(of) > 0 {
			out = append(out, denial{t.text, of, deep && !c.code})
		}
	}
	if c.code && !strings.Contains(c.text, "&&") && !strings.Contains(c.text, "||") {
		for _, t := range banged(c.text) {
			out = append(out, denial{"!", []term{t}, false})
		}
	}
	return out
}

// heads are the words that say something behind the i-th, a negation, up to the
// next mark: the first; two behind no, which is said of a thing and means what
// happens to it; all behind neither … nor.
func (c *clause) heads(i int, by string) []term {
	l := words()
	most := 1
	switch by {
	case "no", "none", "nobody", "nothing", "without":
		most = 2
	case "neither", "nor":
		most = maxHead
	}
	var out []term
	for k := i + 1; k < len(c.terms) && k <= i+maxHead+most && len(out) < most; k++ {
		t := c.terms[k]
		if gap := c.text[c.terms[k-1].end:t.at]; strings.ContainsAny(gap, ".;,:") && (strings.Contains(gap, " ") || !glued(c.text, t.at, t.end)) {
			break
		}
		if t.text == "or" || t.text == "nor" || t.text == "atau" {
			continue
		}
		if l.stop[t.text] || l.light[t.text] || strings.HasSuffix(t.text, "ly") || t.text == "longer" || t.text == "than" || l.not[t.text] {
			continue
		}
		out = append(out, t)
		if k+1 < len(c.terms) && (c.terms[k+1].text == "or" || c.terms[k+1].text == "nor" || c.terms[k+1].text == "atau") {
			most++
		}
	}
	return out
}

var bang = pattern.New(`(?:^|[^!\w])!\s*\(?([A-Za-z_][\w.]*)`)

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
var sentenceEnd = pattern.New(`[.!?。！？]+(?:["')\]` + "`" + `]*)(?:\s+|$)|[。！？]+|;\s+|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s+|,\s+(?:but|while|whereas|tetapi|sedangkan)\s+|\s+-\s+|\s+—\s+`)

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

var (
	remarked = pattern.New(`^\s*(?://[/!]?|/\*\*?|\*/?|#+|--|;+|<!--|"""|''')\s?(.*?)\s*(?:\*/|-->|"""|''')?\s*$`)
	trailing = pattern.New(`^(.*?\S)\s+(?://|#)\s+(.*)$`)
	literal  = pattern.New(`"([^"\\]{12,300})"|'([^'\\]{12,300})'`)
	noCode   = pattern.New(`^\s*[\p{L}\d"'` + "`" + `(][^={}<>|]*[\p{L}\d.,:;!?)"'` + "`" + `]\s*$`)
)

// passages parts lines of a file into what can be compared with a claim: the
// sentences of its prose and remarks, and its lines of code. first is the number
// of the first line.
func passages(lines []string, first int, prose bool) []clause {
	var out []clause
	var text []string
	began := 0
	flush := func() {
		for _, s := range sentences(strings.Join(text, "\n")) {
			c := analyse(s, false)
			c.line = began
			out = append(out, c)
		}
		text = nil
	}
	say := func(s string, line int) {
		if len(text) == 0 {
			began = line
		}
		text = append(text, s)
	}
	for i, l := range lines {
		n := first + i
		if m := remarked.FindStringSubmatch(l); m != nil && !strings.HasPrefix(strings.TrimSpace(l), "#include") {
			say(m[1], n)
			continue
		}
		if sentenceLike(l, prose) {
			say(strings.TrimSpace(l), n)
			continue
		}
		flush()
		if m := trailing.FindStringSubmatch(l); m != nil {
			c := analyse(m[2], false)
			c.line = n
			out = append(out, c)
		}
		for _, m := range literal.FindAllStringSubmatch(l, 3) {
			if s := m[1] + m[2]; len(strings.Fields(s)) > 2 {
				c := analyse(s, false)
				c.line = n
				out = append(out, c)
			}
		}
		if strings.TrimSpace(l) != "" {
			c := analyse(l, true)
			c.line = n
			out = append(out, c)
			if i+1 < len(lines) && opens.MatchString(l) && !remarked.MatchString(lines[i+1]) {
				c := analyse(l+"\n"+lines[i+1], true)
				c.line = n
				out = append(out, c)
			}
		}
	}
	flush()
	return out
}

// opens is a condition whose consequence stands in the next line.
var opens = pattern.New(`^\s*(?:\}\s*)?(?:if|unless|elif|else if|when|case)\b`)

// closedLine is a line that ends a sentence in a script without spaces.
var closedLine = pattern.New(`[。！？]\s*$`)

const leastWords = 4 // of a line that is prose though no mark says so

// sentenceLike reports whether a line is prose: in a document, or inside a
// remark of several lines.
func sentenceLike(l string, prose bool) bool {
	if prose && isDense(l) && !strings.ContainsAny(l, "{}=") || closedLine.MatchString(l) {
		return true
	}
	if !noCode.MatchString(l) {
		return prose && len(strings.Fields(l)) >= leastWords && !strings.ContainsAny(l, "{}=")
	}
	n := 0
	for _, f := range strings.Fields(l) {
		if lettered.MatchString(f) && !strings.ContainsAny(f, "()_=<>[]{}") {
			n++
		}
	}
	return n >= leastWords && n*4 >= len(strings.Fields(l))*3 && !strings.HasSuffix(strings.TrimSpace(l), ";") || prose && n > 0
}

// isProse reports whether a file is a document.
func isProse(path string) bool {
	for _, e := range []string{".md", ".txt", ".rst", ".adoc", ".org", ".mdx", ".html"} {
		if strings.HasSuffix(strings.ToLower(path), e) {
			return true
		}
	}
	return false
}

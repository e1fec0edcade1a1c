package evidence

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tri/lib/base/lazyregexp"
)

// Text is a text prepared for comparison, parsed once: a claim, a draft, lines of a file.
type Text struct {
	place     string // file, or the name of the text
	first     int    // line of the file at which text begins; 0: prose
	text      string
	terms     []term
	content   []term // the significant terms, without duplicates
	nums      []quantity
	tokens    []Token    // of prose
	blocks    []string   // of prose: its fenced code
	sentences []sentence // of prose and of comments; each line of code is one
	values    []value    // assigned to names in code
}

// sentence is a part of a text that says one thing.
type sentence struct {
	text       string
	raw        string // as written, with its citations; set in prose
	line, last int    // of the file; 0: prose
	code       bool
	terms      []term
	content    []term
	nums       []quantity
}

func newSentence(text string, line int, code bool) sentence {
	all, nums := terms(text), quantities(text, code)
	if code {
		nums = append(nums, spelled(text)...)
	}
	return sentence{
		text: text, line: line, last: line, code: code, terms: all, content: distinct(content(all)),
		nums: nums,
	}
}

// FromText parses prose: a claim, a draft, a message. name refers to it in notes.
func FromText(name, text string) *Text {
	t := &Text{place: name, text: Fold(text), tokens: Tokens(text)}
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		t.blocks = append(t.blocks, m[1])
	}
	raw := blank(Fold(text), fenced)
	plain := blank(raw, address, cited, linesOf, counted) // these are not statements
	for _, at := range sentences(plain) {
		s := newSentence(plain[at[0]:at[1]], 0, false)
		s.raw = strings.Join(strings.Fields(raw[at[0]:at[1]]), " ")
		t.sentences = append(t.sentences, s)
	}
	t.finish(plain)
	return t
}

// FromLines parses lines of a file; first is the number of the first line.
func FromLines(path string, lines []string, first int) *Text {
	t := &Text{place: path, first: first, text: Fold(strings.Join(lines, "\n")),
		sentences: passages(lines, first)}
	for i, l := range lines {
		t.values = append(t.values, valuesOf(l, first+i)...)
	}
	t.finish(t.text)
	return t
}

func (t *Text) finish(words string) {
	t.terms = terms(words)
	t.content = distinct(content(t.terms))
	t.nums = slices.Concat(quantities(t.text, true), spelled(t.text))
}

// part returns the text of some lines, with the terms as parsed in the whole.
func (t *Text) part(from, to int) *Text {
	lines := strings.SplitAfter(t.text, "\n")
	from, to = max(from, t.first), min(to, t.first+len(lines)-1)
	if from > to {
		return &Text{place: t.place, first: from}
	}
	start := len(strings.Join(lines[:from-t.first], ""))
	p := &Text{place: t.place, first: from, text: strings.Join(lines[from-t.first:to+1-t.first], "")}
	end := start + len(p.text)
	for _, w := range t.terms {
		if w.at >= start && w.at < end {
			w.at, w.end = w.at-start, w.end-start
			p.terms = append(p.terms, w)
		}
	}
	for _, q := range t.nums {
		if q.at >= start && q.at < end {
			q.at, q.end = q.at-start, q.end-start
			p.nums = append(p.nums, q)
		}
	}
	for _, s := range t.sentences {
		if s.line <= to && s.last >= from {
			p.sentences = append(p.sentences, s)
		}
	}
	for _, v := range t.values {
		if v.line >= from && v.line <= to {
			p.values = append(p.values, v)
		}
	}
	p.content = distinct(content(p.terms))
	return p
}

// distinct removes terms whose stem occurred before.
func distinct(all []term) []term {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(t term) bool {
		had := seen[t.stem]
		seen[t.stem] = true
		return had
	})
}

// String returns the text; Place returns its file or name.
func (t *Text) String() string { return t.text }

func (t *Text) Place() string { return t.place }

// Tokens returns the names, paths, options and numbers of prose.
func (t *Text) Tokens() []Token { return t.tokens }

func (t *Text) at(line int) string {
	if line == 0 {
		return t.place
	}
	return fmt.Sprintf("%s:%d", t.place, line)
}

func (t *Text) lineOf(at int) int {
	if t.first == 0 {
		return 0
	}
	return t.first + strings.Count(t.text[:min(at, len(t.text))], "\n")
}

// Where returns the place in the text where a token occurs, or "" if it does not. A name of which only the
// parts occur is at the place as a whole.
func (t *Text) Where(tok Token) string {
	if tok.Kind == Number {
		for _, q := range slices.Concat(quantities(tok.Text, false), quantities(tok.Text, true)) {
			otherUnit := slices.ContainsFunc(t.nums, q.inOtherUnit)
			for _, n := range t.nums {
				if q.same(n) && !(n.unit.dim == noDim && (otherUnit || t.deniesUnit(q, n))) {
					return t.at(t.lineOf(n.at))
				}
			}
			if at := t.tellsOne(q); at >= 0 {
				return t.at(t.lineOf(at))
			}
		}
		return ""
	}
	if !tok.In(t.text) {
		return ""
	}
	if i := strings.Index(t.text, strings.TrimLeft(tok.Text, "-${./~")); i >= 0 {
		return t.at(t.lineOf(i))
	}
	return t.at(t.first)
}

// deniesUnit reports whether the lines beside a bare number name a unit, of the dimension of q, in which
// it is not q: 15, help="timeout in seconds", is not 15 minutes.
func (t *Text) deniesUnit(q, n quantity) bool {
	denied := false
	line := strings.Count(t.text[:min(n.at, len(t.text))], "\n")
	for _, w := range t.terms {
		u, ok := units[w.text]
		if !ok || u.dim != q.unit.dim || len(w.text) < 3 || slices.Contains(singular, w.text) {
			continue
		}
		if d := strings.Count(t.text[:min(w.at, len(t.text))], "\n") - line; d > Around || d < -Around {
			continue
		}
		if n.unit = u; q.same(n) {
			return false
		}
		denied = true
	}
	return denied
}

// singular are units that are also words of their own: every second day, the last minute.
var singular = strings.Fields("second minute hour day week month year min octet")

// Words returns the significant words of a text, without duplicates, as stems.
func (t *Text) Words() []string {
	out := make([]string, len(t.content))
	for i, w := range t.content {
		out[i] = w.stem
	}
	return out
}

// Shared returns those words of a text that occur, in any form, in one of others.
func (t *Text) Shared(others ...*Text) []string {
	var out []string
	for _, w := range t.content {
		if slices.ContainsFunc(others, func(o *Text) bool { return has(o.terms, w) }) {
			out = append(out, w.stem)
		}
	}
	return out
}

// Informative returns those words, of results of Words or Shared, that identify a subject. Words such as
// error and number occur in any text.
func Informative(stems []string) []string {
	common := commonStems()
	return slices.DeleteFunc(slices.Clone(stems), func(s string) bool { return common[s] })
}

var (
	commonStems = sync.OnceValue(func() map[string]bool { return stemsOf("common") })
	codeStems   = sync.OnceValue(func() map[string]bool { return stemsOf("code") })
	plainStems  = sync.OnceValue(func() map[string]bool { return stemsOf("plain") })
)

func stemsOf(kind string) map[string]bool {
	out := map[string]bool{}
	for w := range words().sets[kind] {
		out[stem(w)] = true
	}
	return out
}

var sentenceEnd = lazyregexp.New(`[.!?;]["')\]]*(?:\s+|$)|[。！？；]|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s`)

// sentences returns the ranges of the sentences of a text, without surrounding space.
func sentences(text string) [][2]int {
	var out [][2]int
	from := 0
	add := func(to int) {
		body := text[from:to]
		left := len(body) - len(strings.TrimLeft(body, " \t\r\n"))
		if body = strings.TrimSpace(body); body != "" {
			out = append(out, [2]int{from + left, from + left + len(body)})
		}
		from = to
	}
	for _, m := range sentenceEnd.FindAllStringIndex(text, -1) {
		if head := strings.ToLower(text[from:m[0]]); !strings.HasSuffix(head, "e.g") &&
			!strings.HasSuffix(head, "i.e") {
			add(m[1])
		}
	}
	add(len(text))
	return out
}

// blank returns a text with spaces in place of what the patterns match; offsets stay.
func blank(s string, patterns ...*lazyregexp.Pattern) string {
	for _, re := range patterns {
		s = re.ReplaceAllStringFunc(s, func(m string) string { return strings.Repeat(" ", len(m)) })
	}
	return s
}

var (
	remarked = lazyregexp.New(`^\s*(?://[/!]?|/\*\*?|\*/|\*(?:\s|$)|#+|--|;+|<!--|"""|''')\s?(.*?)\s*(?:\*/|-->|"""|''')?\s*$`)
	trailing = lazyregexp.New(`^(.*?\S)\s+(?://|#)\s+(.*)$`)
	proseish = lazyregexp.New(`^\s*[\p{L}\d"'` + "`" + `(][^={}<>|]*[\p{L}\d.,:;!?)"'` + "`" + `]\s*$`)
)

const leastWords = 4 // of an unmarked line that counts as prose

// passages splits lines of a file into the sentences of its comments and prose and its lines of code.
// first is the number of the first line.
func passages(lines []string, first int) []sentence {
	var out []sentence
	var text []string
	began := 0
	flush := func() {
		all := strings.Join(text, "\n")
		for _, at := range sentences(all) {
			s := newSentence(strings.Join(strings.Fields(all[at[0]:at[1]]), " "),
				began+strings.Count(all[:at[0]], "\n"), false)
			s.last = began + strings.Count(all[:at[1]], "\n")
			out = append(out, s)
		}
		text = nil
	}
	for i, l := range lines {
		said := ""
		switch m := remarked.FindStringSubmatch(l); {
		case m != nil && !strings.HasPrefix(strings.TrimSpace(l), "#include"):
			said = m[1]
		case isDense(l) || proseish.MatchString(l) && len(strings.Fields(l)) >= leastWords &&
			!strings.ContainsAny(l, "()_[]"):
			said = strings.TrimSpace(l)
		default:
			flush()
			out = append(out, codeLine(l, first+i)...)
			continue
		}
		if len(text) == 0 {
			began = first + i
		}
		text = append(text, said)
	}
	flush()
	return out
}

// codeLine returns a line of code and its trailing comment.
func codeLine(l string, line int) []sentence {
	var out []sentence
	if m := trailing.FindStringSubmatch(l); m != nil {
		l = m[1]
		out = append(out, newSentence(m[2], line, false))
	}
	if strings.TrimSpace(l) != "" {
		out = append(out, newSentence(l, line, true))
	}
	return out
}

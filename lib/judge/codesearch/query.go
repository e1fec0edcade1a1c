package codesearch

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

const (
	maxQuestion = 16 << 10 // bytes used of a question
	maxWants    = 32       // words used of a question: a mask of them has 64 bits with the raw names
	maxRead     = 256      // words looked up of a question; those with the most weight are used
	maxShort    = 40       // words; a longer question is a report, with what was tried and what happened
	maxRaw      = 16
)

// query is a question in terms of the index.
type query struct {
	wants   []want
	words   int      // wants that are not guesses, including those not found
	total   float64  // weight of all wants that are not guesses, including those not found
	raws    []string // names with . / : or - in them, lower case, to be found unchanged
	names   []string // whole names, as written
	missing []string
	typed   []typed
	frames  []string // files of the tracebacks of a report

	number, tests, use, callers bool // asked for: a number, tests, how something is used, where it is called
	report                      bool // longer than maxShort words
}

// declaredAs matches a name of one word that a question says is one: "func Fence".
var declaredAs = lazyregexp.New(`\b(?:func (\w{3,})|(?:function|method|type|struct|class|interface|const|constant) ([A-Z]\w{2,}))`)

// want is one term of a question, with the words that can stand for it.
type want struct {
	options []option // its own word first
	weight  float64  // rarity times the weight of its kind
	kind    float64
	name    bool // a whole name, such as MaxLine
	guess   bool // made of words that are separate in the question
}

// option is a word that can stand for a want.
type option struct {
	word   string
	factor float64 // applied to the want's weight
	posts  []posted
	rarity float64
}

// Weights of the kinds of words.
const (
	partWeight     = 0.45 // part of a name of several parts
	joinedWeight   = 0.3  // a name formed by several words of the question
	wordWeight     = 1.0  // a word, or a whole name of several parts
	everydayWeight = 0.5  // a word of everyday
	phraseWeight   = 1.2  // the meaning of an idiom
	quotedWeight   = 1.5  // in backticks
	proseShare     = 0.8  // a word found only in comments
	pairWeight     = 0.2  // a pair of characters of a script without spaces that is not found

	alikeFactor = 0.8 // a word from the same line of alike
)

// query analyzes a question.
func (x *Index) query(question string) *query {
	q := &query{report: len(strings.Fields(question)) > maxShort}
	parts := []section{{text: question, share: 1}}
	if q.report {
		if len(question) > maxQuestion {
			question = strings.ToValidUTF8(question[:maxQuestion], "")
		}
		question = x.asked(question)
		parts = sections(question)
		for _, part := range parts {
			if part.trace {
				q.frames = part.frames()
			}
		}
	}
	question = clean(question)
	q.kinds(question)
	q.raws = rawNames(question)
	q.typed = x.typed(question)
	seen := map[string]bool{}
	for _, part := range parts {
		from := len(q.wants)
		for i, piece := range strings.Split(clean(part.text), "`") {
			runs([]byte(piece), func(run []byte) { x.ask(q, run, i%2 == 1, seen) })
		}
		for i := range q.wants[from:] {
			w := &q.wants[from+i]
			if w.kind *= part.share; q.report && w.name && !part.trace {
				w.kind *= nameShare
			}
		}
	}
	q.wants = q.wants[:min(len(q.wants), maxRead)]
	x.joined(q, question, seen)
	for _, m := range declaredAs.FindAllStringSubmatch(question, -1) {
		q.names = append(q.names, m[1]+m[2])
	}
	q.said(question, seen)
	for i := range q.wants {
		x.weigh(q, &q.wants[i])
	}
	q.wants = slices.DeleteFunc(q.wants, func(w want) bool { return len(w.options) == 0 })
	slices.SortStableFunc(q.wants, func(a, b want) int { return cmp.Compare(b.weight, a.weight) })
	q.wants = q.wants[:min(len(q.wants), maxWants)]
	if q.report {
		q.total = 0 // no passage contains everything in a report
		for _, w := range q.wants {
			if !w.guess {
				q.total += w.weight
			}
		}
	}
	return q
}

// kinds determines the kind of answer asked for.
func (q *query) kinds(question string) {
	low := " " + strings.ToLower(question) + " "
	has := func(cues ...string) bool {
		return slices.ContainsFunc(cues, func(c string) bool { return strings.Contains(low, c) })
	}
	q.number = has(" how many", " how long", " how often", " how big", " how large", " how much", " how wide",
		" how deep", " how small",
		"maximum", "minimum", " max ", " min ", " limit", "default", "timeout", " which port", " what port",
		" what size", "exit status", "exit code", " berapa")
	q.use = !q.report && has(" how do i ", " how do we ", " how to ", " how can i ", " how can we ",
		" how would i ", " example", " usage", " gimana cara", " bagaimana cara")
	q.tests = !q.report && has(" test", " tes ")
	q.callers = !q.report && has(" who calls ", " what calls ", " who uses ", " what uses ", " called from ",
		" used from ", " callers of ")
}

// ask adds the wants of one run of the question.
func (x *Index) ask(q *query, run []byte, quoted bool, seen map[string]bool) {
	low := strings.ToLower(string(run))
	if stopWords[low] && !quoted {
		return
	}
	if english := glossary[low]; english != "" {
		run = []byte(english)
	}
	compound := isName(run)
	x.lex.words(run, func(word []byte, compoundWord bool) {
		if strings.ContainsAny(asking, string(word)) || seen[string(word)] {
			return
		}
		seen[string(word)] = true
		w := want{kind: wordWeight, name: compoundWord && compound}
		switch {
		case compoundWord:
		case compound:
			w.kind = partWeight
		case quoted:
			w.kind = quotedWeight
		}
		if everyday[string(word)] && !quoted {
			w.kind *= everydayWeight
		}
		w.options = []option{{word: string(word), factor: 1}, {word: otherName(string(word)), factor: 1}}
		if !compoundWord {
			for _, other := range alikes[string(word)] {
				w.options = append(w.options, option{word: other, factor: alikeFactor})
			}
		}
		if !x.stands(string(word)) && !x.stands(otherName(string(word))) {
			switch {
			case compoundWord && compound:
				q.missing = append(q.missing, string(run))
			case spaceless(firstRune(word)):
				w.kind *= pairWeight
			}
		}
		if w.name {
			q.names = append(q.names, string(run))
		}
		q.wants = append(q.wants, w)
	})
}

// joined adds names that neighbouring words of the question form: the "maximum line" length is MaxLine, if
// that exists.
func (x *Index) joined(q *query, question string, seen map[string]bool) {
	var words []string
	runs([]byte(question), func(run []byte) {
		low := strings.ToLower(string(run))
		if stopWords[low] || len(run) < 2 || len(run) > maxRun {
			return
		}
		if english := glossary[low]; english != "" {
			low = english
		}
		if short, ok := same[string(stem([]byte(low)))]; ok {
			low = string(short)
		}
		words = append(words, low)
	})
	add := func(parts ...string) {
		name := string(stem([]byte(strings.Join(parts, ""))))
		if !seen[name] && !seen[otherName(name)] && (x.stands(name) || x.stands(otherName(name))) {
			seen[name] = true
			q.wants = append(q.wants,
				want{options: []option{{word: name, factor: 1}, {word: otherName(name), factor: 1}},
					kind: joinedWeight, name: true, guess: true})
		}
	}
	for i := range words {
		for n := 2; n <= 3 && i+n <= len(words); n++ {
			add(words[i : i+n]...)
		}
		if i+2 < len(words) {
			add(words[i], words[i+2]) // the maximum length of a line
		}
	}
}

// otherName returns the alternative form of a name in the index: in one piece, or in several parts.
func otherName(word string) string {
	if word[0] == whole {
		return word[1:]
	}
	return string(whole) + word
}

// said adds the meanings of idioms.
func (q *query) said(question string, seen map[string]bool) {
	low := " " + strings.ToLower(question) + " "
	for _, line := range lists["phrase"] {
		idiom, meant, _ := strings.Cut(line, ": ")
		if !strings.Contains(low, " "+idiom) {
			continue
		}
		w := want{kind: phraseWeight, guess: true}
		for _, word := range strings.Fields(meant) {
			word = string(fold(stem([]byte(word))))
			if !seen[word] {
				w.options = append(w.options, option{word: word, factor: 1})
			}
		}
		if len(w.options) > 0 {
			q.wants = append(q.wants, w)
		}
	}
}

// weigh looks up a want: the passages with its words, and its rarity.
func (x *Index) weigh(q *query, w *want) {
	own := math.Inf(1)
	for i := range w.options {
		o := &w.options[i]
		o.posts = x.posts(o.word)
		o.rarity = x.rarity(len(o.posts))
		if i == 0 && len(o.posts) > 0 && !w.guess {
			own = o.rarity
		}
		o.rarity = min(o.rarity, 1.2*own)
	}
	if !w.guess {
		w.kind *= proseShare + (1-proseShare)*coded(w.options[0].posts)
	}
	w.weight = w.kind * w.options[0].rarity
	if !w.guess {
		q.words++
		q.total += w.weight
	}
	w.options = slices.DeleteFunc(w.options, func(o option) bool { return len(o.posts) == 0 })
	if w.guess && len(w.options) > 0 {
		w.weight = 0
		for _, o := range w.options {
			w.weight = max(w.weight, w.kind*o.rarity)
		}
	}
}

// coded returns how much a word belongs to the code rather than only to its comments: the square root of
// the share of its passages in which it is in names or code.
func coded(posts []posted) float64 {
	n := 0
	for _, p := range posts {
		if p.fields.names() > 0 || p.fields.codes() > 0 {
			n++
		}
	}
	return math.Sqrt(float64(n) / float64(max(len(posts), 1)))
}

// rarity returns BM25's inverse document frequency. A word in no passage counts as in one.
func (x *Index) rarity(passages int) float64 {
	n, df := float64(x.passages()), float64(max(passages, 1))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// isName reports whether a run is a name of several parts rather than a word.
func isName(run []byte) bool {
	run = bytes.Trim(run, "_")
	if bytes.IndexByte(run, '_') > 0 {
		return true
	}
	small := false
	for _, c := range run {
		if small && 'A' <= c && c <= 'Z' {
			return true
		}
		small = small || 'a' <= c && c <= 'z'
	}
	return false
}

// clean removes mentions, addresses and excess length from a question.
func clean(question string) string {
	if len(question) > maxQuestion {
		question = strings.ToValidUTF8(question[:maxQuestion], "")
	}
	fields := strings.FieldsFunc(question, unicode.IsSpace)
	fields = slices.DeleteFunc(fields, func(f string) bool {
		return strings.HasPrefix(f, "@") || strings.HasPrefix(f, "<@") || strings.Contains(f, "://")
	})
	return strings.Join(fields, " ")
}

// rawNames returns the words of a question joined by . / : or -, such as paths, programs, flags and file
// names.
func rawNames(question string) []string {
	var names []string
	for _, f := range strings.Fields(question) {
		f = strings.ToLower(strings.TrimFunc(f, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
		}))
		inner := strings.Trim(f, "-")
		joined := strings.ContainsAny(inner, "./:-") || strings.HasPrefix(f, "--")
		if joined && len(inner) >= 3 && len(f) <= 200 && !slices.Contains(names, f) && len(names) < maxRaw {
			names = append(names, f)
		}
	}
	return names
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

// count returns how many different words of the question are in a mask.
func (q *query) count(mask uint64) int {
	n := 0
	for i, w := range q.wants {
		if mask&(1<<i) != 0 && !w.guess {
			n++
		}
	}
	return n
}

// exactIn reports whether a hit contains a whole name of the question.
func (q *query) exactIn(h Hit) bool {
	text := strings.ToLower(strings.Join(h.Lines, "\n"))
	for _, raw := range q.raws {
		if strings.Contains(text, raw) {
			return true
		}
	}
	squeezed := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
	return slices.ContainsFunc(q.names, func(n string) bool {
		return strings.Contains(squeezed, strings.ToLower(strings.ReplaceAll(n, "_", "")))
	})
}

package rank

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxQuestion = 4 << 10 // bytes that are looked at
	maxQuery    = 32      // terms; a mask of them is 64 bits with the raw names
	maxRaw      = 16
)

// query is a question in the words of the index.
type query struct {
	terms   []term   // those that stand somewhere, the weightiest first
	total   float64  // weight of all terms, also of those that stand nowhere
	raws    []string // names with . / : - in them, lower case, to be found as they are
	names   []string // whole names, lower case, without underscores
	missing []string
}

type term struct {
	id     uint32
	weight float64 // rarity times what kind of word it is
	name   bool    // a whole name, as in MaxLine
	guess  bool    // joined of words that stand apart in the question
}

// Weights of the kinds of words.
const (
	nameWeight    = 1.6  // a whole name of several parts
	partWeight    = 0.45 // a part of such a name
	joinedWeight  = 1.0  // a name that words of the question make together
	wordWeight    = 1.0
	quotedWeight  = 1.5 // in backticks
	unknownWeight = 0.7 // of a plain word that stands nowhere: it may be politeness
	pairWeight    = 0.2 // a pair of characters of a spaceless script that stands nowhere
)

// query reads a question.
func (x *Index) query(question string) *query {
	q := &query{}
	question = clean(question)
	q.raws = rawNames(question)
	seen := map[string]int{} // word → index in all
	var all []term
	quoted := false
	for i, piece := range strings.Split(question, "`") {
		quoted = i%2 == 1
		runs([]byte(piece), func(run []byte) {
			x.ask(q, run, quoted, func(word []byte, t term) {
				if k, ok := seen[string(word)]; ok {
					all[k].weight = max(all[k].weight, t.weight)
					return
				}
				seen[string(word)] = len(all)
				all = append(all, t)
			})
		})
	}
	for _, t := range all {
		q.total += t.weight
	}
	all = append(all, x.joined(question, seen)...)
	q.terms = slices.DeleteFunc(all, func(t term) bool { return t.id == unknown })
	slices.SortStableFunc(q.terms, func(a, b term) int { return cmp.Compare(b.weight, a.weight) })
	q.terms = q.terms[:min(len(q.terms), maxQuery)]
	return q
}

const unknown = math.MaxUint32

// joined are the names that neighbouring words of the question make: who asks for
// the "maximum line" length means MaxLine, if there is one.
func (x *Index) joined(question string, seen map[string]int) []term {
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
	var found []term
	add := func(weight float64, parts ...string) {
		name := stem([]byte(strings.Join(parts, "")))
		id, ok := x.ids[string(name)]
		if _, asked := seen[string(name)]; ok && !asked && x.df[id] > 0 {
			found = append(found, term{id: id, weight: weight * x.rarity(id), name: true, guess: true})
		}
	}
	for i := range words {
		for n := 2; n <= 3 && i+n <= len(words); n++ {
			add(joinedWeight, words[i:i+n]...)
		}
		if i+2 < len(words) {
			add(joinedWeight, words[i], words[i+2]) // the maximum length of a line
		}
	}
	return found
}

// ask gives fn the terms of one run of the question.
func (x *Index) ask(q *query, run []byte, quoted bool, fn func([]byte, term)) {
	low := strings.ToLower(string(run))
	if stopWords[low] && !quoted {
		return
	}
	if english := glossary[low]; english != "" {
		run = []byte(english)
	}
	compound := isName(run)
	var lex lexer
	lex.words(run, func(word []byte, whole bool) {
		if strings.ContainsAny(asking, string(word)) {
			return
		}
		kind := wordWeight
		switch {
		case whole:
			kind = nameWeight
		case compound:
			kind = partWeight
		case quoted:
			kind = quotedWeight
		}
		id, ok := x.ids[string(word)]
		if !ok || x.df[id] == 0 {
			id = unknown
			switch {
			case whole && compound:
				q.missing = append(q.missing, string(run))
			case spaceless(firstRune(word)):
				kind *= pairWeight
			case !compound && !quoted:
				kind *= unknownWeight
			}
		}
		if whole && compound {
			q.names = append(q.names, strings.ReplaceAll(low, "_", ""))
		}
		fn(word, term{id: id, weight: kind * x.rarity(id), name: whole && compound})
	})
}

// rarity is BM25's inverse document frequency; what stands nowhere is as rare as
// what stands in one file.
func (x *Index) rarity(id uint32) float64 {
	n, df := float64(len(x.order)), 1.0
	if id != unknown {
		df = float64(x.df[id])
	}
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// isName reports whether a run is a name made of parts, as nobody writes a word.
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

// clean takes away what is no part of a question: mentions, addresses, excess.
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

// rawNames are the words of a question that are joined by . / : or -, as paths,
// programs, flags and file names are.
func rawNames(question string) []string {
	var names []string
	for _, f := range strings.Fields(question) {
		f = strings.ToLower(strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }))
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

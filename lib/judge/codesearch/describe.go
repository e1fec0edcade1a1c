package codesearch

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/judge/declaration"
)

const (
	maxDescribing = 16  // files read for one description
	maxBody       = 60  // lines of a declaration whose words count
	ofNumbers     = 0.3 // of a word of beside
)

// beside are words that a name of a number may have beside those of a question, and a question beside those
// of the name.
var beside = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range stems(`max maximum min minimum most least limit default number num count size length
		per many much long often big large high deep wide small allow time value second minute millisecond
		option`) {
		set[string(fold([]byte(w)))] = true
	}
	return set
}()

// Features are the names of what is known of a declaration that a description may mean, in the order of
// Meant.Features. The first four are shares of the description's weight; a word counts for the first that
// has it.
var Features = []string{"name", "owner", "comment", "body",
	"strange", // the share of the name that the description has not
	"found",   // the score of the best passage in it, against that of all
	"first",   // it has the best passage of all
	"documented", "type", "function", "aside",
	"plain", // a name of one word
	"any"}

const (
	ofName = iota
	ofOwner
	ofComment
	ofBody
	isStrange
	isFound
	isFirst
	isDocumented
	isType
	isFunction
	isAside
	isPlain
	isAny
	numFeatures
)

//go:embed meant.txt
var fitted string

// likely are the weights of the features, by what is asked for; scripts/bench/judgement fits them.
var likely = func() map[string][numFeatures]float64 {
	all := map[string][numFeatures]float64{}
	for name, lines := range text.Sections(fitted) {
		var w [numFeatures]float64
		for _, line := range lines {
			feature, weight, _ := strings.Cut(line, " ")
			w[slices.Index(Features, feature)], _ = strconv.ParseFloat(weight, 64)
		}
		all[name] = w
	}
	return all
}()

// Meant is a declaration that a description may mean.
type Meant struct {
	Definition
	Features [numFeatures]float64
	Score    float64 // the probability that this one is meant
}

// Shared returns the share of the description's weight that the declaration has.
func (m Meant) Shared() float64 {
	return m.Features[ofName] + m.Features[ofOwner] + m.Features[ofComment] + m.Features[ofBody]
}

// Described returns the declarations that a description may mean, the best first: of those that fit and are
// in the files that a search of it finds. as is "option" or "thing", a section of meant.txt.
func (x *Index) Described(description, as string, fit func(Definition) bool) []Meant {
	x.mu.Lock()
	defer x.mu.Unlock()
	q := x.query(description)
	hits, _ := x.examined(q, x.best(q))
	var all []Meant
	seen := map[string]bool{}
	for _, h := range hits {
		if seen[h.Path] || len(seen) == maxDescribing || !declaration.Known(h.Path) {
			continue
		}
		seen[h.Path] = true
		body, err := x.text(h.Path)
		if err != nil || kindOf(h.Path, body) != source {
			continue
		}
		lines := split(body)
		for _, d := range declaration.Read(h.Path, body) {
			of := Definition{h.Path, d, lines, typesOnly(h.Path)}
			if fit(of) && !inTests(h.Path, lines, d.Line) {
				if m := x.means(q, of, hits); m.Features[ofName] > 0 || m.Features[isFound] > 0 {
					all = append(all, m)
				}
			}
		}
	}
	chances(all, likely[as])
	slices.SortStableFunc(all, func(a, b Meant) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// chances sets the scores: the odds of each against that none is meant are those of a logistic model.
func chances(all []Meant, weights [numFeatures]float64) {
	sum := 1.0
	for i := range all {
		logit := 0.0
		for k, f := range all[i].Features {
			logit += f * weights[k]
		}
		all[i].Score = math.Exp(logit)
		sum += all[i].Score
	}
	for i := range all {
		all[i].Score /= sum
	}
}

// foundIn returns the score of the best passage in the lines of a declaration, against that of all. The
// members of a type are no part of it, unless they are its values.
func foundIn(d Definition, hits []Hit) float64 {
	from, to := d.Start, d.End
	if d.Kind == declaration.Type && len(d.Members) == 0 {
		to = d.Line
	}
	for _, h := range hits {
		if h.Path == d.Path && (h.Start <= d.Line && d.Line <= h.End && d.Kind != declaration.Field ||
			from <= h.BestEnd && h.BestStart <= to) {
			return h.Score / hits[0].Score
		}
	}
	return 0
}

// inner matches where a second word of a name begins.
var inner = lazyregexp.New(`[_.-]|[a-z][A-Z]`)

// means returns how a declaration matches a description.
func (x *Index) means(q *query, d Definition, hits []Hit) Meant {
	m := Meant{Definition: d}
	f := &m.Features
	var places [4]map[string]bool
	_, comment := d.Comment(d.Lines)
	for i, text := range []string{d.Name, d.Owner + " " + d.Path, strings.Join(comment, " "),
		strings.Join(d.Lines[d.Line-1:min(max(d.End, d.Line), d.Line+maxBody, len(d.Lines))], " ")} {
		places[i] = map[string]bool{}
		x.stems(text, func(word string) { places[i][word] = true })
	}
	for word := range places[ofName] {
		if q.standsFor([]byte(word)) == 0 && !beside[word] {
			f[isStrange] += 1 / float64(len(places[ofName]))
		}
	}
	total := 0.0
	for _, w := range q.wants {
		if w.guess || w.name {
			continue
		}
		weight := w.weight
		if beside[w.options[0].word] {
			weight *= ofNumbers
		}
		total += weight
		for i, has := range places {
			best := 0.0
			for _, o := range w.options {
				if has[o.word] {
					best = max(best, o.factor)
				}
			}
			if f[i] += best * weight; best > 0 {
				break
			}
		}
	}
	for i := range places {
		f[i] /= max(total, 0.01)
	}
	f[isFound] = foundIn(d, hits)
	for i, is := range map[int]bool{
		isFirst: f[isFound] == 1, isDocumented: d.Doc != "", isType: d.Kind == declaration.Type,
		isAside:    d.Aside,
		isFunction: d.Kind == declaration.Function || d.Kind == declaration.Method,
		isPlain:    !inner.MatchString(strings.Trim(d.Name, "_#")), isAny: true,
	} {
		if is {
			f[i] = 1
		}
	}
	return m
}

// stems calls fn for each stemmed word of a text.
func (x *Index) stems(text string, fn func(word string)) {
	runs([]byte(text), func(run []byte) {
		x.lex.words(run, func(word []byte, whole bool) {
			if !whole {
				fn(string(word))
			}
		})
	})
}

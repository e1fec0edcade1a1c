package codesearch

import (
	"cmp"
	"slices"
	"strings"

	"tri/lib/judge/declaration"
)

const (
	maxDescribing = 16  // files read for one description
	ofOwner       = 0.8 // of a word's weight, in the name of what a declaration belongs to, or of its file
	ofComment     = 0.7 // in its comment
	strange       = 0.1 // of the score, for each word of its name that the description has not
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

// Meant is a declaration that a description may mean.
type Meant struct {
	Definition
	Words int     // how many words of the description it has
	Score float64 // the share of the description's weight that its name, owner and comment have, at most 1
}

// Described returns the declarations of sources that a description may mean, the best first: of those that
// fit and are in the files that a search of it finds.
func (x *Index) Described(description string, fit func(Definition) bool) []Meant {
	x.mu.Lock()
	defer x.mu.Unlock()
	q := x.query(description)
	var all []Meant
	seen := map[string]bool{}
	for _, p := range x.best(q) {
		documents := p.documents()
		if seen[p.path] || p.aside() && !documents || len(seen) == maxDescribing ||
			!declaration.Known(p.path) && !documents {
			continue
		}
		seen[p.path] = true
		text, err := x.text(p.path)
		if err != nil {
			continue
		}
		lines := split(text)
		read := declaration.Read(p.path, text)
		if documents {
			read = declaration.Options(text)
		}
		for _, d := range read {
			if of := (Definition{p.path, d, lines, false}); fit(of) && !inTests(p.path, lines, d.Line) {
				if m := x.means(q, of); m.Score > 0 {
					all = append(all, m)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Meant) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// means returns how well a declaration matches a description; the score is 0 if no word of it is in the name.
func (x *Index) means(q *query, d Definition) Meant {
	m := Meant{Definition: d}
	name, extra := map[string]bool{}, 0
	x.stems(d.Name, func(word string) {
		if name[word] = true; q.standsFor([]byte(word)) == 0 && !beside[word] {
			extra++
		}
	})
	owner, comment := map[string]bool{}, map[string]bool{}
	x.stems(d.Owner+" "+d.Path, func(word string) { owner[word] = true })
	_, text := d.Comment(d.Lines)
	x.stems(strings.Join(text, " "), func(word string) { comment[word] = true })
	total, sum, own := 0.0, 0.0, 0.0
	for _, w := range q.wants {
		if w.guess || w.name {
			continue
		}
		weight := w.weight
		if beside[w.options[0].word] {
			weight *= ofNumbers
		}
		total += weight
		best := 0.0
		for _, o := range w.options {
			switch {
			case name[o.word]:
				best = max(best, o.factor)
				own += o.factor * weight
			case owner[o.word]:
				best = max(best, ofOwner*o.factor)
			case comment[o.word]:
				best = max(best, ofComment*o.factor)
			}
		}
		if sum += best * weight; best > 0 {
			m.Words++
		}
	}
	if own > 0 {
		m.Score = sum / total * (1 - min(0.5, strange*float64(extra)))
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

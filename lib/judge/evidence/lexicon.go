package evidence

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// lexicons are the words by which claims are compared, one file a language. They
// count together, whatever language a text is in: an Indonesian draft speaks of
// English comments.
//
//go:embed lexicon/*.txt
var lexicons embed.FS

// lexicon is all of lexicons, read.
type lexicon struct {
	stop, light, not, quiet, clause, exists, deed map[string]bool

	number map[string]float64 // of a word
	form   map[string]string  // the stem of a word that stemming misses
	axes   []axis
	begin  map[string][]phrase // of the axes, by their first word, the longest first
	on     map[string][]where  // of a phrase

	not2, soft, turn map[string]bool // rather than; fails; unless
	dense            map[string]bool // all of scripts without spaces
	common           map[string]bool // what stands in talk of anything

	// Of the parts of a sentence.
	when, which, because, finite, andThen, goesWith, saying, begins, only, usual,
	hedge, again, pronoun, does, copula, even, apposed, anaphor map[string]bool
}

// axis is a pair, or more, of words that exclude each other.
type axis struct {
	sides [][]string
	order bool // what they stand between matters
	state bool // of a switch: a second word of a line turns the first around
}

// phrase is the words of one side of an axis.
type phrase struct {
	words []string
	on    []where
}

// where is a phrase's place in the axes.
type where struct{ axis, side int }

var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{
		stop: map[string]bool{}, light: map[string]bool{}, not: map[string]bool{}, quiet: map[string]bool{}, clause: map[string]bool{},
		exists: map[string]bool{}, deed: map[string]bool{}, number: map[string]float64{}, form: map[string]string{}, on: map[string][]where{},
		not2: map[string]bool{}, soft: map[string]bool{}, turn: map[string]bool{}, dense: map[string]bool{},
		when: map[string]bool{}, which: map[string]bool{}, because: map[string]bool{}, finite: map[string]bool{}, andThen: map[string]bool{}, goesWith: map[string]bool{}, saying: map[string]bool{}, begins: map[string]bool{}, only: map[string]bool{}, usual: map[string]bool{}, hedge: map[string]bool{}, again: map[string]bool{}, pronoun: map[string]bool{}, does: map[string]bool{}, copula: map[string]bool{}, even: map[string]bool{}, apposed: map[string]bool{}, anaphor: map[string]bool{}, common: map[string]bool{},
	}
	names, err := fs.Glob(lexicons, "lexicon/*.txt")
	if err != nil {
		panic(err) // the pattern is above
	}
	for _, name := range names {
		text, err := lexicons.ReadFile(name)
		if err != nil {
			panic(err) // it is in the program
		}
		for n, line := range strings.Split(string(text), "\n") {
			if err := l.read(line); err != nil {
				panic(fmt.Sprintf("%s:%d: %v", name, n+1, err)) // a test reads them all
			}
		}
	}
	l.compile()
	return l
})

// read takes in one line of a lexicon.
func (l *lexicon) read(line string) error {
	kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	sets := map[string]map[string]bool{"stop": l.stop, "light": l.light, "not": l.not, "quiet": l.quiet, "clause": l.clause, "exists": l.exists, "deed": l.deed, "not2": l.not2, "soft": l.soft, "turn": l.turn,
		"when": l.when, "which": l.which, "because": l.because, "finite": l.finite, "and": l.andThen, "with": l.goesWith, "saying": l.saying, "begins": l.begins, "only": l.only, "usual": l.usual, "hedge": l.hedge, "again": l.again, "pronoun": l.pronoun, "does": l.does, "copula": l.copula, "even": l.even, "apposed": l.apposed, "anaphor": l.anaphor, "common": l.common,
	}
	switch set := sets[kind]; {
	case kind == "" || strings.HasPrefix(kind, "#"):
	case set != nil:
		for _, w := range strings.Fields(rest) {
			set[w] = true
		}
	case kind == "number":
		of := strings.Fields(rest)
		n, err := strconv.ParseFloat(of[0], 64)
		if err != nil {
			return err
		}
		for _, w := range of[1:] {
			l.number[w] = n
		}
	case kind == "form":
		for _, w := range strings.Fields(rest) {
			l.form[w] = strings.Fields(rest)[0]
		}
	case kind == "oppose" || kind == "order" || kind == "state":
		a := axis{order: kind == "order", state: kind == "state"}
		for _, side := range strings.Split(rest, "|") {
			var all []string
			for _, p := range strings.Split(side, ",") {
				all = append(all, strings.TrimSpace(p))
			}
			a.sides = append(a.sides, all)
		}
		l.axes = append(l.axes, a)
	default:
		return fmt.Errorf("kind %q is not known", kind)
	}
	return nil
}

func (l *lexicon) compile() {
	for _, set := range []map[string]bool{l.stop, l.not, l.not2, l.soft, l.quiet, l.clause} {
		for w := range set {
			l.dense[w] = isDense(w)
		}
	}
	l.begin = map[string][]phrase{}
	index := map[string]int{}
	for i, a := range l.axes {
		for j, side := range a.sides {
			for _, p := range side {
				l.dense[p] = isDense(p)
				l.on[p] = append(l.on[p], where{i, j})
				w := split2(p)
				all := l.begin[w[0]]
				if k, ok := index[p]; ok {
					all[k].on = append(all[k].on, where{i, j})
					continue
				}
				index[p] = len(all)
				l.begin[w[0]] = append(all, phrase{w, []where{{i, j}}})
			}
		}
	}
	for _, all := range l.begin {
		slices.SortStableFunc(all, func(a, b phrase) int { return len(b.words) - len(a.words) })
	}
}

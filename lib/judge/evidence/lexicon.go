package evidence

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// lexicons are the words by which texts are compared, one file per language. All apply to every text: an
// Indonesian draft may be about English comments.
//
//go:embed lexicon/*.txt
var lexicons embed.FS

// lexicon holds the parsed lexicons.
type lexicon struct {
	sets   map[string]map[string]bool // by kind: stop, light, not, bound, common, code, plain
	number map[string]float64         // of a word
	form   map[string]string          // the stem of an irregular form
	dense  map[string]bool            // words of scripts without spaces
	other  map[string]bool            // function words of languages other than English
}

var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{sets: map[string]map[string]bool{}, number: map[string]float64{}, form: map[string]string{},
		dense: map[string]bool{}, other: map[string]bool{}}
	for _, kind := range []string{"stop", "light", "not", "bound", "common", "code", "plain"} {
		l.sets[kind] = map[string]bool{}
	}
	names, err := fs.Glob(lexicons, "lexicon/*.txt")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names {
		text, err := lexicons.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		for n, line := range strings.Split(string(text), "\n") {
			if err := l.read(line, name != "lexicon/en.txt"); err != nil {
				panic(fmt.Sprintf("%s:%d: %v", name, n+1, err)) // a test reads them all
			}
		}
	}
	return l
})

// read parses one line of a lexicon.
func (l *lexicon) read(line string, other bool) error {
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return nil
	}
	switch kind, all := fields[0], fields[1:]; {
	case l.sets[kind] != nil:
		for _, w := range all {
			english := l.sets["stop"][w] || l.sets["not"][w] // en.txt is read first
			l.sets[kind][w] = true
			l.dense[w] = isDense(w)
			l.other[w] = other && !english
		}
	case kind == "number" && len(all) > 0:
		n, err := strconv.ParseFloat(all[0], 64)
		if err != nil {
			return err
		}
		for _, w := range all[1:] {
			l.number[w] = n
		}
	case kind == "form" && len(all) > 0:
		for _, w := range all {
			l.form[w] = all[0]
		}
	default:
		return fmt.Errorf("kind %q is not known", kind)
	}
	return nil
}

// is reports whether a word is in a set.
func (l *lexicon) is(kind, word string) bool { return l.sets[kind][word] }

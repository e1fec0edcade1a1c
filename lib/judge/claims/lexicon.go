// Package claims splits a draft into claims and compares each with the lines that it
// cites.
package claims

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"tri/lib/base/text"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// section is one list of phrases of a language; lexicon/README describes each.
type section int

const (
	opener section = iota
	smell
	certain
	surer
	shaky
	advice
	behind
	then
	change
	rollback
	revert
	remove
	data
	operate
	production
	act
	restrict
	customer
	handle
	secret
	weaken
	guard
	drift
	doubt
	knowing
	self
	denial
	chance
	astray
	assured
	dispute
	nSections
)

var sectionNames = [nSections]string{
	"opener", "smell", "certain", "surer", "shaky", "advice", "behind", "then", "change",
	"rollback", "revert", "remove", "data",
	"operate", "production", "act", "restrict", "customer", "handle", "secret", "weaken", "guard", "drift",
	"doubt", "knowing", "self", "denial", "chance", "astray", "assured", "dispute",
}

// lexicon holds the phrases of all languages by their beginnings, so that one pass over a text finds them
// all.
type lexicon struct {
	langs []string
	// verbLast is by language: it has advice that follows its verb.
	verbLast []bool
	words    map[string][]wording // by first word
	stems    map[string][]wording // by the first two letters of a first word that is a prefix
	letters  map[rune][]wording   // in scripts without spaces, by first letter
}

// wording is one phrase.
type wording struct {
	key   int // language and section
	words []string
	text  string // set in scripts without spaces
}

func (s section) of(lang int) int { return lang*int(nSections) + int(s) }

// theLexicon is read on first use: most programs never need it.
var theLexicon = sync.OnceValue(func() *lexicon {
	l := &lexicon{words: map[string][]wording{}, stems: map[string][]wording{}, letters: map[rune][]wording{}}
	files, err := lexiconFiles.ReadDir("lexicon")
	for i := 0; err == nil && i < len(files); i++ {
		if lang, ok := strings.CutSuffix(files[i].Name(), ".txt"); ok {
			err = l.addLanguage(lang, sectionsOf(lang))
		}
	}
	if err != nil {
		panic(fmt.Sprintf("the embedded lexicon: %v", err)) // a test reads it
	}
	return l
})

func sectionsOf(lang string) map[string][]string {
	file, err := lexiconFiles.ReadFile("lexicon/" + lang + ".txt")
	if err != nil {
		panic(fmt.Sprintf("the embedded lexicon: %v", err)) // a test reads it
	}
	return text.Sections(string(file))
}

func (l *lexicon) addLanguage(lang string, sections map[string][]string) error {
	at := len(l.langs)
	l.langs = append(l.langs, lang)
	l.verbLast = append(l.verbLast, len(sections[sectionNames[behind]]) > 0)
	for name, lines := range sections {
		sec := slices.Index(sectionNames[:], name)
		if sec < 0 {
			return fmt.Errorf("%s.txt: no section %q", lang, name)
		}
		for _, line := range lines {
			l.add(section(sec).of(at), line)
		}
	}
	return nil
}

// Canned returns the English phrases that Smell refuses, as their file has them: "/" parts choices.
func Canned() []string { return sectionsOf("en")[sectionNames[smell]] }

// add adds a line: "may/might want" is two phrases, "apolog*" any word with that prefix, "*" any single
// word.
func (l *lexicon) add(key int, line string) {
	all := []string{""}
	for _, field := range strings.Fields(folded(line)) {
		var longer []string
		for _, before := range all {
			for choice := range strings.SplitSeq(field, "/") {
				longer = append(longer, strings.TrimSpace(before+" "+choice))
			}
		}
		all = longer
	}
	for _, phrase := range all {
		first, _ := utf8.DecodeRuneInString(phrase)
		if isUnspaced(first) {
			l.letters[first] = append(l.letters[first], wording{key: key, text: phrase})
			continue
		}
		w := wording{key: key, words: strings.FieldsFunc(phrase, func(r rune) bool {
			return !isWordRune(r) && r != '*'
		})}
		if stem, ok := strings.CutSuffix(w.words[0], "*"); ok {
			two := firstTwo(stem)
			l.stems[two] = append(l.stems[two], w)
		} else {
			l.words[w.words[0]] = append(l.words[w.words[0]], w)
		}
	}
}

func firstTwo(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	_, m := utf8.DecodeRuneInString(s[n:])
	return s[:n+m]
}

func isUnspaced(r rune) bool { return r >= 0x0e00 && unicode.In(r, text.Unspaced...) }

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '\'' || r == '%'
}

// folded returns text in the form for comparison: composed, in lower case, without optional Arabic vowel
// signs.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == '‘':
			return '\''
		case r >= 0x064b && r <= 0x0652, r == 0x0640:
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFC.String(text))
}

// token is a word of a text, with byte offsets.
type token struct {
	text     string
	from, to int
	begins   bool // begins a sentence or an item of a list
}

// span is a place of a phrase.
type span struct {
	from, to int
	sentence int
	begins   bool // begins a sentence
}

// reading is a text with all its phrases of the lexicon.
type reading struct {
	text   string
	tokens []token
	starts []int // of sentences
	spans  [][]span
	langs  int
}

// read finds all phrases of the text.
func read(text string) *reading {
	l := theLexicon()
	r := &reading{text: folded(text), spans: make([][]span, len(l.langs)*int(nSections)), langs: len(l.langs)}
	r.cut()
	for i, t := range r.tokens {
		r.match(l.words[t.text], i)
		if utf8.RuneCountInString(t.text) > 1 {
			r.match(l.stems[firstTwo(t.text)], i)
		}
	}
	for i, c := range r.text {
		if isUnspaced(c) {
			for _, w := range l.letters[c] {
				if strings.HasPrefix(r.text[i:], w.text) {
					r.note(w.key, i, i+len(w.text), r.beginsAt(i))
				}
			}
		}
	}
	return r
}

// cut splits the text into words and sentences. A full stop inside a word ends no sentence.
func (r *reading) cut() {
	begins, from := true, -1
	flush := func(to int) {
		if from >= 0 {
			if begins {
				r.starts = append(r.starts, from)
			}
			r.tokens = append(r.tokens, token{r.text[from:to], from, to, begins})
			begins, from = false, -1
		}
	}
	for i, c := range r.text {
		if isWordRune(c) {
			if from < 0 {
				from = i
			}
			continue
		}
		flush(i)
		next := i + utf8.RuneLen(c)
		switch {
		case strings.ContainsRune("\n。！？；", c):
			begins = true
		case strings.ContainsRune(".!?:;।؟؛", c):
			begins = begins || next >= len(r.text) || r.text[next] <= ' '
		}
	}
	flush(len(r.text))
}

func (r *reading) beginsAt(at int) bool {
	_, ok := slices.BinarySearch(r.starts, at)
	return ok
}

// match records the phrases at a token. A phrase never spans sentences.
func (r *reading) match(list []wording, at int) {
	for i := range list {
		w := &list[i]
		if at+len(w.words) > len(r.tokens) {
			continue
		}
		fits := true
		for k, want := range w.words {
			t := &r.tokens[at+k]
			if k > 0 && t.begins || !isWord(t.text, want) {
				fits = false
				break
			}
		}
		if fits {
			r.note(w.key, r.tokens[at].from, r.tokens[at+len(w.words)-1].to, r.tokens[at].begins)
		}
	}
}

func isWord(word, want string) bool {
	if stem, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(word, stem)
	}
	return word == want
}

func (r *reading) note(key, from, to int, begins bool) {
	sentence, ok := slices.BinarySearch(r.starts, from)
	if !ok {
		sentence--
	}
	r.spans[key] = append(r.spans[key], span{from, to, sentence, begins})
}

// all lists the phrases of a section in the text, in any language, without duplicates and short enough for
// a note.
func (r *reading) all(s section) (found []string) {
	for lang := range r.langs {
		for _, at := range r.spans[s.of(lang)] {
			if q := r.quote(at.from, at.to); !slices.Contains(found, q) {
				found = append(found, q)
			}
		}
	}
	return found
}

func (r *reading) quote(from, to int) string {
	return `"` + text.Line(strings.Join(strings.Fields(r.text[from:to]), " "), 40) + `"`
}

// reach is the maximum distance, in characters, of related words of one sentence.
const reach = 40

// near reports whether two spans are related.
func (r *reading) near(a, b span) bool {
	if a.sentence != b.sentence {
		return false
	}
	if b.from < a.from {
		a, b = b, a
	}
	gap := b.from - a.to
	return gap <= reach || gap <= reach*utf8.UTFMax && utf8.RuneCountInString(r.text[a.to:b.from]) <= reach
}

// advised finds verbs of the section that the reader is asked to carry out: a word of advice is near, or
// the verb begins the sentence, as in a command.
func (r *reading) advised(lang int, s section) []span {
	var found []span
	for _, verb := range r.spans[s.of(lang)] {
		told := verb.begins || slices.ContainsFunc(r.spans[then.of(lang)], func(t span) bool {
			return t.begins && t.sentence == verb.sentence &&
				strings.TrimSpace(r.text[min(t.to, verb.from):verb.from]) == "" && t.to <= verb.from
		})
		before := func(a span) bool { return a.to <= verb.from && r.near(a, verb) }
		after := func(a span) bool { return a.to >= verb.to && r.near(verb, a) }
		if told || slices.ContainsFunc(r.spans[advice.of(lang)], before) ||
			slices.ContainsFunc(r.spans[behind.of(lang)], after) {
			found = append(found, verb)
		}
	}
	return found
}

// beside returns the first of the verbs that has something of the section near it: after it, or on either
// side in a language that may put the verb last.
func (r *reading) beside(lang int, verbs []span, s section) (string, bool) {
	last := theLexicon().verbLast[lang]
	for _, v := range verbs {
		for _, thing := range r.spans[s.of(lang)] {
			if r.near(v, thing) && (thing.from >= v.to || last && thing.to <= v.from) {
				return r.quote(min(v.from, thing.from), max(v.to, thing.to)), true
			}
		}
	}
	return "", false
}

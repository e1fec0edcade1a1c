package evidence

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Evidence is text that claims are compared with, taken apart once.
type Evidence struct {
	place  string
	all    []clause
	values []value
	guards []guard
	nums   []quantity
	text   string
	first  int // line of text
	prose  bool
	joined []clause // sentences that go on about the one before, with it
	only   *clause  // the one line that turns something on or off, with what it belongs to
}

// Take takes lines of a file apart; first is the number of the first.
func Take(path string, lines []string, first int) *Evidence {
	return takeApart(path, lines, first, remarks(path, lines))
}

// takeApart is Take where it is known which lines stand in a remark of several.
func takeApart(path string, lines []string, first int, inside []bool) *Evidence {
	e := &Evidence{place: path, all: passages(lines, first, isProse(path), inside)}
	for i, l := range lines {
		e.values = append(e.values, valuesOf(l, first+i)...)
	}
	e.guards = guardsOf(lines, first)
	e.joined = joined(e.all)
	e.only = switched(path, lines, e.all)
	scene, known := &scenery{}, map[string]bool{}
	for _, t := range terms(strings.Join(lines, "\n")) {
		if !known[t.text] && len(scene.terms) < maxScene {
			known[t.text] = true
			scene.terms = append(scene.terms, t)
		}
	}
	for i := range e.all {
		e.all[i].scene = scene
	}
	e.text, e.first = Fold(strings.Join(lines, "\n")), first
	e.nums = slices.Concat(quantities(e.text, true), spelled(e.text))
	return e
}

// scenery is what stands around a passage: a sentence there need not name again
// what it speaks of.
type scenery struct{ terms []term }

// joined puts each sentence that begins with it or they behind the one before it.
func joined(all []clause) []clause {
	var out []clause
	for i := 1; i < len(all); i++ {
		a, b := &all[i-1], &all[i]
		if a.code || b.code || len(b.terms) == 0 || !words().anaphor[b.terms[0].text] || len(a.text)+len(b.text) > maxClause {
			continue
		}
		head := strings.TrimRight(a.text, ".!? ") + "; "
		c := analyse(head+b.text, false)
		c.line, c.seam = b.line, len(head)
		out = append(out, c)
	}
	return out
}

const maxScene = 2000 // different words

// switched is the one line of code that says on or off, with the words of the
// lines above it and of its file: enabled: true says of what by where it stands.
// nil when there is none, or several.
func switched(path string, lines []string, all []clause) *clause {
	var out *clause
	for i := range all {
		for k, a := range words().axes {
			if p := &all[i]; a.state && p.code && stateOf(p, k) != 0 {
				if out != nil && out.line != p.line {
					return nil
				}
				out = p
			}
		}
	}
	if out == nil {
		return nil
	}
	c := *out
	for _, l := range lines {
		c.context = append(c.context, terms(l)...)
	}
	c.context = append(c.context, terms(path)...)
	return &c
}

// Said takes prose apart, to be compared with other prose; name tells where it
// stands.
func Said(name, text string) *Evidence {
	e := &Evidence{place: name, prose: true, text: Fold(text)}
	for _, s := range sentences(text) {
		e.all = append(e.all, analyse(s, false))
	}
	e.nums = slices.Concat(quantities(e.text, true), spelled(e.text))
	return e
}

func (e *Evidence) at(line int) string {
	if line == 0 {
		return e.place
	}
	return fmt.Sprintf("%s:%d", e.place, line)
}

// Text is what was taken apart; Place is the file or the name of it.
func (e *Evidence) Text() string { return e.text }

func (e *Evidence) Place() string { return e.place }

// Stranger returns the first sentence of text that has several words and shares next
// to none of them with another text; "" when there is none.
func Stranger(text, about string) string {
	low := strings.ToLower(about)
	var known []term
	for _, s := range sentences(plainClaim(text)) {
		all := content(terms(s))
		if len(all) < fewStrange || !english(s) {
			continue
		}
		n := 0
		for _, t := range all {
			n += b2i(strings.Contains(low, t.text[:min(len(t.text), leastPrefix+1)]) || strings.Contains(low, t.stem))
		}
		if len(all) >= leastStrange && n*4 <= len(all) {
			return s
		}
		if known == nil {
			known = terms(about)
		}
		if _, which := shared(all, known); 3*len(which) <= len(all) && special(which) == 0 && special(all) >= leastSpecial {
			return s
		}
	}
	return ""
}

// special counts the words that do not stand in talk of anything.
func special(all []term) (n int) {
	for _, t := range all {
		n += b2i(!commonStems()[t.stem])
	}
	return n
}

const (
	leastStrange = 6 // words of a sentence that is about something else
	fewStrange   = 4 // of one that shares none but common words
	leastSpecial = 3 // of those
)

// Where tells at which place of the evidence a token stands; "" where it does not.
// A name that stands there in parts alone is at the place as a whole.
func (e *Evidence) Where(t Token) string {
	if t.Kind == Number {
		for _, q := range slices.Concat(quantities(t.Text, false), quantities(t.Text, true)) {
			for _, n := range e.nums {
				if q.same(n) {
					return e.at(e.lineOf(n.at))
				}
			}
		}
		return ""
	}
	if !t.In(e.text) {
		return ""
	}
	if i := strings.Index(e.text, strings.TrimLeft(t.Text, "-${./~")); i >= 0 {
		return e.at(e.lineOf(i))
	}
	return e.at(e.first)
}

func (e *Evidence) lineOf(at int) int {
	if e.first == 0 {
		return 0
	}
	return e.first + strings.Count(e.text[:min(at, len(e.text))], "\n")
}

// Words are the words of a text that say something of its subject, each once, in
// the form in which they are compared.
func Words(text string) []string {
	var out []string
	for _, t := range content(terms(plainClaim(text))) {
		if !slices.Contains(out, t.stem) {
			out = append(out, t.stem)
		}
	}
	return out
}

// Shared lists the words of a text that another has too, in any form.
func Shared(text, other string) []string {
	_, which := shared(content(terms(plainClaim(text))), terms(other))
	var out []string
	for _, t := range which {
		if !slices.Contains(out, t.stem) {
			out = append(out, t.stem)
		}
	}
	return out
}

// Known are the words of a text, to ask of many others whether they share any.
type Known struct{ terms []term }

// Know reads a text.
func Know(text string) *Known {
	k, seen := &Known{}, map[string]bool{}
	for _, t := range terms(text) {
		if !seen[t.text] {
			seen[t.text] = true
			k.terms = append(k.terms, t)
		}
	}
	return k
}

// Shares reports whether a text has a word that says something and that is known, in
// any form.
func (k *Known) Shares(text string) bool {
	return slices.ContainsFunc(content(terms(plainClaim(text))), func(t term) bool { return has(k.terms, t) })
}

// Telling are those of some words, as Words and Shared give them, that tell what a text
// is about: error and number stand in any.
func Telling(stems []string) []string {
	common := commonStems()
	return slices.DeleteFunc(slices.Clone(stems), func(s string) bool { return common[s] })
}

var commonStems = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for w := range words().common {
		out[stem(w)] = true
	}
	return out
})

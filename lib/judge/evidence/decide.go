package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// Contrary says why lines contradict a text: they give another value for the same name, or one negates the
// other with the same verb and object. "" means that code cannot show a contradiction, not that the text
// is true.
func (t *Text) Contrary(against ...*Text) string {
	for i := range t.sentences {
		if why := t.sentences[i].contrary(t.nums, against); why != "" {
			return why
		}
	}
	return ""
}

func (s *sentence) contrary(nums []quantity, against []*Text) string {
	if why := s.valued(nums, against); why != "" {
		return why
	}
	if why := s.refused(against); why != "" {
		return why
	}
	for _, e := range against {
		if why := e.typed(s); why != "" {
			return why
		}
		if e.first > 0 {
			continue // comments around some lines count other things
		}
		if why := e.counted(s); why != "" {
			return why
		}
	}
	return s.denied(against)
}

// notA matches a claim that a name does not have a type or value.
var notA = lazyregexp.New("(?i)[`\"']?([A-Za-z_][\\w.]*)[`\"']?(?:'s type)?\\s+(?:(?:is|are|was)(?:\\s+not|\\s+never|n't)|(?:does|do|did)(?:\\s+not|n't)\\s+(?:default\\s+to|equal|be))\\s+(?:of\\s+type\\s+|set\\s+to\\s+|an?\\s+|the\\s+)?[`\"']?([\\w.]+)")

// typed finds a line that declares a name with the type or value that a sentence denies.
func (t *Text) typed(s *sentence) string {
	m := notA.FindStringSubmatch(s.text)
	if m == nil || m[1] == "it" || m[1] == "that" || m[1] == "this" || !s.plainly() || isDigits(m[2][:1]) {
		return "" // see refused for figures
	}
	name := m[1][strings.LastIndexByte(m[1], '.')+1:]
	for i := range t.sentences {
		p := &t.sentences[i]
		if !p.code {
			continue
		}
		words := lettersAndSigns.FindAllString(p.text, -1)
		for k, w := range words {
			if w == name && slices.Contains(given(words[k+1:]), m[2]) {
				return fmt.Sprintf("says %s is not %s, %s has %q", name, m[2], t.at(p.line),
					strings.TrimSpace(p.text))
			}
		}
	}
	return ""
}

// given returns the type and the value that code gives a name, from the words and signs after it.
func given(words []string) (all []string) {
	if len(words) > 0 && !isAssignment(words[0]) {
		if _, quoted := strings.CutPrefix("\"'`", words[0][:1]); !quoted {
			all, words = append(all, words[0]), words[1:] // Go has the type behind the name
		} else {
			words = words[1:]
		}
	}
	for len(words) > 1 && isAssignment(words[0]) {
		words = words[1:]
		if len(words) > 1 && strings.Contains("\"'`", words[0]) {
			words = words[1:]
		}
		all, words = append(all, words[0]), words[1:]
	}
	return all
}

func isAssignment(word string) bool { return word == "=" || word == ":=" || word == ":" }

// counted finds a sentence of another text with another count of the same things: only one writer, only two
// writers.
func (t *Text) counted(s *sentence) string {
	for _, q := range s.nums {
		what, ok := s.next(q)
		if !ok || q.unit.dim != noDim || q.in(t.nums) {
			continue
		}
		for i := range t.sentences {
			p := &t.sentences[i]
			for _, n := range p.nums {
				if of, ok := p.next(n); ok && !p.code && of.stem == what.stem && n.unit.dim == noDim &&
					sharesTelling(s, p, what) {
					return fmt.Sprintf("says %s %s, %s has %s", q.text, what.text, t.at(p.line), n.text)
				}
			}
		}
	}
	return ""
}

// next returns the word directly after a number, which it counts.
func (s *sentence) next(q quantity) (term, bool) {
	for _, w := range s.terms {
		if w.at >= q.end {
			return w, w.at-q.end < 3 && !words().is("stop", w.text) && !isDigits(w.text)
		}
	}
	return term{}, false
}

// sharesTelling reports whether two sentences share another significant word.
func sharesTelling(a, b *sentence, but term) bool {
	return slices.ContainsFunc(a.content, func(w term) bool {
		return w.stem != but.stem && !commonStems()[w.stem] && words().number[w.text] == 0 &&
			has(b.content, w)
	})
}

var lettersAndSigns = lazyregexp.New(`[\w]+|:=|==|=|:|[^\s\w]`)

// act is a verb with its object, as affirmed or denied by a sentence.
type act struct {
	verb, object term
	subject      []term // content words before it
	denied       bool
}

// plainly reports whether a sentence has no condition or exception, so that a negation in it can be
// compared.
func (s *sentence) plainly() bool {
	return !slices.ContainsFunc(s.terms, func(w term) bool { return words().is("bound", w.text) })
}

// negations returns the indexes of the negating words of a sentence. The Not of TLSNotRequired is none.
func (s *sentence) negations() []int {
	var out []int
	for i, w := range s.terms {
		if words().is("not", w.text) && (isDense(w.text) || whole(s.text, w.at, w.end)) {
			out = append(out, i)
		}
	}
	return out
}

const reach = 4 // maximum words between a negation and the object of its verb

// deniedAct returns the verb denied by the only negation of a sentence, with the word that follows it.
func (s *sentence) deniedAct() (act, bool) {
	at := s.negations()
	if len(at) != 1 {
		return act{}, false
	}
	l := words()
	a := act{denied: true, subject: content(s.terms[:at[0]])}
	for i := at[0] + 1; i < len(s.terms) && i <= at[0]+reach; i++ {
		w := s.terms[i]
		switch {
		case l.is("stop", w.text) || l.is("light", w.text):
		case a.verb.text == "":
			if !whole(s.text, w.at, w.end) {
				return act{}, false // writeErr does not say write
			}
			a.verb = w
		default:
			a.object = w
			return a, len(a.subject) > 0
		}
	}
	return a, a.verb.text != "" && len(a.subject) > 0
}

// affirms reports whether a sentence states the act without denying it: the same verb, the same word after
// it, the same subject before it, and no negation.
func (s *sentence) affirms(a act) bool {
	if len(s.negations()) > 0 {
		return false
	}
	for i, w := range s.terms {
		if w.stem != a.verb.stem || !whole(s.text, w.at, w.end) ||
			!slices.ContainsFunc(s.terms[:i], func(b term) bool {
				return has(a.subject, b) && !commonStems()[b.stem]
			}) {
			continue
		}
		rest := content(s.terms[i+1 : min(i+1+reach, len(s.terms))])
		if a.object.text == "" && len(rest) == 0 || a.object.text != "" && len(rest) > 0 &&
			rest[0].stem == a.object.stem {
			return true
		}
	}
	return false
}

// leastAlike is the share of words of the shorter of two sentences that the other must contain before
// their negations are compared.
const leastAlike = 0.75

func alike(a, b *sentence) bool {
	x, y := a.content, b.content
	if len(x) > len(y) {
		x, y = y, x
	}
	n := 0
	for _, w := range x {
		if has(y, w) {
			n++
		}
	}
	return len(x) >= leastOwn && float64(n) >= leastAlike*float64(len(x))
}

// denied finds a sentence of the lines with the same act, subject and object, of which one denies what the
// other affirms.
func (s *sentence) denied(against []*Text) string {
	if !s.plainly() {
		return ""
	}
	mine, isDenial := s.deniedAct()
	for _, e := range against {
		for i := range e.sentences {
			p := &e.sentences[i]
			if p.code || !p.plainly() || !alike(s, p) {
				continue
			}
			theirs, ok := p.deniedAct()
			switch {
			case isDenial && p.affirms(mine):
				return fmt.Sprintf("says not %q, %s has %q", mine.verb.text, e.at(p.line), clip(p.text))
			case ok && s.affirms(theirs):
				return fmt.Sprintf("says %q, %s has not %q", theirs.verb.text, e.at(p.line), theirs.verb.text)
			}
		}
	}
	return ""
}

func clip(s string) string {
	if rs := []rune(s); len(rs) > 80 {
		return string(rs[:80]) + "…"
	}
	return s
}

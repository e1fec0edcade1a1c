// Package voice compares a rephrased draft with its original, and cuts a draft into messages by meaning.
package voice

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// item is one unit of what a text says: a word, or bytes that may not change.
type item struct {
	norm  string // what is compared: the bytes, the stem, or the class of the word
	kind  string // for the reason
	raw   string
	start bool // of a sentence, where a capital letter says nothing
}

// Kinds of item. All but words are compared byte for byte.
const (
	aCode   = "code"
	aLink   = "link"
	aQuote  = "quotation"
	aFigure = "number or name" // digits, signs, paths, identifiers
	aWord   = "word"
	aFiller = "filler" // a neutral word, left out
)

// Same returns why rephrased does not say what original says, or "" if it does.
//
// Both texts are reduced to the sequence of their units, and the two must be equal. A unit is code, a
// link, a quotation, a number, path or identifier, byte for byte; or a word, by its stem. Only the words
// of neutral are left out, and only those of a row of classes may replace each other. So numbers, names,
// units, negations, hedges, quantities and their order stay. It is stricter than it has to be: a text
// that it refuses may be honest.
//
// known are texts of code: a word that is a name in them keeps its case also where a sentence begins.
func Same(original, rephrased string, known ...string) string {
	was, is := reduce(original), reduce(rephrased)
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			return fmt.Sprintf("%s was added: %s", is[i].kind, is[i].shown())
		case i >= len(is):
			return fmt.Sprintf("%s is missing: %s", was[i].kind, was[i].shown())
		case was[i].norm != is[i].norm || !cased(was[i], is[i], known):
			return fmt.Sprintf("%s became %s", was[i].shown(), is[i].shown())
		}
	}
	return ""
}

func (t item) shown() string { return fmt.Sprintf("%q", text.Line(t.raw, 60)) }

// cased reports whether two equal words are spelled with the same first letter, or differ in it only
// because one of them begins a sentence.
func cased(a, b item, known []string) bool {
	if a.kind != aWord || capital(a.raw) == capital(b.raw) {
		return true
	}
	if capital(b.raw) {
		a, b = b, a
	}
	return a.start && !b.start && !slices.ContainsFunc(known, func(s string) bool { return named(s, a.raw) })
}

// named reports whether a name occurs in a text of code as a whole word.
func named(code, name string) bool {
	for i := 0; ; {
		at := strings.Index(code[i:], name)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(code[:i+at])
		after, _ := utf8.DecodeRuneInString(code[i+at+len(name):])
		if !unicode.IsLetter(before) && !unicode.IsLetter(after) {
			return true
		}
		i += at + len(name)
	}
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// exact finds what is compared byte for byte whatever is in it: code, quoted lines, links, quotations.
var exact = lazyregexp.New("(?s:(`{3}|~{3})(?:.*?(?:`{3}|~{3})|.*))|`[^`\n]*`|(?m:^[ \t]*>.*$)" +
	`|[A-Za-z][A-Za-z0-9+.-]*://[^\s<>")\]]+|"[^"\n]+"|“[^”\n]+”|„[^“”\n]+[“”]|«[^»\n]+»`)

// reduce returns the units of a text.
func reduce(s string) []item {
	s = unbold(s)
	var all []item
	start := true
	last := 0
	for _, at := range append(exact.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		all, start = words(all, s[last:at[0]], start, last == 0 || s[last-1] == '\n')
		if raw := s[at[0]:at[1]]; raw != "" {
			all, start = append(all, item{norm: raw, kind: kindOf(raw), raw: raw}), false
		}
		last = at[1]
	}
	return essential(all)
}

func kindOf(raw string) string {
	switch raw := strings.TrimSpace(raw); {
	case strings.HasPrefix(raw, "`") || strings.HasPrefix(raw, "~"):
		return aCode
	case strings.Contains(raw, "://"):
		return aLink
	}
	return aQuote
}

// unbold removes the marks of emphasis, which are a pair around words; any others, such as those of a power
// or of a name, are part of what is said.
func unbold(s string) string {
	for {
		mask := func(raw string) string { return strings.Repeat("x", len(raw)) }
		all := bold.FindAllStringSubmatchIndex(exact.ReplaceAllStringFunc(s, mask), -1)
		if all == nil {
			return s
		}
		var bare strings.Builder
		last := 0
		for _, at := range all { // the space between two pairs belongs to one of them: the other is next
			bare.WriteString(s[last:at[4]-2] + s[at[4]:at[5]])
			last = at[5] + 2
		}
		s = bare.String() + s[last:]
	}
}

// words adds the units of a text without exact ones. start says whether a sentence begins with it, begins
// whether a line does.
func words(all []item, s string, start, begins bool) ([]item, bool) {
	for line := range strings.Lines(s) {
		at := bullet.FindStringSubmatchIndex(line)
		start = start || strings.TrimSpace(line) == "" || begins && at != nil
		if begins && at != nil && at[2] >= 0 {
			start, line = false, line[at[3]:]
		}
		begins = true
		for _, field := range strings.Fields(dashes.Replace(line)) {
			inner, after := trim(field)
			if strings.Trim(inner, "#") != "" { // marks of headings say nothing
				all = append(all, units(inner, start)...)
				start = false
			}
			if strings.ContainsAny(after, "?？") {
				all = append(all, item{norm: "?", kind: "question mark", raw: "?"})
			}
			start = start || strings.ContainsAny(after, ".!?:。！？")
		}
	}
	return all, start
}

var (
	bullet = lazyregexp.New(`^\s*(?:([-*+•])|\d+[.)])\s`)
	dashes = strings.NewReplacer("—", " ")
)

// trim removes the punctuation around a word and returns what followed it.
func trim(s string) (inner, after string) {
	inner = strings.TrimLeft(s, "([{\"'“‘«¿¡")
	for inner != "" {
		r, n := utf8.DecodeLastRuneInString(inner)
		if !strings.ContainsRune(".,;:!?)]}\"'”’»…。，；：！？", r) {
			break
		}
		if open := strings.IndexRune(")]}", r); open >= 0 {
			if pair := string(r); strings.Count(inner, pair) <= strings.Count(inner, string("([{"[open])) {
				break // it closes what the word itself opens: f(x)
			}
		}
		inner, after = inner[:len(inner)-n], string(r)+after
	}
	return inner, after
}

// units returns the units of one word: none if it is neutral, two of a contraction.
func units(raw string, start bool) []item {
	lower := strings.ToLower(strings.ReplaceAll(raw, "’", "'"))
	if !plain(raw) {
		return []item{{norm: raw, kind: aFigure, raw: raw}}
	}
	if n, ok := numerals[lower]; ok {
		return []item{{norm: n, kind: aFigure, raw: raw}}
	}
	var all []item
	add := func(word, raw string) {
		switch c, ok := classes()[word]; {
		case ok:
			all = append(all, item{norm: "=" + c, kind: aWord, raw: strings.ToLower(raw)})
		case neutral()[word]:
			all = append(all, item{norm: word, kind: aFiller, raw: raw})
		default:
			all = append(all, item{norm: singular(word), kind: aWord, raw: raw, start: start})
		}
	}
	word := lower
	switch {
	case word == "cannot" || word == "can't":
		add("can", raw)
		add("not", raw)
	case word == "won't":
		add("will", raw)
		add("not", raw)
	case strings.HasSuffix(word, "n't"):
		add(strings.TrimSuffix(word, "n't"), strings.TrimSuffix(raw, "n't"))
		add("not", raw)
	default:
		for _, end := range []string{"'s", "'re", "'ve", "'m"} {
			word, raw = strings.TrimSuffix(word, end), strings.TrimSuffix(raw, end)
		}
		for end, verb := range map[string]string{"'d": "would", "'ll": "will"} {
			if base, ok := strings.CutSuffix(word, end); ok {
				add(base, raw)
				word = verb
			}
		}
		add(strings.Trim(word, "'"), raw)
	}
	return all
}

// plain reports whether a word is of letters, apostrophes and hyphens, written as words of a sentence
// are: not MiXed and not CAPITALS, which are names.
func plain(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’-", r) {
			return false
		}
		if i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, "-")
}

// singular removes the ending of a plural or of the third person. No other form is reduced: a tense is
// part of what is said.
func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") ||
		strings.HasSuffix(w, "ches") ||
		strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "zes")):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") &&
		!strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		return w[:len(w)-1]
	}
	return w
}

// essential leaves out neutral words and dashes, but not a dash beside a figure, nor the word between two
// figures that says how one is related to the other.
func essential(all []item) []item {
	var kept []item
	for i, t := range all {
		figure := func(j int) bool {
			return j >= 0 && j < len(all) && all[j].kind != aWord && all[j].kind != aFiller
		}
		dash := t.norm == "–" || t.norm == "--"
		switch {
		case dash && !figure(i-1) && !figure(i+1):
		case t.kind == aFiller && !(figure(i-1) && figure(i+1) && relating()[t.norm]):
		default:
			kept = append(kept, t)
		}
	}
	return kept
}

package codesearch

import (
	"bytes"
	"slices"
	"strings"
)

// passage is a range of lines that belong together: a declaration with the comment above it, a section of
// a document, a block of settings. Passages are the units that are ranked.
type passage struct {
	from, to int  // lines from 1, inclusive
	decl     int  // the line of the declaration, 0 if none
	block    bool // its lines begin with names: fields, constants, settings
	tests    bool // in a module of tests, as Rust has them beside what they test
	inside   string
}

// lineKind is the kind of a line.
type lineKind uint8

const (
	blank   lineKind = iota
	code             // everything else
	comment          // comment or documentation
	foreign          // an import: names of other modules
)

const (
	longest  = 36 // lines of a passage; a longer declaration is split
	shortest = 8  // lines; a paragraph of settings or prose is not split off earlier
)

// outline divides a file into passages.
func (l *language) outline(lines [][]byte) (passages []passage, kinds []lineKind) {
	kinds = l.kinds(lines)
	o := &outliner{language: l, lines: lines, kinds: kinds}
	if l.declares == nil {
		o.paragraphs()
	} else {
		o.declarations()
	}
	return o.split(), kinds
}

// kinds returns the kinds of all lines.
func (l *language) kinds(lines [][]byte) []lineKind {
	kinds := make([]lineKind, len(lines))
	until := ""      // the end delimiter of the current comment or string
	imports := false // inside import ( ... )
	for i, line := range lines {
		text := string(bytes.TrimSpace(line))
		switch {
		case until != "":
			kinds[i] = comment
			if strings.Contains(text, until) {
				until = ""
			}
		case text == "":
			kinds[i] = blank
		case imports:
			kinds[i] = foreign
			imports = text != ")"
		case l.prose:
			kinds[i] = comment
		case hasPrefix(text, l.line):
			kinds[i] = comment
		case l.block[0] != "" && strings.HasPrefix(text, l.block[0]):
			kinds[i] = comment
			if !strings.Contains(text[len(l.block[0]):], l.block[1]) {
				until = l.block[1]
			}
		case hasPrefix(text, l.imports):
			kinds[i] = foreign
			imports = strings.HasSuffix(text, "(")
		default:
			kinds[i] = code
			if quote := l.documents(text); quote != "" {
				kinds[i] = comment
				if strings.Count(text, quote) == 1 {
					until = quote
				}
			}
		}
	}
	return kinds
}

// documents returns the quote that begins a docstring.
func (l *language) documents(text string) string {
	for _, quote := range l.doc {
		if strings.HasPrefix(strings.TrimLeft(text, "rRuUbBfF"), quote) {
			return quote
		}
	}
	return ""
}

func hasPrefix(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// indent returns the indentation of a line in columns; a tab counts four.
func indent(line []byte) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

type outliner struct {
	*language
	lines    [][]byte
	kinds    []lineKind
	passages []passage
	around   []level // the enclosing declarations
	tests    int     // the line of #[cfg(test)] before a module; 0 if none
}

// level is a declaration that can contain others.
type level struct {
	indent int
	name   string
	holds  bool // its members are declarations themselves
}

// declarations begins a passage at each declaration, including the comment above it, and at code that
// follows a declaration at the same depth.
func (o *outliner) declarations() {
	started, body := 0, false // the passage's depth, and whether its body has begun
	for i, line := range o.lines {
		if o.kinds[i] != code {
			if len(o.passages) == 0 {
				o.begin(i, false)
			}
			continue
		}
		depth := indent(line)
		name, holds, declares := o.declared(line, depth)
		if o.tests == 0 && i > 0 && bytes.HasPrefix(line, []byte("mod ")) &&
			bytes.HasPrefix(o.lines[i-1], []byte("#[cfg(test)]")) {
			o.tests = i
		}
		for len(o.around) > 0 && o.around[len(o.around)-1].indent >= depth && (declares || !closes(line)) {
			o.around = o.around[:len(o.around)-1]
		}
		nested := len(o.around) > 0 && !o.around[len(o.around)-1].holds
		switch {
		case declares && !nested:
			o.begin(i, true)
			p := &o.passages[len(o.passages)-1]
			p.decl, p.block = i+1, holds
			o.around = append(o.around, level{depth, name, holds})
			started, body = depth, false
		case len(o.passages) == 0, body && depth <= started && !closes(line):
			o.begin(i, true)
			o.passages[len(o.passages)-1].block = true
			started, body = depth, false
		case depth > started:
			body = true
		}
	}
}

// begin starts a passage at a line, or at the comment directly above it.
func (o *outliner) begin(i int, above bool) {
	from := i
	for above && from > 0 && (o.kinds[from-1] == comment && !o.inDoc(from-1) || attribute(o.lines[from-1])) {
		from--
	}
	if n := len(o.passages); n > 0 {
		if o.passages[n-1].from > from+1 {
			from = i
		}
		o.passages[n-1].to = from
		if o.passages[n-1].to < o.passages[n-1].from {
			o.passages = o.passages[:n-1]
		}
	}
	inside := ""
	for _, l := range o.around {
		inside += " " + l.name
	}
	o.passages = append(o.passages, passage{from: from + 1, to: len(o.lines), inside: inside})
}

// inDoc reports whether a comment line is a docstring, which belongs to the lines above it.
func (o *outliner) inDoc(i int) bool {
	return o.doc != nil && !hasPrefix(string(bytes.TrimSpace(o.lines[i])), o.line)
}

// attribute reports whether a line is a decorator, annotation or attribute of the next declaration.
func attribute(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 1 && (text[0] == '@' || bytes.HasPrefix(text, []byte("#[")))
}

// closes reports whether a line ends or continues the code above it.
func closes(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 0 && bytes.IndexByte([]byte("})]{"), text[0]) >= 0 ||
		bytes.HasPrefix(text, []byte("else")) || bytes.HasPrefix(text, []byte("end"))
}

// declared reports whether a line declares something, with which name, and whether its members are
// declarations or names themselves.
func (o *outliner) declared(line []byte, depth int) (name string, holds, ok bool) {
	if depth > o.deepest || len(line) > maxLine {
		return "", false, false
	}
	text := public(strings.TrimSpace(string(line)))
	word, rest, _ := strings.Cut(text, " ")
	for _, d := range o.declares {
		if word == d {
			return names(rest), !strings.Contains(text, "(") || strings.HasSuffix(text, "(") ||
				strings.HasPrefix(text, "class "), true
		}
	}
	// A function in C, or a method in Java or JavaScript: name(…) {
	if o.language == braces && strings.HasSuffix(text, "{") && strings.Contains(text, "(") &&
		!statement(word) {
		return names(text), false, true
	}
	return "", false, false
}

// public returns a declaration of Rust without the limits of its visibility, as in "pub(crate) fn".
func public(text string) string {
	if rest, ok := strings.CutPrefix(text, "pub("); ok {
		if _, rest, ok = strings.Cut(rest, ") "); ok {
			return "pub " + rest
		}
	}
	return text
}

func statement(word string) bool {
	switch strings.TrimRight(word, "({") {
	case "if", "for", "while", "switch", "else", "return", "do", "try", "catch", "with", "}", "match", "loop",
		"unsafe", "foreach", "elif":
		return true
	}
	return strings.HasPrefix(word, "}")
}

// names returns the text before the parameters, the value or the body, including a receiver.
func names(text string) string {
	if strings.HasPrefix(text, "(") {
		if receiver, rest, ok := strings.Cut(text, ")"); ok {
			return receiver + " " + names(strings.TrimSpace(rest))
		}
	}
	if end := strings.IndexAny(text, "(={:["); end >= 0 {
		return text[:end]
	}
	return text
}

// called returns only the name that a line declares, or the words of a heading.
func (l *language) called(line []byte) string {
	text := public(strings.TrimSpace(string(line)))
	if l.declares == nil {
		return text
	}
	if rest, ok := strings.CutPrefix(text, "func ("); ok {
		_, text, _ = strings.Cut(rest, ")") // a method in Go
	}
	before := names(text)
	words := strings.Fields(before)
	if len(words) > 0 && strings.HasPrefix(text[len(before):], "(") {
		words = words[len(words)-1:] // without the return type
	}
	for _, word := range words {
		if !slices.Contains(l.declares, word) {
			return word
		}
	}
	return ""
}

// paragraphs begins a passage at each heading and at blank lines.
func (o *outliner) paragraphs() {
	heading := ""
	for i, line := range o.lines {
		n := len(o.passages)
		if title, ok := o.heading(i); ok {
			heading = title
			o.begin(i, false)
			o.passages[len(o.passages)-1].decl = i + 1
		} else if n == 0 || i > 0 && o.kinds[i-1] == blank && i+1-o.passages[n-1].from >= shortest &&
			indent(line) == 0 {
			o.begin(i, false)
		}
		p := &o.passages[len(o.passages)-1]
		p.inside, p.block = heading, !o.prose
	}
}

// heading reports whether a line is a heading of Markdown, reStructuredText or a manual page, or a section
// of settings.
func (o *outliner) heading(i int) (string, bool) {
	text := string(bytes.TrimSpace(o.lines[i]))
	if !o.prose {
		return strings.Trim(text, "[]"), strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
	}
	if hasPrefix(text, []string{"# ", "## ", "### ", "#### ", "= ", "== ", ".Sh ", ".Ss ", ".SH ", ".SS ",
		"<h1", "<h2", "<h3"}) {
		return text, true
	}
	if i+1 < len(o.lines) && text != "" {
		under := string(bytes.TrimSpace(o.lines[i+1]))
		if len(under) >= 4 && strings.Trim(under, under[:1]) == "" && strings.Contains("=-~^*+", under[:1]) &&
			len(under) >= len(text)-2 {
			return text, true
		}
	}
	return "", false
}

// split removes blank edges, and divides long passages at blank lines or otherwise where the code is least
// indented.
func (o *outliner) split() []passage {
	var out []passage
	for _, p := range o.passages {
		for p.to-p.from+1 > longest {
			cut := o.cut(p)
			first := p
			first.to = cut
			out = o.keep(out, first)
			p.from = cut + 1
			if p.decl > 0 && p.decl <= cut {
				p.inside += " " + names(string(bytes.TrimSpace(o.lines[p.decl-1])))
				p.decl = 0
			}
		}
		out = o.keep(out, p)
	}
	return out
}

func (o *outliner) keep(out []passage, p passage) []passage {
	p.tests = o.tests > 0 && p.from >= o.tests
	for p.from <= p.to && o.kinds[p.from-1] == blank {
		p.from++
	}
	for p.to >= p.from && o.kinds[p.to-1] == blank {
		p.to--
	}
	if p.from > p.to {
		return out
	}
	return append(out, p)
}

// cut returns the last line of the first piece of a long passage.
func (o *outliner) cut(p passage) int {
	best, cost := p.from+longest-1, 1<<20
	for n := p.from + longest/2; n < p.from+longest; n++ {
		c := 8 + indent(o.lines[n])
		if o.kinds[n-1] == blank {
			c = indent(o.lines[min(n, len(o.lines)-1)])
		}
		if c <= cost {
			best, cost = n, c
		}
	}
	return best
}

// Package declaration reads what a file of code declares: names, with their values, types, members and
// comments. Go is parsed; Python, JavaScript, TypeScript, Rust and Java are read line by line, which
// suffices for formatted code.
package declaration

import (
	"path"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// Kind says what is declared, as a sentence names it.
type Kind string

// The kinds of declarations.
const (
	Function  Kind = "function"
	Method    Kind = "method"
	Type      Kind = "type"
	Constant  Kind = "constant"
	Variable  Kind = "variable"
	Field     Kind = "field"
	Parameter Kind = "parameter"
	Setting   Kind = "setting" // a field that gets a value where its owner is made
	Option    Kind = "option"  // what a document says of a name
)

// Declaration is a name that a file declares, or a place where a field gets its first value.
type Declaration struct {
	Kind       Kind
	Name       string
	Owner      string   // the type or function that it belongs to; "" if none
	Line       int      // of the name, from 1
	Start, End int      // its lines with the comment above, from 1, inclusive
	Value      string   // as written, on one line; "" if it has none or a longer one
	Type       string   // as written; the results of a function
	Members    []string // the values of an enumeration, in order
	Doc        string   // first sentence of its comment; "" if it has none
}

// Use is a place where a name is called or used, outside its declaration.
type Use struct {
	Line int
	In   string // the function around it; "" if none
	Head int    // the line of its name
	Call bool
	From string // in Go the import path of its package, if the name has one before it
}

const (
	maxValue = 80 // bytes of a value
	maxDoc   = 240
)

// Known reports whether the declarations of a file of that name can be read.
func Known(name string) bool {
	return path.Ext(name) == ".go" || grammars[strings.ToLower(path.Ext(name))] != nil
}

// Read returns the declarations of a file, in the order of their lines. A file that cannot be parsed has
// none.
func Read(name string, text []byte) []Declaration {
	var all []Declaration
	if path.Ext(name) == ".go" {
		all = readGo(text)
	} else if g := grammars[strings.ToLower(path.Ext(name))]; g != nil {
		all = g.read(text)
	}
	slices.SortStableFunc(all, func(a, b Declaration) int { return a.Line - b.Line })
	return all
}

// Uses returns the places of a file where a name is used, in the order of their lines.
func Uses(name string, text []byte, what string) []Use {
	if path.Ext(name) == ".go" {
		return usesGo(text, what)
	}
	if g := grammars[strings.ToLower(path.Ext(name))]; g != nil {
		return g.uses(text, what)
	}
	return nil
}

// Within returns the innermost function or method of all that contains a line; its name is "" if none does.
func Within(all []Declaration, line int) Declaration {
	best := Declaration{}
	for _, d := range all {
		if (d.Kind == Function || d.Kind == Method) && d.Line <= line && line <= d.End &&
			(best.Name == "" || d.Line >= best.Line) {
			best = d
		}
	}
	return best
}

// Full returns the name with its owner.
func (d Declaration) Full() string {
	if d.Owner == "" {
		return d.Name
	}
	return d.Owner + "." + d.Name
}

// oneLine returns a value as one line, "" if it is longer than maxValue or continues behind its line.
func oneLine(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	open := 0
	for _, c := range value {
		if strings.ContainsAny(value[:1], `"'`) {
			break
		}
		switch c {
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			open--
		}
	}
	if len(value) > maxValue || open != 0 || strings.Contains(value, "`") {
		return ""
	}
	return value
}

// What Javadoc marks, and what it links.
var (
	markup = lazyregexp.New(`</?\w+/?>`)
	linked = lazyregexp.New(`\{@\w+ #?([^{}]*)\}`)
)

// firstSentence returns the first sentence of a comment, without its marks.
func firstSentence(comment string) string {
	text := strings.TrimLeft(strings.Join(strings.Fields(comment), " "), ": ")
	if before, _, ok := strings.Cut(" "+text, " @"); ok && !strings.HasSuffix(before, "{") {
		text = strings.TrimSpace(before) // tags of JSDoc and Javadoc
	}
	text = strings.TrimSpace(linked.ReplaceAllString(markup.ReplaceAllString(text, ""), "$1"))
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' && i > 2 && text[i-1] != '.' && text[i-2] != '.' {
			text = text[:i+1]
		}
	}
	if before, _, ok := strings.Cut(text, " <"); ok {
		text = before
	}
	if len(text) > maxDoc || len(text) < 8 || strings.HasPrefix(text, "{@") {
		return ""
	}
	return text
}

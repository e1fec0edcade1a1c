package declaration

import (
	"regexp"
	"strings"

	"tri/lib/base/lazyregexp"
)

const maxComment = 200 // lines read of a comment

var (
	headEnds  = lazyregexp.New(`:\s*(?:#.*)?$`)
	docstring = lazyregexp.New(`^\s*[rRuUbB]?("""|''')`)
	behind    = lazyregexp.New(`(?:^|[\s;,)\]}])(?://|# )(.*)$`)
	tag       = lazyregexp.New(`^\s*(?:[:@]\w|\.\. |[-=~]{4})`)
)

// Comment returns the text of a declaration's comment by line, without its marks, and the number of the first
// line: the string below the head in Python, else what is above it or behind it. Of a parameter it is the
// part of its function's comment that is about it; of an option its lines. lines are those of the file.
func (d Declaration) Comment(lines []string) (first int, text []string) {
	if d.Line < 1 || d.Line > len(lines) {
		return 0, nil
	}
	if d.Kind == Option {
		return d.Line, lines[d.Line-1 : min(d.End, len(lines))]
	}
	start, line := d.Start, d.Line
	if d.Kind == Parameter {
		line = d.Start // of its function
		for start > 1 && line-start < maxComment && commented(strings.TrimSpace(lines[start-2]), "//") {
			start--
		}
	}
	if first, text = docstringBelow(lines, line, d.End); text == nil {
		first = max(start, line-maxComment)
		for _, l := range lines[first-1 : line-1] {
			text = append(text, strings.TrimRight(strings.TrimLeft(strings.TrimSpace(l), "/*!#"), "*/"))
		}
		if m := behind.FindStringSubmatch(lines[d.Line-1]); m != nil && d.Kind != Parameter {
			text = append(text, m[1])
		}
	}
	if d.Kind == Parameter {
		from, to := about(text, d.Name)
		return first + from, text[from:to]
	}
	return first, text
}

// docstringBelow returns the string below the head of a declaration that begins at a line.
func docstringBelow(lines []string, line, end int) (first int, text []string) {
	n := line
	for n < min(end, line+maxHead, len(lines)) && !headEnds.MatchString(lines[n-1]) {
		n++
	}
	if n >= len(lines) {
		return 0, nil
	}
	m := docstring.FindStringSubmatch(lines[n])
	if m == nil {
		return 0, nil
	}
	rest := strings.Replace(lines[n], m[1], "   ", 1)
	for k := n; ; {
		before, _, ends := strings.Cut(rest, m[1])
		if text = append(text, before); ends || k+1 >= min(len(lines), n+maxComment) {
			return n + 1, text
		}
		k++
		rest = lines[k]
	}
}

// about returns which lines of a function's comment are about a parameter, in the forms of Sphinx, JSDoc,
// Javadoc, Google and NumPy.
func about(text []string, name string) (from, to int) {
	begins, err := regexp.Compile(`^\s*(?::\w+ (?:[^:]*[\s*])?` + name + `:|@param\s+(?:\{[^}]*\}\s*)?\[?(?:\w+\.)?` +
		name + `\b|[*` + "`" + `]*` + name + "`*" + `\s*(?:\([^)]*\))?\s*(?::|--?)(?:\s|$))`)
	if err != nil {
		return 0, 0
	}
	for i, line := range text {
		if !begins.MatchString(line) {
			continue
		}
		tagged, indented := tag.MatchString(line), indent(line)
		for to = i + 1; to < len(text) && strings.TrimSpace(text[to]) != "" && !tag.MatchString(text[to]) &&
			(tagged || indent(text[to]) > indented); {
			to++
		}
		return i, to
	}
	return 0, 0
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

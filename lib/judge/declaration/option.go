package declaration

import (
	"path"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// documents are the extensions of files whose lists, tables and headings describe options.
var documents = []string{".md", ".mdx", ".markdown", ".rst"}

// Documents reports whether the options that a file of that name describes can be read.
func Documents(name string) bool {
	return slices.Contains(documents, strings.ToLower(path.Ext(name)))
}

const (
	maxItem = 12 // lines of an item of a list
	maxGap  = 8  // lines between a heading and the default below it
)

var (
	item = lazyregexp.New("^\\s*[-*+]\\s+(?:(?:\\*\\*|__)`?|`)(" + optionName +
		")(?:\\(\\))?`?(?:\\*\\*|__)?(?:`|\\*\\*)?\\s*(.*)$")
	titled   = lazyregexp.New("^(?:#{2,6}\\s+`?|``?)(" + optionName + ")`{0,2}\\s*$")
	heading  = lazyregexp.New(`^#{1,6}\s+(.+?)\s*$`)
	cell     = lazyregexp.New("^[`*_]*(" + optionName + ")[`*_?]*$")
	rule     = lazyregexp.New(`^\s*\|?[\s:|-]+\|[\s:|-]*$`)
	byItself = lazyregexp.New("(?i)^\\s*(?:[-*+]\\s+)?\\**defaults?:?\\**:?\\s*(\\S.*)$")
	given    = lazyregexp.New("(?i)\\bdefaults?(?: value)?(?: is| to|:|\\s|\\*)*\\s*(" + optionValue + ")")
	typed    = lazyregexp.New("^[:,(\\s]*`([^`]+)`(?:\\)|\\s|:)*")
	lead     = lazyregexp.New("^(?:\\s|[-–—:,.*]|\\((?i:optional|required)\\)|(?i:default):? " + optionValue +
		"|\\((?i:default)s?:? " + optionValue + "\\))+")
)

const (
	optionName  = `-{0,2}[A-Za-z_$][\w$.-]*`
	optionValue = "(?:``?[^`]+``?|-?\\d[\\w.]*|true|false|null|undefined|'[^']*'|\"[^\"]*\")"
)

// types are names of types and values, which lists describe as well.
var types = text.Set(`true false null undefined string number boolean object array function
	String Number Boolean Object Array Function`)

// Options returns the options that a document describes: a name as code, with its default, its type and what
// it is for. The owner of an option is the heading above it.
func Options(document []byte) (all []Declaration) {
	lines := strings.Split(strings.ReplaceAll(string(document), "\r\n", "\n"), "\n")
	above, fenced, columns := "", false, []string(nil)
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		d := Declaration{Kind: Option, Owner: above, Line: i + 1, Start: i + 1, End: i + 1}
		switch cells := row(line); {
		case len(cells) > 1 && i+1 < len(lines) && rule.MatchString(lines[i+1]):
			columns = cells
			continue
		case len(cells) > 1 && len(cells) == len(columns):
			if m := cell.FindStringSubmatch(cells[0]); m != nil {
				d.Name = m[1]
				d.column(columns, cells)
			}
		case len(cells) > 1:
		default:
			columns = nil
			if m := item.FindStringSubmatch(line); m != nil {
				d.Name = m[1]
				d.item(lines, i, m[2])
			} else if m := titled.FindStringSubmatch(line); m != nil {
				d.Name = m[1]
				d.section(lines, i)
			}
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			above = strings.Trim(strings.ReplaceAll(m[1], "`", ""), "* ")
		}
		if d.Members = alternatives(d.Type); d.Name != "" && (d.Value != "" || d.Doc != "") && !types[d.Name] {
			all = append(all, d)
		}
	}
	return all
}

// row returns the cells of a line of a table.
func row(line string) (cells []string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	for _, c := range strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "/"), "|"), "|") {
		cells = append(cells, strings.TrimSpace(c))
	}
	return cells
}

// column takes what the cells of a row say by the names of their columns.
func (d *Declaration) column(columns, cells []string) {
	for i, c := range columns[1:] {
		text := cells[i+1]
		switch c = strings.ToLower(c); {
		case strings.Contains(c, "default") && text != "-" && text != "":
			d.Value = strings.Trim(text, "`")
		case strings.Contains(c, "type"):
			d.Type = strings.Trim(text, "`")
		case strings.Contains(c, "descri"), strings.Contains(c, "meaning"), strings.Contains(c, "what"):
			d.Doc = firstSentence(text)
		}
	}
}

// item takes what an item of a list says of the name that it begins with.
func (d *Declaration) item(lines []string, i int, rest string) {
	own := indent(lines[i])
	for n := i + 1; n < min(len(lines), i+maxItem); n++ {
		line := strings.TrimSpace(lines[n])
		if line == "" || indent(lines[n]) <= own || item.MatchString(line) || strings.HasPrefix(line, "```") {
			break
		}
		rest += " " + line
		d.End = n + 1
	}
	if m := given.FindStringSubmatch(rest); m != nil {
		d.Value = oneLine(strings.Trim(m[1], "`"))
	}
	if m := typed.FindStringSubmatch(rest); m != nil {
		d.Type, rest = m[1], rest[len(m[0]):]
	}
	d.Doc = firstSentence(lead.ReplaceAllString(rest, ""))
}

// section takes the default below a heading, and the paragraph behind it.
func (d *Declaration) section(lines []string, i int) {
	for n := i + 1; n < min(len(lines), i+maxGap); n++ {
		if heading.MatchString(lines[n]) {
			return
		}
		if m := byItself.FindStringSubmatch(lines[n]); m != nil {
			if v := given.FindStringSubmatch(lines[n]); v != nil {
				d.Value, d.End = oneLine(strings.Trim(v[1], "`")), n+1
			}
			break
		}
	}
	if d.Value == "" {
		return
	}
	var words []string
	for n, last := d.End, min(len(lines), d.End+maxItem); n < last; n++ {
		line := strings.TrimSpace(lines[n])
		if line == "" && len(words) > 0 || heading.MatchString(line) {
			break
		}
		if line != "" {
			words = append(words, line)
		}
		d.End = max(d.End, n+1)
	}
	d.Doc = firstSentence(strings.Join(words, " "))
}

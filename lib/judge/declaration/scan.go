package declaration

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// grammar is how the declarations of a language are recognized: by the beginning of a statement, and by
// what is around it.
type grammar struct {
	quoting
	indented bool // blocks are indented rather than in braces
	comment  string
	heads    []head
}

// head recognizes one form of declaration. The groups of its pattern are called name, value, type, owner
// and params; in are the kinds of what may be around it, "" the file.
type head struct {
	kind    Kind
	in      string
	pattern *lazyregexp.Pattern
	holds   bool // what is below it belongs to it
}

// container is what is around a line.
type container struct {
	kind  Kind
	name  string
	depth int  // of braces, or the indentation of its first line
	at    int  // its declaration, -1 if none
	enum  bool // it lists the values of a type
}

const maxHead, maxHeadBytes = 24, 4 << 10 // lines and bytes read of the head of a declaration

const maxBody = 400 // lines of a function of which settings are read

// scan is one reading of a file.
type scan struct {
	*grammar
	raw, masked [][]byte
	all         []Declaration
	around      []container
}

func (g *grammar) read(text []byte) []Declaration {
	s := &scan{grammar: g, raw: bytes.Split(text, []byte{'\n'}),
		masked: bytes.Split(g.mask(text), []byte{'\n'})}
	depth, next := 0, 0 // next is the first line behind the last head
	for i, line := range s.masked {
		trimmed := bytes.TrimSpace(line)
		here := depth
		if s.indented {
			if len(trimmed) == 0 {
				continue
			}
			here = len(line) - len(bytes.TrimLeft(line, " \t"))
		}
		if s.indented && i >= next {
			s.leave(here, i)
		}
		if i >= next && len(trimmed) > 0 {
			next = s.head(i, here)
		}
		if !s.indented {
			if depth += bytes.Count(line, []byte{'{'}) - bytes.Count(line, []byte{'}'}); i+1 >= next {
				s.leave(depth, i+1)
			}
		}
	}
	s.leave(-1, len(s.masked))
	s.instances()
	s.registered()
	return s.all
}

// instances adds the constants that a type has of itself to its values.
func (s *scan) instances() {
	types := map[string]int{}
	for i, d := range s.all {
		if d.Kind == Type {
			types[d.Name] = i
		}
	}
	for _, d := range s.all {
		i, ok := types[d.Owner]
		if ok && d.Kind == Constant && (d.Type == d.Owner || d.Type == "Self") {
			s.all[i].Members = append(s.all[i].Members, d.Name)
		}
	}
}

// registered adds the settings that classes declare by two fields, name = "retries" and default = 3.
func (s *scan) registered() {
	for i, d := range s.all {
		if d.Kind != Field || d.Name != "name" || !quotedName.MatchString(d.Value) {
			continue
		}
		for _, v := range s.all[i+1 : min(len(s.all), i+maxHead)] {
			if v.Kind == Field && v.Name == "default" && v.Owner == d.Owner {
				s.all = append(s.all, Declaration{Kind: Field, Name: strings.Trim(d.Value, `"'`), Owner: d.Owner,
					Line: d.Line, Start: d.Start, End: v.End, Value: v.Value})
				break
			}
		}
	}
}

var quotedName = lazyregexp.New(`^["'][a-z]\w+["']$`)

// Opener returns the line around line n, counted from 1, which is less indented and behind line head; 0 if
// none is.
func Opener(lines []string, n, head int) int {
	indentation := func(n int) int {
		return len(lines[n-1]) - len(strings.TrimLeft(lines[n-1], " \t"))
	}
	for k := n - 1; k > max(head, 0); k-- {
		if indentation(k) < indentation(n) && strings.TrimSpace(lines[k-1]) != "" {
			return k
		}
	}
	return 0
}

// Condition begins a line whose block runs under a condition.
var Condition = lazyregexp.New(
	`^\s*(?:\} ?)?(?:if|else|elif|case|default|except|catch|switch|match)\b|=> \{?$`)

// conditional reports whether a setting on line i, counted from 0, is not made whenever its function runs.
func (s *scan) conditional(i int) bool {
	head := 0
	if at := s.around[len(s.around)-1].at; at >= 0 {
		head = s.all[at].Line
	}
	if i-head > maxBody {
		return true
	}
	lines := make([]string, i+1-head)
	for k := range lines {
		lines[k] = string(s.masked[head+k])
	}
	for n := Opener(lines, len(lines), 0); n > 0; n = Opener(lines, n, 0) {
		if Condition.MatchString(lines[n-1]) {
			return true
		}
	}
	return false
}

// leave closes what ends before line i, counted from 0, where the depth is depth.
func (s *scan) leave(depth, i int) {
	for len(s.around) > 0 {
		c := s.around[len(s.around)-1]
		if c.depth < depth {
			return
		}
		if c.at >= 0 {
			end := i
			for s.indented && end > s.all[c.at].Line && len(bytes.TrimSpace(s.raw[end-1])) == 0 {
				end--
			}
			s.all[c.at].End = max(s.all[c.at].End, end)
		}
		s.around = s.around[:len(s.around)-1]
	}
}

// head reads the statement that begins at line i and returns the line behind its head.
func (s *scan) head(i, depth int) int {
	raw, masked, n := s.statement(i)
	in, owner, outer := s.within()
	if len(s.around) > 0 && !s.indented && depth != s.around[len(s.around)-1].depth+1 &&
		in != "function" && in != "method" {
		return i + 1
	}
	for _, h := range s.heads {
		if !strings.Contains(h.in, in) {
			continue
		}
		m := h.pattern.FindStringSubmatchIndex(string(masked))
		if m == nil {
			continue
		}
		group := func(name string) string {
			k := h.pattern.SubexpIndex(name)
			if k < 0 || m[2*k] < 0 {
				return ""
			}
			return string(raw[m[2*k]:m[2*k+1]])
		}
		d := Declaration{Kind: h.kind, Name: group("name"), Owner: owner, Line: i + 1,
			Start: i + 1, End: i + n,
			Value: oneLine(group("value")), Type: oneLine(group("type"))}
		if statements[d.Name] && h.kind != Function ||
			h.kind == Setting && (!makes(owner, outer) || s.conditional(i)) {
			continue
		}
		if modifiers.MatchString(d.Type) {
			d.Type = "" // a constructor
		}
		d.Members = alternatives(group("type") + group("value"))
		if h.kind == Type && enumeration.Match(masked) {
			d.Members = enumerated(string(masked))
		}
		if o := group("owner"); o != "" {
			d.Owner = o
		}
		if h.kind == Function && in == string(Type) {
			d.Kind = Method
		}
		if h.kind == Setting && outer != "" && in != "variable" {
			d.Owner = outer + "." + owner
		}
		at := -1
		if d.Name != "" && h.kind != "" {
			at = len(s.all)
			s.declare(d, i, n, group("params"))
		}
		if h.holds && (s.indented || bytes.Count(masked, []byte{'{'}) > bytes.Count(masked, []byte{'}'})) {
			kind, name := d.Kind, d.Name
			if h.kind == "" {
				kind, name = Type, d.Owner
			}
			s.around = append(s.around, container{kind, name, depth, at,
				kind == Type && enumeration.Match(masked)})
		}
		return i + n
	}
	return i + 1
}

// within returns the kind and the name of what a line is in, and the name of what that is in.
func (s *scan) within() (in, owner, outer string) {
	n := len(s.around)
	if n == 0 {
		return "file", "", ""
	}
	if n > 1 {
		outer = s.around[n-2].name
	}
	return string(s.around[n-1].kind), s.around[n-1].name, outer
}

// declare adds a declaration whose head is the n lines from i, with its comment, and its parameters.
func (s *scan) declare(d Declaration, i, n int, params string) {
	d.Start, d.Doc = s.above(i)
	if s.indented {
		d.Doc = s.below(i+n, d.Doc)
	}
	s.all = append(s.all, d)
	s.member(d)
	s.parameters(d, params)
}

var (
	unions      = lazyregexp.New(`^(?:(?:\w+\.)?Literal\[[^\[\]]*\]|\s*\|?\s*(?:"[^"]*"|'[^']*')(?:\s*\|\s*(?:"[^"]*"|'[^']*'|null|undefined))+|[(\[]\s*(?:"[^"\\]*"|'[^'\\]*')(?:,\s*(?:"[^"\\]*"|'[^'\\]*'))+,?\s*[)\]])\s*$`)
	alternative = lazyregexp.New(`"[^"]*"|'[^']*'|\b(?:null|undefined)\b`)
	listed      = lazyregexp.New(`(?:^|,)\s*([A-Za-z_]\w*)`)
	arguments   = lazyregexp.New(`\([^)]*\)`)
	enumeration = lazyregexp.New(`\benum\b|^class\s+\w+\([^)]*(?:Enum|Flag)\b`)
	modifiers   = lazyregexp.New(`^(?:public|private|protected|static|\s)+$`)
	makers      = lazyregexp.New(`^(?:__init__|constructor|init|builder|(?:_?[dD]efault|[nN]ew|[cC]reate|with_|DEFAULT|from)\w*)$`)
)

// makes reports whether a function or variable of that name makes a value of the type around it, so that
// what it sets are defaults.
func makes(name, of string) bool { return makers.MatchString(name) || name == of }

// statement returns the text of the statement at line i up to its body or end, and its lines.
func (s *scan) statement(i int) (raw, masked []byte, n int) {
	open := 0
	for n < maxHead && i+n < len(s.raw) && len(raw) < maxHeadBytes {
		line := s.masked[i+n]
		raw = append(append(raw, s.raw[i+n]...), '\n')
		masked = append(append(masked, line...), '\n')
		n++
		for _, c := range line {
			switch c {
			case '(', '[':
				open++
			case ')', ']':
				open--
			}
		}
		if open <= 0 && !s.continues(i+n, masked) {
			break
		}
	}
	lead := len(masked) - len(bytes.TrimLeft(masked, " \t"))
	return raw[lead:], masked[lead:], n
}

// continues reports whether the statement continues at line i: with its result, its conditions, or
// the brace of its body.
func (s *scan) continues(i int, masked []byte) bool {
	if s.indented || i >= len(s.masked) || bytes.ContainsAny(masked, "{;}") {
		return false
	}
	if bytes.Contains(masked, []byte("\nwhere")) || bytes.Contains(masked, []byte(" where\n")) {
		return true
	}
	if joined.Match(masked) {
		return true
	}
	next := bytes.TrimSpace(s.masked[i])
	return slices.ContainsFunc([]string{"where", "throws", "{", "->", "|", "extends ", "implements "},
		func(w string) bool { return bytes.HasPrefix(next, []byte(w)) })
}

// above returns the first line of the comment above line i, and its first sentence.
func (s *scan) above(i int) (start int, doc string) {
	from := i
	var words []string
	for from > 0 {
		line := strings.TrimSpace(string(s.raw[from-1]))
		mark := strings.HasPrefix(line, "@") || strings.HasPrefix(line, "#[")
		if !mark && (line == "" || !commented(line, s.comment)) {
			break
		}
		if !mark {
			words = append(words, strings.Trim(line, "/*!# "))
		}
		from--
	}
	slices.Reverse(words)
	return from + 1, firstSentence(strings.Join(words, " "))
}

// commented reports whether a line is a comment.
func commented(line, mark string) bool {
	return strings.HasPrefix(line, mark) || mark == "//" &&
		(strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*"))
}

// below returns the first sentence of the string below the head of a declaration, or else doc.
func (s *scan) below(i int, doc string) string {
	if i >= len(s.raw) {
		return doc
	}
	text := strings.TrimLeft(strings.TrimSpace(string(s.raw[i])), "rRuU")
	for _, quote := range []string{`"""`, `'''`} {
		rest, ok := strings.CutPrefix(text, quote)
		if !ok {
			continue
		}
		for k := i + 1; !strings.Contains(rest, quote) && k < len(s.raw) && k < i+8; k++ {
			line := strings.TrimSpace(string(s.raw[k]))
			if line == "" {
				break
			}
			rest += " " + line
		}
		rest, _, _ = strings.Cut(rest, quote)
		return firstSentence(rest)
	}
	return doc
}

var statements = text.Set(`if for while switch else return do try catch with match loop unsafe foreach elif new throw
	await yield case typeof super assert synchronized`)

func (g *grammar) uses(text []byte, what string) []Use {
	pattern, err := regexp.Compile(`(?:^|[^\w$#])` + regexp.QuoteMeta(what) + `(\s*(?:(?:::)?<[^;()]*>)?\(|[^\w$]|$)`)
	if err != nil {
		return nil
	}
	all := g.read(text)
	var uses []Use
	for i, line := range bytes.Split(g.mask(text), []byte{'\n'}) {
		m := pattern.FindSubmatch(line)
		if m == nil || slices.ContainsFunc(all, func(d Declaration) bool {
			return d.Name == what && d.Line == i+1
		}) || imports.Match(line) {
			continue
		}
		in := Within(all, i+1)
		uses = append(uses, Use{Line: i + 1, In: in.Full(), Head: in.Line,
			Call: bytes.HasSuffix(m[1], []byte{'('})})
	}
	return uses
}

// joined matches a type whose next alternative is on the next line.
var joined = lazyregexp.New(`^(?:export\s+)?type\s.*[|=]\s*$`)

var imports = lazyregexp.New(`^\s*(?:import|from|use|pub use|export \{|package|require)\b|\brequire\(`)

package declaration

import (
	"bytes"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

var parameter = lazyregexp.New(`^\s*(?:final\s+)?\*{0,2}([A-Za-z_]\w*)\s*(?::[^=]+)?=\s*(\S.*?)\s*$`)

// alternatives returns the texts of a union of texts.
func alternatives(union string) (all []string) {
	for _, m := range alternative.FindAllString(unions.FindString(union), -1) {
		all = append(all, strings.Trim(m, `"'`))
	}
	return all
}

// enumerated returns the values of an enumeration that ends on its line.
func enumerated(head string) (all []string) {
	_, body, _ := strings.Cut(head, "{")
	body, _, _ = strings.Cut(body, ";")
	if values, _, ok := strings.Cut(body, "}"); ok {
		for _, m := range listed.FindAllStringSubmatch(arguments.ReplaceAllString(values, ""), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// member adds a declaration to the values of the enumeration around it, unless it is another name of one.
func (s *scan) member(d Declaration) {
	if len(s.around) == 0 || d.Kind != Constant && d.Kind != Field {
		return
	}
	if c := s.around[len(s.around)-1]; c.enum && c.at >= 0 && !slices.Contains(s.all[c.at].Members, d.Value) {
		s.all[c.at].Members = append(s.all[c.at].Members, d.Name)
	}
}

// parameters adds the parameters of a function that have a default.
func (s *scan) parameters(of Declaration, params string) {
	if !strings.Contains(params, "=") {
		return
	}
	masked := s.mask([]byte(params))
	from, open, line := 0, 0, of.Line+strings.Count(s.before(of, params), "\n")
	lead := len(params) - len(strings.TrimLeft(params, "\n"))
	for i := 0; i <= len(masked); i++ {
		switch {
		case i == len(masked) || masked[i] == ',' && open == 0:
			if m := parameter.FindStringSubmatch(strings.TrimSpace(params[from:i])); m != nil &&
				!strings.HasPrefix(m[2], ">") {
				s.all = append(s.all, Declaration{Kind: Parameter, Name: m[1], Owner: of.Full(),
					Line: min(line, of.End), Start: of.Line, End: of.End, Value: oneLine(m[2])})
			}
			from = i + 1
		case masked[i] == '(' || masked[i] == '[' || masked[i] == '{':
			open++
		case masked[i] == ')' || masked[i] == ']' || masked[i] == '}':
			open--
		case masked[i] == '\n' && i >= lead:
			line++
		}
	}
}

// before returns the head of a declaration up to its parameters.
func (s *scan) before(of Declaration, params string) string {
	head := string(bytes.Join(s.raw[of.Line-1:min(of.End, len(s.raw))], []byte{'\n'}))
	text, _, _ := strings.Cut(head, params)
	return text
}

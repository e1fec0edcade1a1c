package evidence

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

var (
	// noDefault is a claim that a value is not the default.
	noDefault = lazyregexp.New(`(?i)\b(?:does|do|did)(?:\s+not|n't)\s+default\s+to\s+["'` + "`" + `]*([\w.-]*\w)|["'` + "`" + `]+([\w.-]+)["'` + "`" + `]+\s+is(?:\s+not|n't)\s+the\s+default\b|\bis(?:\s+not|n't)\s+["'` + "`" + `]*([\w.-]*\w)["'` + "`" + `]*\s+by\s+default\b`)
	// byDefault are the ways in which lines name one.
	byDefault = lazyregexp.New(`(?i)["'` + "`" + `]*([\w.-]*\w)["'` + "`" + `]*\s+\((?:the )?default\)|\bdefault(?:s\s+to|\s+is|\s+value\s+is|\s*[:=])\s*["'` + "`" + `]*([\w.-]*\w)|\bdefault,?\s+(?:this|it)\s+is\s+(?:\w+\s+with\s+)?["'` + "`" + `]*([\w.-]*\w)`)
)

// defaulted says where a line has the value as the default that a claim denies it
// is.
func defaulted(claim string, against []*Evidence) string {
	for _, m := range noDefault.FindAllStringSubmatch(claim, -1) {
		value := m[1] + m[2] + m[3]
		for _, e := range against {
			for i := range e.all {
				p := &e.all[i]
				for _, d := range byDefault.FindAllStringSubmatch(p.text, -1) {
					if strings.EqualFold(d[1]+d[2]+d[3], value) {
						return fmt.Sprintf("says %s is not the default, %s has %s", value, e.at(p.line), strings.TrimSpace(d[0]))
					}
				}
			}
		}
	}
	if why := otherwise(claim, against); why != "" {
		return why
	}
	return stated(claim, against)
}

// itsDefault is a claim that a name has a value by default.
var itsDefault = lazyregexp.New(`(?i)\b([A-Za-z_][\w.-]*\w)\s+(?:is|defaults to|is set to)\s+(["'` + "`" + `][^"'` + "`" + `\s]{1,40}["'` + "`" + `]|\d[\w.]*\w|\d)(\s+by default)?`)

// inLine is what lines say of a default without its name.
var inLine = lazyregexp.New(`(?i)\bdefaults?\s+(?:to|is|value is)\s+(["'` + "`" + `]+[^"'` + "`" + `\s]{1,40}["'` + "`" + `]+|\d[\w.]*\w|\d)`)

// otherwise says where the one default that lines speak of is another than what a
// claim gives a name that stands there.
func otherwise(claim string, against []*Evidence) string {
	for _, m := range itsDefault.FindAllStringSubmatch(claim, -1) {
		if m[3] == "" && !strings.Contains(strings.ToLower(m[0]), "default") {
			continue
		}
		value, why := bare(m[2]), ""
		for _, e := range against {
			if e.prose || !hasWord(e.text, m[1]) {
				continue
			}
			for _, at := range inLine.FindAllStringSubmatchIndex(e.text, -1) {
				is := e.text[at[2]:at[3]]
				if strings.EqualFold(bare(is), value) {
					return ""
				}
				if before := e.text[max(0, at[0]-maxAround):at[0]]; hasWord(before, m[1]) {
					why = fmt.Sprintf("says %s is %s by default, %s has %s", m[1], m[2], e.at(e.lineOf(at[0])), is)
				}
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func bare(value string) string { return strings.Trim(value, "\"'`") }

var (
	// byItself is a claim that something is on or off by itself.
	byItself = lazyregexp.New(`(?i)\b([\w.]+)\s+(?:is|defaults to|starts out as|is initially|is set to)\s+["'` + "`" + `]*(true|false|on|off|enabled|disabled|["'` + "`" + `][\w./+-]+["'` + "`" + `])["'` + "`" + `]*(?:\s+by default|\s+initially)?|\bby default\s+([\w.]+)\s+is\s+(true|false|on|off|enabled|disabled)\b`)
	// unnamed is a line that says so of what it stands beside.
	unnamed = lazyregexp.New(`(?i)\b(?:this|it|which|initial value|default(?: value)?)\s+(?:is|to)\s+(?:currently\s+)?["'` + "`" + `]*(true|false)\b|\(default:?\s+["'` + "`" + `]*(true|false)\b|\bdefaults\s+to\s+["'` + "`" + `]*(true|false)\b|\b(off|on) by default\b`)
	// texted is a name that is given a text in code.
	texted = lazyregexp.New(`\b([A-Za-z_]\w*)["']?\s*(?::=|=|:)\s*["']([\w./+-]+)["']`)
)

// stated says where lines have another value for what a claim gives one: the text
// that a name is given in code, or the one default that all of them speak of.
func stated(claim string, against []*Evidence) string {
	for _, at := range byItself.FindAllStringSubmatchIndex(claim, -1) {
		if conditioned(claim[:at[0]]) {
			continue
		}
		m := byItself.FindStringSubmatch(claim[at[0]:])
		name, value := m[1]+m[3], strings.ToLower(m[2]+m[4])
		for _, e := range against {
			if strings.ContainsAny(value, "\"'`") {
				if why := e.otherText(name, strings.Trim(m[2], "\"'`")); why != "" {
					return why
				}
				continue
			}
			on := value == "true" || value == "on" || value == "enabled"
			if why := e.otherDefault(name, on); why != "" {
				return fmt.Sprintf("says %s is %s, %s", name, value, why)
			}
		}
	}
	return ""
}

// conditioned reports whether a text ends inside of a condition.
func conditioned(text string) bool {
	text = text[strings.LastIndexAny(text, ",;:.")+1:]
	return slices.ContainsFunc(terms(text), func(t term) bool { return words().when[t.text] })
}

// otherText tells of a name that lines give a text, and never this one.
func (e *Evidence) otherText(name, value string) string {
	why := ""
	for i := range e.all {
		p := &e.all[i]
		if !p.code {
			continue
		}
		for _, m := range texted.FindAllStringSubmatch(p.text, -1) {
			switch {
			case !strings.EqualFold(m[1], name):
			case m[2] == value:
				return ""
			default:
				why = fmt.Sprintf("says %s is %q, %s has %q", name, value, e.at(p.line), m[2])
			}
		}
	}
	return why
}

// otherDefault tells of lines that name one default alone, without its name, and
// the other one; the name must stand beside it.
func (e *Evidence) otherDefault(name string, on bool) string {
	why := ""
	for i := range e.all {
		p := &e.all[i]
		for _, m := range unnamed.FindAllStringSubmatch(p.text, -1) {
			is := strings.ToLower(m[1] + m[2] + m[3] + m[4])
			if (is == "true" || is == "on") == on {
				return ""
			}
			why = fmt.Sprintf("%s has %s", e.at(p.line), strings.TrimSpace(m[0]))
		}
	}
	if why == "" || !hasWord(e.text, name) || strings.ToLower(name) == name && !strings.Contains(name, "_") {
		return ""
	}
	return why
}

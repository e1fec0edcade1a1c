package search

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
	"tri/lib/judge/evidence"
)

// nothing matches a value that says that there is none.
var nothing = lazyregexp.New(`^(?:None|null|nil|undefined)$`)

// lists matches a declaration whose value is a list.
var lists = lazyregexp.New(`= *[(\[]`)

var literal = lazyregexp.New(`^(?:[-+*/ .\d_a-zA-Z]*\d[\w.]*(?: \* [\w.]+)?|\d+ ?<< ?\d+|\d[\w.]*|[rbu]?"[^"]*"|[rbu]?'[^']*'|(?i:true|false|nil|none|null|undefined)|(?:[\w]+(?:\.|::))*_?[A-Z][A-Z0-9_]+|(?:\w+(?:\.|::))*(?i:default)\w*(?:\(\))?|(?:\w+(?:\.|::))*[A-Z]\w+|\w+\.\w+\([\d", ]*\)|\w+\.\w+|\[\]|\{\}|(?:Some\()?(?:Duration::from_\w+)?\(?[\w"' ]+\){1,2})$`)

// typeName matches a type that is a name, one of its kind, or nothing.
var typeName = lazyregexp.New(`^[*&]?(?:(?:Option|Optional|null \|)[<\[ ])?(?:\w+(?:::|\.))*(\w+)[>\]]?$`)

// answerDefault says what a constant is, or what a field or parameter gets if nothing is given.
func answerDefault(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
	all = withDefaults(all)
	valued := only(all, plain)
	if len(valued) == 0 && !strings.HasPrefix(strings.ToLower(name), "default") {
		more := x.Definitions("default " + name)
		valued = only(more, func(d codesearch.Definition) bool { return !d.Aside && plain(d) && declares(d) })
	}
	if one := only(valued, func(d codesearch.Definition) bool {
		return d.Kind == declaration.Constant
	}); len(one) == 1 {
		valued = one
	}
	values := map[string]bool{}
	for _, d := range valued {
		if of := constant(x, d); of != nil {
			values[at(*of)] = true
		} else {
			values[d.Value] = true
		}
	}
	slices.SortStableFunc(valued, func(a, b codesearch.Definition) int {
		if a.Kind == declaration.Option {
			return strings.Compare(a.Value, b.Value)
		}
		return len(nothing.FindString(a.Value)) - len(nothing.FindString(b.Value))
	})
	if len(valued) == 0 {
		return statements(all)
	}
	switch {
	case len(valued) == 0, len(values) > 1 && (len(valued) > maxProofs || !exact):
		return nil
	case len(values) == 1:
		valued = valued[:1]
	case valued[0].Kind == declaration.Option:
		valued = slices.CompactFunc(valued, func(a, b codesearch.Definition) bool {
			return a.Value == b.Value
		})
	case slices.ContainsFunc(valued, func(d codesearch.Definition) bool { return d.Owner == "" }):
		return nil // two constants of one name: which is meant, only the place tells
	}
	c := &composed{}
	for _, d := range valued {
		say := defaults(d)
		if nothing.MatchString(d.Value) && len(c.proofs) > 0 {
			say = "Without a value, " + strings.Replace(say, " defaults to ", " is ", 1)
		}
		c.proofs = append(c.proofs, shows(d, strings.TrimSuffix(say, ".")))
		say = strings.TrimSuffix(say, ".") + " (" + at(d) + ")"
		if d.Kind == declaration.Option && d.Doc != "" {
			say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
		}
		if of := constant(x, d); of != nil {
			say += ", and `" + of.Name + "` is `" + of.Value + "` (" + at(*of) + ")"
			c.proofs = append(c.proofs, shows(*of, "`"+of.Name+"` is `"+of.Value+"`"))
		}
		c.say = strings.TrimSpace(c.say + " " + say + ".")
	}
	given := only(valued, func(d codesearch.Definition) bool { return !nothing.MatchString(d.Value) })
	if more := statements(all); more != nil && len(given) == 0 {
		c.say, c.proofs = c.say+" "+more.say, append(c.proofs, more.proofs...)
	}
	if len(c.proofs) > maxProofs {
		return nil
	}
	return c
}

// statements says what the comments of declarations state of their defaults.
func statements(all []codesearch.Definition) *composed {
	c := &composed{}
	for _, d := range all {
		p, said := stated(d)
		if said == "" {
			continue
		}
		say := fmt.Sprintf("`%s`, says its comment: \"%s\"", named(d), said)
		if c.proofs = append(c.proofs, p.upTo(d, say)); len(c.proofs) > maxProofs {
			return nil
		}
		if before, ok := strings.CutSuffix(c.say, ")."); ok && strings.HasPrefix(before, say+" (") {
			c.say = before + ", " + p.place() + ")."
		} else {
			c.say = strings.TrimSpace(c.say + " " + say + " (" + p.place() + ").")
		}
	}
	if len(c.proofs) == 0 {
		return nil
	}
	return c
}

// upTo extends a proof to the head of a declaration.
func (p proof) upTo(d codesearch.Definition, claim string) proof {
	first, last := p.start, p.end
	p.start, p.end, p.claim = min(first, d.Line), max(last, d.Line), claim
	switch {
	case d.Line-last > maxLeftOut || first-d.Line > maxLeftOut:
		p.start, p.end = first, last
	case d.Line-last > 2:
		p.from, p.to = last, d.Line
	case first-d.Line > 2:
		p.from, p.to = d.Line, first
	}
	return p
}

// fallbacks match values that are given where something else is not: that value.
var fallbacks = []*lazyregexp.Pattern{
	lazyregexp.New(`^[\w.?!'"\[\]()]+\s+(?:\?\?|\|\||or)\s+([^\s?|].*)$`),
	lazyregexp.New(`^[\w.]*\b(?:get\w*|pop|setdefault)\((?:\w+, *)?["'][\w.-]+["'], *([^(),]+)\)$`),
	lazyregexp.New(`\.unwrap_or\((.+)\)$`),
	lazyregexp.New(`^[\w.]+ if [\w.]+ is not None else (.+)$`),
	lazyregexp.New(`^(.+) if [\w.]+ is None else [\w.]+$`),
	lazyregexp.New(`^[\w.]+ (?:!== undefined|!=  ?null|!== null) \? [\w.]+ : (.+)$`),
	lazyregexp.New(`^[\w.]+ (?:=== undefined|===? ?null) \? (.+) : [\w.]+$`),
}

// withDefaults returns definitions of which the value of one that is given from elsewhere is what it falls
// back to.
func withDefaults(all []codesearch.Definition) []codesearch.Definition {
	all = slices.Clone(all)
	for i := range all {
		for _, f := range fallbacks {
			if m := f.FindStringSubmatch(all[i].Value); m != nil {
				all[i].Value = m[1]
				break
			}
		}
	}
	return all
}

// member matches a name in a package or a variable.
var member = lazyregexp.New(`^([a-z_]\w*)\.\w+$`)

// imports reports whether a file imports a package of that name.
func imports(lines []string, name string) bool {
	return slices.ContainsFunc(lines[:min(len(lines), 200)], func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.HasSuffix(line, "/"+name+`"`) || strings.HasSuffix(line, `"`+name+`"`) ||
			strings.HasPrefix(line, "import ") && slices.Contains(strings.Fields(line)[1:], name)
	})
}

// plain reports whether a definition gives a value that says something by itself: a literal, a constant.
func plain(d codesearch.Definition) bool {
	if !literal.MatchString(d.Value) || strings.HasPrefix(d.Value, "self.") ||
		strings.HasPrefix(d.Value, "this.") {
		return false
	}
	last := d.Value[strings.LastIndexAny(d.Value, ".:")+1:]
	if m := member.FindStringSubmatch(d.Value); m != nil && !imports(d.Lines, m[1]) {
		return false // of a variable
	}
	return !strings.EqualFold(strings.Trim(last, "_"), strings.Trim(d.Name, "_"))
}

// defaults says what value a definition gives.
func defaults(d codesearch.Definition) string {
	switch d.Kind {
	case declaration.Parameter:
		return fmt.Sprintf("`%s` of `%s` defaults to `%s`.", d.Name,
			d.Owner[strings.LastIndexByte(d.Owner, '.')+1:], d.Value)
	case declaration.Setting:
		if full := named(d); full == d.Name {
			return fmt.Sprintf("`%s` is `%s` by default.", d.Name, d.Value)
		}
		return fmt.Sprintf("`%s` sets `%s` to `%s`.", d.Owner, d.Name, d.Value)
	case declaration.Field, declaration.Option:
		return fmt.Sprintf("`%s` is `%s` by default.", named(d), d.Value)
	}
	return fmt.Sprintf("`%s` is `%s`.", named(d), d.Value)
}

// constant returns the constant that a value names, if there is exactly one.
func constant(x *codesearch.Index, d codesearch.Definition) *codesearch.Definition {
	name := d.Value[strings.LastIndexByte(d.Value, '.')+1:]
	if !spelling.MatchString(d.Value) || len(name) < 3 || name == d.Name {
		return nil
	}
	of := only(x.Definitions(name), func(o codesearch.Definition) bool {
		return o.Name == name && !o.Aside && o.Value != "" &&
			(o.Kind == declaration.Constant || o.Kind == declaration.Variable)
	})
	if near := only(of, func(o codesearch.Definition) bool { return o.Path == d.Path }); len(near) > 0 {
		of = near
	}
	if len(of) != 1 {
		return nil
	}
	return &of[0]
}

// answerValues lists the values of an enumeration, or of a field that has one as its type; the types that
// extend a type; or the texts that a function compares.
func answerValues(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
	listed := only(all, func(d codesearch.Definition) bool {
		return len(d.Members) > 1 && (declares(d) || !lists.MatchString(d.Lines[d.Line-1]))
	})
	if len(listed) == 0 {
		for _, d := range all {
			if m := typeName.FindStringSubmatch(d.Type); m != nil &&
				(d.Kind == declaration.Field || d.Kind == declaration.Parameter) {
				listed = append(listed, only(x.Definitions(m[1]), func(o codesearch.Definition) bool {
					return !o.Aside && o.Name == m[1] && len(o.Members) > 1
				})...)
			}
		}
		listed = slices.CompactFunc(listed, func(a, b codesearch.Definition) bool {
			return a.Path == b.Path && a.Line == b.Line
		})
	}
	if len(listed) == 0 {
		return cmp.Or(extended(x, all), compared(x, name, all))
	}
	slices.SortStableFunc(listed, func(a, b codesearch.Definition) int {
		return strings.Count(a.Path, "/") - strings.Count(b.Path, "/")
	})
	listed = slices.CompactFunc(listed, func(a, b codesearch.Definition) bool {
		return slices.Equal(a.Members, b.Members)
	})
	c := &composed{}
	for _, d := range listed {
		if !c.members(d) {
			return nil
		}
	}
	if len(listed) > 2 || len(listed) > 1 && !exact {
		return nil
	}
	return c
}

// members adds the values of an enumeration; it returns false if their lines cannot be shown.
func (c *composed) members(d codesearch.Definition) bool {
	if len(d.Members) > 24 {
		return false
	}
	say := fmt.Sprintf("The values of `%s` are `%s`", d.Name, strings.Join(d.Members, "`, `"))
	if lists.MatchString(d.Lines[d.Line-1]) {
		say = strings.Replace(strings.Replace(say, "The values of ", "", 1), "` are `", "` lists `", 1)
	}
	p := proof{path: d.Path, start: d.Line, lines: d.Lines, claim: say, kept: []int{d.Line}}
	first := 0
	for _, m := range d.Members {
		n := line(d, m)
		if p.end = n; n < p.kept[len(p.kept)-1] || n-p.kept[len(p.kept)-1] > maxLeftOut {
			return false
		}
		if first == 0 {
			first = n
		}
		if n > p.kept[len(p.kept)-1] {
			p.kept = append(p.kept, n)
		}
	}
	if p.end-first < maxProof {
		p.kept = nil
		if first-d.Line > 1 {
			p.from, p.to = d.Line, first
		}
	}
	c.proofs = append(c.proofs, p)
	c.say = strings.TrimSpace(c.say + " " + say + " (" +
		evidence.Place{Path: d.Path, Start: first, End: p.end}.String() + ").")
	return true
}

// extended lists the types that extend a type.
func extended(x *codesearch.Index, all []codesearch.Definition) *composed {
	all = only(all, func(d codesearch.Definition) bool { return d.Kind == declaration.Type })
	if len(all) != 1 {
		return nil
	}
	c := &composed{}
	var names []string
	pattern, err := regexp.Compile(`\b(?:class|enum|record|struct|interface) (\w+)\b[^{]*(?:\(|\b(?:extends|implements)\b)[^{(]*\b` +
		all[0].Name + `\b|^impl\b.*\b` + all[0].Name + `\b.* for (\w+)`)
	if err != nil {
		return nil
	}
	for _, u := range x.Uses(all[0].Name) {
		if m := pattern.FindStringSubmatch(u.Lines[u.Line-1]); m != nil && !u.Aside {
			place := evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String()
			names = append(names, "`"+m[1]+m[2]+"` ("+place+")")
			c.proofs = append(c.proofs, proof{path: u.Path, start: u.Line, end: u.Line, lines: u.Lines,
				claim: "`" + strings.TrimSpace(u.Lines[u.Line-1]) + "`"})
		}
	}
	if len(names) < 2 || len(names) > maxCallers {
		return nil
	}
	c.say = fmt.Sprintf("`%s` is extended by %s.", all[0].Name, join(names))
	return c
}

// cases match the texts of the cases of a switch, or of the arms of a match, in its lines.
var (
	switched = lazyregexp.New(`^\s*(?:\w+ :?= )?(?:switch|match)\b`)
	cases    = lazyregexp.New(`^\s*(?:case\s+((?:["'][^"']+["'](?:,\s*)?)+)\s*(?::|->)|((?:"[^"]+"(?:\s*\|\s*)?)+)\s*=>)`)
)

// compared lists the texts that the only switch of a function compares, or that behind the only place where a
// variable of the environment is read.
func compared(x *codesearch.Index, name string, all []codesearch.Definition) *composed {
	from, to, of := 0, 0, codesearch.Use{}
	if functions := only(all, func(d codesearch.Definition) bool {
		return d.Kind == declaration.Function || d.Kind == declaration.Method
	}); len(functions) == 1 {
		d := functions[0]
		from, to, of = d.Line, min(d.End, d.Line+maxLeftOut), codesearch.Use{Path: d.Path, Lines: d.Lines}
	} else if uses := only(x.Uses(name), func(u codesearch.Use) bool {
		return !u.Aside
	}); len(all) == 0 && len(uses) > 0 {
		of = uses[len(uses)-1]
		from, to = of.Line, min(of.Line+maxProof, len(of.Lines))
	}
	var values []string
	first, last, switches := 0, 0, 0
	for n := from; n > 0 && n <= min(to+maxLeftOut, len(of.Lines)); n++ {
		line := of.Lines[n-1]
		if switched.MatchString(line) {
			if switches++; n > to || switches > 1 {
				break
			}
			first = n
		}
		if m := cases.FindStringSubmatch(line); m != nil && switches > 0 {
			for _, v := range alternative.FindAllString(m[1]+m[2], -1) {
				values = append(values, strings.Trim(v, `"'`))
			}
			last = n
		}
		if lead := indentation(line); first > 0 && n > first && lead >= 0 &&
			lead <= indentation(of.Lines[first-1]) && !cases.MatchString(line) {
			break
		}
	}
	if len(values) < 2 || len(values) > 24 || last-from > maxLeftOut {
		return nil
	}
	say := fmt.Sprintf("The cases for `%s` are `%s`", name, strings.Join(values, "`, `"))
	if len(all) > 0 {
		say = fmt.Sprintf("`%s` has cases for `%s`", name, strings.Join(values, "`, `"))
	}
	p := proof{path: of.Path, start: from, end: last, lines: of.Lines, claim: say}
	if first-from > 2 {
		p.from, p.to = from, first
	}
	return &composed{say: say + " (" + evidence.Place{Path: of.Path, Start: first, End: last}.String() + ").",
		proofs: []proof{p}}
}

var alternative = lazyregexp.New(`"[^"]*"|'[^']*'`)

// line returns the line of a definition, or behind it, that declares a value; 0 if none does.
func line(d codesearch.Definition, name string) int {
	last := min(len(d.Lines), d.End+5*maxProof)
	for n := d.Line; n <= last; n++ {
		rest, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(d.Lines[n-1]), `"'|`), name)
		if ok && n <= d.End && (rest == "" || strings.ContainsAny(rest[:1], " \t,=(;{:\"'")) {
			return n
		}
	}
	for n := d.Line; n <= last; n++ {
		text := d.Lines[n-1]
		if n > d.End {
			text, _, _ = strings.Cut(text, "=")
		}
		if strings.HasPrefix(strings.TrimSpace(text), "//") {
			continue
		}
		if slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
			return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), name) {
			return n
		}
	}
	return 0
}

package search

import (
	"fmt"
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

// noted is a comment behind a declaration that names its default, told a line of the comment above.
var (
	noted = lazyregexp.New(`(?://|#) *((?i:by )?(?i:default)s?(?: (?:is|to))?:? [^` + "`" + `"]{1,60})$`)
	told  = lazyregexp.New(`^\s*(?:///?|#|\*) *((?i:default)s?(?: value)?(?: is| to|:) [^` + "`" + `"]{1,60})\.$`)
)

// lists matches a declaration whose value is a list.
var lists = lazyregexp.New(`= *[(\[]`)

var literal = lazyregexp.New(`^(?:[-+*/ .\d_a-zA-Z]*\d[\w.]*(?: \* [\w.]+)?|\d+ ?<< ?\d+|\d[\w.]*|[rbu]?"[^"]*"|[rbu]?'[^']*'|(?i:true|false|nil|none|null|undefined)|(?:[\w]+(?:\.|::))*_?[A-Z][A-Z0-9_]+|(?:\w+(?:\.|::))*(?i:default)\w*(?:\(\))?|(?:\w+(?:\.|::))*[A-Z]\w+|\w+\.\w+\([\d", ]*\)|\w+\.\w+|\[\]|\{\}|(?:Some\()?(?:Duration::from_\w+)?\(?[\w"' ]+\){1,2})$`)

// typeName matches a type that is a name, one of its kind, or nothing.
var typeName = lazyregexp.New(`^[*&]?(?:(?:Option|Optional|null \|)[<\[ ])?(?:\w+(?:::|\.))*(\w+)[>\]]?$`)

// answerDefault says what a constant is, or what a field or parameter gets if nothing is given.
func answerDefault(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
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
		return len(nothing.FindString(a.Value)) - len(nothing.FindString(b.Value))
	})
	if declared := only(all, declares); len(valued) == 0 && len(declared) == 1 {
		return commented(declared[0])
	}
	switch {
	case len(valued) == 0, len(values) > 1 && (len(valued) > maxProofs || !exact):
		return nil
	case len(values) == 1:
		valued = valued[:1]
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
		if of := constant(x, d); of != nil {
			say += ", and `" + of.Name + "` is `" + of.Value + "` (" + at(*of) + ")"
			c.proofs = append(c.proofs, shows(*of, "`"+of.Name+"` is `"+of.Value+"`"))
		}
		c.say = strings.TrimSpace(c.say + " " + say + ".")
	}
	if len(c.proofs) > maxProofs {
		return nil
	}
	return c
}

// commented says what the comment of a declaration says of its default, if it says it once.
func commented(d codesearch.Definition) *composed {
	var c *composed
	for n := d.Start; n <= d.Line; n++ {
		pattern := told
		if n == d.Line {
			pattern = noted
		}
		m := pattern.FindStringSubmatch(strings.TrimRight(d.Lines[n-1], " \r"))
		if m == nil {
			continue
		}
		if c != nil || d.Line-n > maxLeftOut {
			return nil
		}
		say := fmt.Sprintf("`%s` has, says its comment: \"%s\"", d.Name, strings.TrimSuffix(m[1], "."))
		p := proof{path: d.Path, start: n, end: d.Line, lines: d.Lines, claim: say}
		c = &composed{say: say + " (" + evidence.Place{Path: d.Path, Start: n, End: n}.String() + ").",
			proofs: []proof{p}}
	}
	return c
}

// plain reports whether a definition gives a value that says something by itself: a literal, a constant.
func plain(d codesearch.Definition) bool {
	if !literal.MatchString(d.Value) || strings.HasPrefix(d.Value, "self.") ||
		strings.HasPrefix(d.Value, "this.") {
		return false
	}
	last := d.Value[strings.LastIndexAny(d.Value, ".:")+1:]
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
	case declaration.Field:
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
	if len(of) != 1 {
		return nil
	}
	return &of[0]
}

// answerValues lists the values of an enumeration, or of a field that has one as its type.
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
	if len(listed) != 1 {
		return nil
	}
	d := listed[0]
	if len(d.Members) > 24 {
		return nil
	}
	say := fmt.Sprintf("The values of `%s` are `%s`", d.Name, strings.Join(d.Members, "`, `"))
	if lists.MatchString(d.Lines[d.Line-1]) {
		say = strings.Replace(strings.Replace(say, "The values of ", "", 1), "` are `", "` lists `", 1)
	}
	first, last := line(d, d.Members[0]), line(d, d.Members[len(d.Members)-1])
	if first == 0 || last < first || last-d.Line > maxLeftOut {
		return nil
	}
	p := proof{path: d.Path, start: d.Line, end: last, lines: d.Lines, claim: say}
	if first-d.Line > 1 {
		p.from, p.to = d.Line, first
	}
	return &composed{say: say + " (" + evidence.Place{Path: d.Path, Start: first, End: last}.String() + ").",
		proofs: []proof{p}}
}

// line returns the line of a definition, or behind it, that declares a value; 0 if none does.
func line(d codesearch.Definition, name string) int {
	last := min(len(d.Lines), d.End+3*maxProof)
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

package search

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// answerReturns says what a function returns.
func answerReturns(_ *codesearch.Index, _ string, all []codesearch.Definition, _ bool) *composed {
	all = only(all, func(d codesearch.Definition) bool {
		return d.Kind == declaration.Function || d.Kind == declaration.Method
	})
	if len(all) != 1 || all[0].Type == "void" {
		return nil
	}
	d := all[0]
	if d.Type == "" {
		return documented(d)
	}
	say := fmt.Sprintf("`%s` returns `%s`", named(d), d.Type)
	return &composed{say: say + " (" + at(d) + ").", proofs: []proof{shows(d, say)}}
}

// answerWhat says what the comment of a declaration says of it; without a comment, where it is.
func answerWhat(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
	told := only(all, func(d codesearch.Definition) bool {
		return d.Doc != "" && declares(d) &&
			(exact || d.Kind == declaration.Function || d.Kind == declaration.Type)
	})
	if len(only(all, declares)) > maxProofs {
		return nil // a method that many types have
	}
	if len(told) != 1 {
		return answerWhere(x, name, all, exact)
	}
	d := told[0]
	say := fmt.Sprintf("`%s`: \"%s\"", named(d), strings.TrimSuffix(d.Doc, "."))
	return &composed{say: say + " (" + at(d) + ").", proofs: []proof{shows(d, say)}}
}

var returned = lazyregexp.New(`(?::returns?:|@returns?)\s+(.+)$`)

// documented says what the comment of a function says that it returns.
func documented(d codesearch.Definition) *composed {
	for n := d.Start; n <= min(d.End, d.Line+maxLeftOut, len(d.Lines)); n++ {
		m := returned.FindStringSubmatch(strings.TrimRight(d.Lines[n-1], " */"))
		if m == nil || strings.Contains(m[1], "`") {
			continue
		}
		say := fmt.Sprintf("`%s` returns, says its comment: \"%s\"", d.Name, strings.TrimSuffix(m[1], "."))
		p := proof{path: d.Path, start: min(n, d.Line), end: max(n, d.Line), lines: d.Lines, claim: say}
		if p.end-p.start > maxLeftOut {
			return nil
		}
		if p.end-p.start > 2 {
			p.from, p.to = p.start, p.end
		}
		return &composed{say: say + " (" + evidence.Place{Path: d.Path, Start: n, End: n}.String() + ").",
			proofs: []proof{p}}
	}
	return nil
}

// answerCallers lists the functions that call a function, or use another name.
func answerCallers(x *codesearch.Index, _ string, all []codesearch.Definition, exact bool) *composed {
	all = only(all, declares)
	if len(all) == 0 || !exact && len(all) > 1 {
		return nil
	}
	name := all[0].Name
	if !written(name) && all[0].Kind != declaration.Function && all[0].Kind != declaration.Type {
		return nil // other things may have the same word as their name
	}
	uses := only(usesOf(x, all[0]), func(u codesearch.Use) bool {
		return !u.Aside && u.In != "" && u.In != all[0].Full()
	})
	called := only(uses, func(u codesearch.Use) bool { return u.Call })
	calls := (all[0].Kind == declaration.Function || all[0].Kind == declaration.Method) && len(called) > 0
	if calls {
		uses = called
	}
	if len(all) > 1 && slices.ContainsFunc(all, func(d codesearch.Definition) bool {
		return d.Owner != all[0].Owner
	}) {
		return nil // which of them is called, only types tell
	}
	var c composed
	var said []string
	seen := map[string]bool{}
	others := ""
	for _, u := range uses {
		if seen[u.Path+u.In] {
			continue
		}
		if len(said) == maxCallers {
			others = ", and in other places"
			break
		}
		seen[u.Path+u.In] = true
		place := evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String()
		p := within(u)
		if p.start <= u.Head {
			place = fmt.Sprintf("`%s` (%s)", u.In, place)
		}
		said = append(said, place)
		c.proofs = append(c.proofs, p)
	}
	if len(said) == 0 {
		return nil
	}
	verb := "used"
	if calls {
		verb = "called"
	}
	c.say = fmt.Sprintf("`%s` is %s in %s%s.", name, verb, join(said), others)
	return &c
}

// usesOf returns the uses of a definition: of its name, unless it is that of another package, as far as
// Go tells.
func usesOf(x *codesearch.Index, d codesearch.Definition) []codesearch.Use {
	dir := path.Base(path.Dir(d.Path))
	return only(x.Uses(d.Name), func(u codesearch.Use) bool {
		host, _, _ := strings.Cut(u.From, "/")
		switch {
		case u.From == "":
			return (path.Ext(u.Path) == ".go") == (path.Ext(d.Path) == ".go")
		case d.Kind == declaration.Method, d.Kind == declaration.Field:
			return false
		case dir == ".": // imported by the name of the module
			return strings.Contains(host, ".")
		}
		return path.Base(u.From) == dir
	})
}

// within returns the line of a use with the head of the function around it.
func within(u codesearch.Use) proof {
	p := proof{path: u.Path, start: u.Line, end: u.Line, lines: u.Lines,
		claim: "`" + strings.ReplaceAll(strings.TrimSpace(u.Lines[u.Line-1]), "`", "'") + "`"}
	if u.Head > 0 && u.Head < u.Line && u.Line-u.Head < maxLeftOut {
		p.start = u.Head
		if u.Line-u.Head > 2 {
			p.from, p.to = u.Head, u.Line
		}
	}
	return p
}

// answerError says what an error is, and which functions give it.
func answerError(x *codesearch.Index, name string, all []codesearch.Definition, _ bool) *composed {
	all = only(all, func(d codesearch.Definition) bool {
		return d.Kind == declaration.Variable || d.Kind == declaration.Constant || d.Kind == declaration.Type
	})
	if len(all) != 1 {
		return nil
	}
	d := all[0]
	say := fmt.Sprintf("`%s` is in %s", d.Name, at(d))
	if d.Value != "" {
		say = fmt.Sprintf("`%s` is `%s` (%s)", d.Name, d.Value, at(d))
	}
	c := &composed{say: say, proofs: []proof{shows(d, here(d))}}
	if d.Doc != "" {
		c.say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
	}
	var said []string
	seen := map[string]bool{}
	for _, u := range usesOf(x, d) {
		text := strings.TrimSpace(u.Lines[u.Line-1])
		gives := strings.HasPrefix(text, "return") || strings.HasPrefix(text, "raise") ||
			strings.HasPrefix(text, "throw") || strings.Contains(text, "Err(")
		if u.Aside || u.In == "" || !gives || seen[u.In] {
			continue
		}
		seen[u.In] = true
		said = append(said, fmt.Sprintf("`%s` (%s)", u.In,
			evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}))
		if len(c.proofs) < draft.MaxRefs {
			c.proofs = append(c.proofs, condition(u))
		}
	}
	c.say += "."
	if len(said) > 0 && len(said) < draft.MaxRefs {
		c.say += " It is given by " + join(said) + "."
	} else {
		c.proofs = c.proofs[:1]
	}
	if len(said) == 0 && d.Doc == "" {
		return nil
	}
	return c
}

// answerMessage says which functions have a message in their text.
func answerMessage(x *codesearch.Index, message string) *composed {
	if len(strings.Fields(message)) < 2 {
		return nil
	}
	uses := only(x.Saying(message), func(u codesearch.Use) bool { return !u.Aside })
	if len(uses) == 0 || len(uses) > maxProofs {
		return nil
	}
	c := &composed{exact: true}
	var said []string
	for _, u := range uses {
		place := evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String()
		if u.In != "" {
			place = "`" + u.In + "` (" + place + ")"
		}
		said = append(said, place)
		p := condition(u)
		p.claim = "\"" + message + "\""
		c.proofs = append(c.proofs, p)
	}
	c.say = fmt.Sprintf("\"%s\" is in %s.", message, join(said))
	return c
}

// condition returns the line of a use and the condition above it.
func condition(u codesearch.Use) proof {
	start := u.Line
	for n := u.Line - 1; n >= max(1, u.Line-3); n-- {
		text := strings.TrimLeft(u.Lines[n-1], " \t}")
		if strings.HasPrefix(text, "if ") || strings.HasPrefix(text, "if(") ||
			strings.HasPrefix(text, "else") || strings.HasPrefix(text, "elif ") ||
			strings.HasPrefix(text, "case ") || strings.HasPrefix(text, "except ") ||
			strings.HasPrefix(text, "catch") {
			start = n
			break
		}
	}
	return proof{path: u.Path, start: start, end: u.Line, lines: u.Lines,
		claim: "`" + strings.TrimSpace(u.Lines[u.Line-1]) + "`"}
}

// setters are how the names of functions that set something begin.
var setters = []string{"with ", "set ", ""}

// answerConfig names the function, field or parameter by which something is set.
func answerConfig(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
	for _, begin := range setters {
		found := all
		if begin != "" {
			found = only(x.Definitions(begin+name), func(d codesearch.Definition) bool {
				return !d.Aside && (d.Kind == declaration.Function || d.Kind == declaration.Method)
			})
		} else {
			found = only(all, func(d codesearch.Definition) bool {
				return d.Doc != "" && d.Kind != declaration.Type && d.Kind != declaration.Setting
			})
		}
		if len(found) == 0 || len(found) > 2 || !exact && len(found) > 1 {
			continue
		}
		c := &composed{}
		for _, d := range found {
			say := fmt.Sprintf("By `%s`", named(d))
			if d.Doc != "" {
				say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
			}
			c.say = strings.TrimSpace(c.say + " " + say + " (" + at(d) + ").")
			c.proofs = append(c.proofs, shows(d, say))
		}
		return c
	}
	return nil
}

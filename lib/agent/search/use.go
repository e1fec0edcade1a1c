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

// does matches a question for what a function of a name does, in a word.
var does = lazyregexp.New(`(?i)\bwhat does (?:the )?(func|function|method|class|type|struct) ` + "`?(\\w+)`?(?:\\(\\))?" + ` (\w{4,})\??$`)

// answerDoes says what the comment says of the only declaration of a name whose comment has the word of the
// question.
func answerDoes(x *codesearch.Index, question string) *composed {
	m := does.FindStringSubmatch(strings.TrimSpace(question))
	if m == nil {
		return nil
	}
	word := strings.ToLower(m[3][:len(m[3])-1])
	all := only(x.Definitions(m[2]), func(d codesearch.Definition) bool {
		return isMain(d) && declares(d) && strings.Contains(strings.ToLower(d.Doc), word) &&
			(d.Kind == declaration.Function) == strings.HasPrefix(m[1], "func") &&
			(d.Kind == declaration.Method) == (m[1] == "method")
	})
	if len(all) != 1 {
		return nil
	}
	c := answerWhat(x, m[2], all, true)
	c.exact = true
	return c
}

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

// answerCallers lists the functions that call a function, or use another name: those in its file, if others
// have a function of that name.
func answerCallers(x *codesearch.Index, _ string, all []codesearch.Definition, exact bool) *composed {
	all = only(all, declares)
	if len(all) == 0 || !exact && len(all) > 1 {
		return nil
	}
	one := !slices.ContainsFunc(all, func(d codesearch.Definition) bool { return d.Path != all[0].Path })
	elsewhere := one && slices.ContainsFunc(x.Definitions(all[0].Name), func(d codesearch.Definition) bool {
		return declares(d) && !d.Aside && d.Path != all[0].Path
	})
	name := all[0].Name
	if !written(name) && (len(all) > 1 ||
		all[0].Kind != declaration.Function && all[0].Kind != declaration.Type) {
		return nil // other things may have the same word as their name
	}
	uses := only(usesOf(x, all[0]), func(u codesearch.Use) bool {
		return !u.Aside && (u.In != "" || u.Call) && (!elsewhere || u.Path == all[0].Path) &&
			!slices.ContainsFunc(all, func(d codesearch.Definition) bool {
				return u.Path == d.Path && u.In == d.Full()
			})
	})
	called := only(uses, func(u codesearch.Use) bool { return u.Call })
	calls := (all[0].Kind == declaration.Function || all[0].Kind == declaration.Method) && len(called) > 0
	if calls {
		uses = called
	}
	var c composed
	var said []string
	others := ""
	for i, u := range uses {
		again := i > 0 && uses[i-1].Path == u.Path && uses[i-1].In == u.In
		proofs := c.proofs
		if last := len(proofs) - 1; again && u.Line-proofs[last].end < maxProof && proofs[last].to == 0 &&
			proofs[last].kept == nil {
			proofs[last].end = u.Line
		} else {
			proofs = append(proofs, within(u, again)...)
		}
		if len(proofs) > maxCallers {
			others = ", and in other places"
			break
		}
		c.proofs = proofs
		place := evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String()
		in := inside(u, &c.proofs[len(c.proofs)-1])
		switch {
		case in == "": // in no function that has a name
			said = append(said, place)
		case again:
			said[len(said)-1] = strings.TrimSuffix(said[len(said)-1], ")") + ", " + place + ")"
		default:
			said = append(said, fmt.Sprintf("`%s` (%s)", in, place))
		}
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

// implements matches the head of the functions of a type in Rust.
var implements = lazyregexp.New(`^\s*(?:unsafe )?impl\b.*?(\w+)(?:<[^{]*>)?\s*(?:where\b.*)?\{?$`)

// inside returns the name of the function around a use. In Rust no declaration has the functions of a type in
// it: the proof gets the head of them, or the name is without its owner.
func inside(u codesearch.Use, p *proof) string {
	dot := strings.LastIndexByte(u.In, '.')
	if dot < 0 || path.Ext(u.Path) != ".rs" || strings.Contains(strings.Join(p.quote(), "\n"), u.In[:dot]) {
		return u.In
	}
	for n := p.start - 1; n > max(0, p.start-maxLeftOut); n-- {
		m := implements.FindStringSubmatch(u.Lines[n-1])
		if m == nil {
			continue
		}
		if m[1] != u.In[:dot] {
			break
		}
		kept := []int{n}
		for k := p.start; k <= p.end; k++ {
			if k <= p.from || p.to == 0 || k >= p.to {
				kept = append(kept, k)
			}
		}
		p.start, p.kept = n, kept
		return u.In
	}
	return u.In[dot+1:]
}

// within returns the line of a use with the head of the function around it, or without it.
func within(u codesearch.Use, alone bool) []proof {
	p := proof{path: u.Path, start: u.Line, end: u.Line, lines: u.Lines,
		claim: "`" + strings.ReplaceAll(strings.TrimSpace(u.Lines[u.Line-1]), "`", "'") + "`"}
	switch {
	case alone || u.Head < 1 || u.Head >= u.Line:
		return []proof{p}
	case u.Line-u.Head >= maxLeftOut:
		head := p
		head.start, head.end, head.claim = u.Head, u.Head, "`"+strings.TrimSpace(u.Lines[u.Head-1])+"`"
		return []proof{head, p}
	}
	if p.start = u.Head; u.Line-u.Head > 2 {
		p.from, p.to = u.Head, u.Line
	}
	return []proof{p}
}

// branch matches a line that begins a block under a condition.
var branch = lazyregexp.New(`^\s*(?:\} ?)?(if|elif|else if|else)\b *(.*?) *[{:]? *$`)

// condition returns the line of a use with the condition around it, and the condition in words.
func condition(u codesearch.Use) (p proof, only string) {
	p = proof{path: u.Path, start: u.Line, end: u.Line, lines: u.Lines,
		claim: "`" + strings.TrimSpace(u.Lines[u.Line-1]) + "`"}
	var not []string
	from := u.Line
	if open := branch.FindStringSubmatch(u.Lines[u.Line-1]); open == nil {
		from = declaration.Opener(u.Lines, u.Line, u.Head)
		for from > 0 && !declaration.Condition.MatchString(u.Lines[from-1]) {
			from = declaration.Opener(u.Lines, from, u.Head)
		}
	}
	if from == 0 || u.Line-from > maxLeftOut {
		if p.start = max(u.Line-2, min(u.Head, u.Line), 1); u.Head > 0 && u.Line-u.Head <= maxProof {
			p.start = u.Head
		}
		return p, ""
	}
	m := branch.FindStringSubmatch(u.Lines[from-1])
	p.start = from
	defer func() {
		if u.Line-p.start > maxProof {
			p.from, p.to = p.start, max(from, p.start+1)
		}
	}()
	broken := func(m []string) bool {
		return m == nil || strings.Count(m[2], "(") != strings.Count(m[2], ")") || strings.Contains(m[2], "`")
	}
	test := func(m []string) string {
		if text := m[2]; strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
			return text[1 : len(text)-1]
		}
		return m[2]
	}
	switch {
	case broken(m) || u.Line == from && m[1] != "else":
		return p, ""
	case m[1] != "else":
		only = ", only if `" + test(m) + "`"
	}
	for n := from - 1; m[1] != "if" && n > max(u.Head, u.Line-maxLeftOut); n-- {
		if indentation(u.Lines[n-1]) != indentation(u.Lines[from-1]) {
			continue
		}
		if up := branch.FindStringSubmatch(u.Lines[n-1]); up != nil && broken(up) {
			return p, ""
		} else if up != nil && up[2] != "" {
			m, not = up, append([]string{"`" + test(up) + "`"}, not...)
			p.start = n
		}
	}
	if m[1] == "if" && len(not) > 0 {
		only += ", unless " + strings.Join(not, " or ")
	}
	return p, only
}

// source returns the lines of a definition.
func source(d codesearch.Definition) string { return strings.Join(d.Lines[d.Start-1:d.End], "\n") }

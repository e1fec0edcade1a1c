package search

import (
	"fmt"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// answerError says what an error is, and which functions give it.
func answerError(x *codesearch.Index, name string, all []codesearch.Definition, _ bool) *composed {
	all = only(all, func(d codesearch.Definition) bool {
		return d.Kind == declaration.Variable || d.Kind == declaration.Constant ||
			d.Kind == declaration.Type || d.Kind == declaration.Setting && capitals.MatchString(d.Name)
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
	if m := texts.FindString(source(d)); d.Kind == declaration.Setting && d.Value == "" && m != "" {
		c.say += ": " + m
	}
	if d.Doc != "" {
		c.say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
	}
	var said []string
	for _, u := range usesOf(x, d) {
		if line := u.Lines[u.Line-1]; u.Aside || u.In == "" || !gives.MatchString(line) &&
			(!u.Call || tested.MatchString(line) || catches.MatchString(line)) {
			continue
		}
		said = c.given(said, u)
	}
	c.say += "."
	if len(c.proofs) > 1 && len(c.proofs) <= draft.MaxRefs {
		c.say += " It is given by " + join(said) + "."
	} else {
		c.proofs = c.proofs[:1]
	}
	if len(said) == 0 && d.Doc == "" {
		return nil
	}
	return c
}

// texts matches a text of several words.
var texts = lazyregexp.New(`"[^"\n]+ [^"\n]+"|'[^'\n]+ [^'\n]+'`)

// capitals matches the name of a code of an error.
var capitals = lazyregexp.New(`^[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)

// catches matches a line that handles an error, or compares with it.
var catches = lazyregexp.New(`^\s*(?:\} ?)?(?:except|catch|case)\b|instanceof|isinstance|errors\.(?:Is|As)\(|^\s*(?:class|super)\b`)

// gives matches a line that gives an error.
var gives = lazyregexp.New(`^\s*(?:return|raise|throw|panic)\b|\b(?:Err|ok_or|ok_or_else|bail!|reject)\(|[{;=>] *throw `)

// given adds which function gives an error on a line, and under which condition.
func (c *composed) given(said []string, u codesearch.Use) []string {
	p, only := condition(u)
	place := evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String()
	in := inside(u, &p)
	c.proofs = append(c.proofs, p)
	if last := len(said) - 1; last >= 0 && in != "" && strings.HasPrefix(said[last], "`"+in+"` (") &&
		strings.HasSuffix(said[last], ")"+only) {
		said[last] = strings.TrimSuffix(said[last], ")"+only) + ", " + place + ")" + only
		return said
	}
	if in != "" {
		place = "`" + in + "` (" + place + ")"
	}
	return append(said, place+only)
}

// answerMessage says which functions have a message in their text.
func answerMessage(x *codesearch.Index, message string) *composed {
	if len(strings.Fields(message)) < 2 {
		return nil
	}
	uses := x.Saying(message)
	if escaped := strings.ReplaceAll(message, `"`, `\"`); escaped != message {
		uses = append(uses, x.Saying(escaped)...)
	}
	uses = made(uses, message)
	if len(uses) == 0 || len(uses) > maxProofs {
		return nil
	}
	c := &composed{exact: true}
	var said []string
	for _, u := range uses {
		if m := assigned.FindStringSubmatch(u.Lines[u.Line-1]); m != nil && u.In == "" && len(uses) == 1 {
			if c := answerError(x, m[1], only(x.Definitions(m[1]), isMain), true); c != nil {
				c.exact = true
				return c
			}
		}
		said = c.given(said, u)
		c.proofs[len(c.proofs)-1].claim = "\"" + message + "\""
	}
	c.say = fmt.Sprintf("\"%s\" comes from %s.", message, join(said))
	if len(uses) == 1 {
		c.limits(x, uses[0])
	}
	if m := arm.FindStringSubmatch(uses[0].Lines[uses[0].Line-1]); m != nil && len(uses) == 1 {
		c.follow(x, m[1], uses[0].Path)
	}
	return c
}

// limits adds the defaults of the names in the condition of a sentence, of those that its file gives a
// number.
func (c *composed) limits(x *codesearch.Index, u codesearch.Use) {
	_, test, _ := strings.Cut(c.say, "), only if `")
	test, _, _ = strings.Cut(test, "`")
	for _, word := range strings.FieldsFunc(test, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r)
	}) {
		if !written(word) || len(c.proofs) > maxProofs {
			continue
		}
		all := only(withDefaults(x.Definitions(word)), func(d codesearch.Definition) bool {
			return d.Path == u.Path && d.Value != "" && d.Value != "0" && unicode.IsDigit(rune(d.Value[0]))
		})
		if len(all) == 1 && !strings.Contains(c.say, "`"+defaults(all[0])) {
			say := strings.TrimSuffix(defaults(all[0]), ".")
			c.say += " " + say + " (" + at(all[0]) + ")."
			c.proofs = append(c.proofs, shows(all[0], say))
		}
	}
}

// arm matches a line that gives the text of a variant.
var arm = lazyregexp.New(`\b([A-Z]\w+)\)* =>`)

// follow adds which functions make an error of a variant, and which call these if they are in its file.
func (c *composed) follow(x *codesearch.Index, variant string, in string) {
	made := only(x.Uses(variant), func(u codesearch.Use) bool {
		line := u.Lines[u.Line-1]
		before, _, arm := strings.Cut(line, "=>")
		return !u.Aside && u.In != "" && !tested.MatchString(line) &&
			!(arm && strings.Contains(before, variant))
	})
	if len(made) == 0 || len(made) > maxProofs {
		return
	}
	to := &composed{}
	var said []string
	for _, m := range made {
		called := only(x.Uses(m.In[strings.LastIndexByte(m.In, '.')+1:]), func(u codesearch.Use) bool {
			return !u.Aside && u.In != "" && u.In != m.In && gives.MatchString(u.Lines[u.Line-1])
		})
		said = to.given(said, m)
		if m.Path != in || len(called) == 0 || len(called) > maxProofs {
			continue
		}
		var by []string
		for _, u := range called {
			by = to.given(by, u)
		}
		said[len(said)-1] += ", which is called in " + join(by)
	}
	if len(to.proofs) <= maxCallers {
		c.say += " `" + variant + "` is made in " + strings.Join(said, "; ") + "."
		c.proofs = append(c.proofs, to.proofs...)
	}
}

// tested matches a line that compares.
var tested = lazyregexp.New(`matches!|[=!]=|\b(?:if|while) let\b`)

// made returns the uses of a message that make an error of it: without the lines of a log and those in other
// letters, if others are left.
func made(uses []codesearch.Use, message string) []codesearch.Use {
	for _, keep := range []func(line string) bool{
		func(line string) bool { return !logs.MatchString(line) },
		func(line string) bool { return strings.Contains(strings.ReplaceAll(line, `\`, ""), message) },
	} {
		if kept := only(uses, func(u codesearch.Use) bool {
			return !u.Aside && keep(u.Lines[u.Line-1])
		}); len(kept) > 0 {
			uses = kept
		}
	}
	return uses
}

// logs matches a line that writes to a log.
var logs = lazyregexp.New(`(?i)^\s*(?:\w+(?:\.|::))*(?:debug|info|warn|warning|trace|log\w*|print\w*|console\.\w+)[fl]?n?!?\(`)

// assigned matches a line that gives a name a value.
var assigned = lazyregexp.New(`^\s*(?:(?:var|const|let|static|pub|export|public|private|final|[A-Z]\w*) )*(\w+)(?:: [^=]+)?\s*=[^=]`)

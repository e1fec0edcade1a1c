package search

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
)

const (
	enoughMeant = 0.5 // probability from which a declaration is meant by a description
	leastShared = 0.5 // of the description's weight, in the declaration
)

// fits are what a description can mean in a question of a kind.
var fits = map[asks]func(d codesearch.Definition) bool{
	asksDefault: func(d codesearch.Definition) bool {
		if d.Kind == declaration.Type {
			return false
		}
		_, said := stated(d)
		return said != "" || plain(d) && d.Kind != declaration.Variable
	},
	asksValues: func(d codesearch.Definition) bool { return len(d.Members) > 1 },
	asksConfig: func(d codesearch.Definition) bool {
		function := d.Kind == declaration.Function || d.Kind == declaration.Method
		given := d.Kind == declaration.Parameter && d.Value != ""
		return (d.Kind == declaration.Field && !private(d) || given) &&
			(d.Doc != "" || strings.ContainsAny(d.Name, ".-")) ||
			function && d.Doc != "" && (setter.MatchString(d.Name) || builds.MatchString(d.Type) ||
				d.Owner != "" && builder.FindString(d.Type) == d.Owner[strings.LastIndexByte(d.Owner, '.')+1:])
	},
	asksWhere: callable, asksWhat: callable, asksReturns: callable, asksCallers: callable,
}

// private reports whether users of a codebase cannot set a field.
func private(d codesearch.Definition) bool {
	return strings.HasPrefix(d.Name, "_") || strings.HasPrefix(d.Name, "#") ||
		path.Ext(d.Path) == ".go" && !unicode.IsUpper([]rune(d.Name)[0]) ||
		strings.Contains(d.Lines[d.Line-1], "private ")
}

func callable(d codesearch.Definition) bool {
	return d.Kind == declaration.Function || d.Kind == declaration.Method || d.Kind == declaration.Type
}

// builds matches the result of a function that sets something: its own type, or an option.
var builds = lazyregexp.New(`^(?:&mut )?Self$|\b\w*(?:Builder|Option)$`)

// builder matches a type without what it is of.
var builder = lazyregexp.New(`\w+`)

var setter = lazyregexp.New(`^(?:[sS]et_?|[wW]ith_?)[A-Z_a-z]`)

// Candidates returns the declarations that a phrase may mean in a question of a kind, the most likely first.
func Candidates(x *codesearch.Index, kind, about string) []codesearch.Meant {
	if Fits(kind) == "" {
		return nil
	}
	return x.Described(about, Fits(kind), fits[asks(kind)])
}

// Fits returns what a question of a kind may describe: "option", "thing" or "".
func Fits(kind string) string {
	switch asks(kind) {
	case asksDefault, asksConfig, asksValues:
		return "option"
	case asksError, "":
		return ""
	}
	return "thing"
}

// composeDescribed answers a question that describes what it asks about, if one name is likely to be meant.
func composeDescribed(x *codesearch.Index, kind asks, about string) *composed {
	found := Candidates(x, string(kind), about)
	if len(found) == 0 || found[0].Shared() < leastShared || !mayDescribe(kind, about, found[0].Definition) {
		return nil
	}
	var all []codesearch.Definition
	chance, best := 0.0, found[0]
	if kind == asksWhere && inFile(found) >= enoughMeant {
		return likelyIn(best.Definition)
	}
	for _, d := range found {
		if essence(d.Name) == essence(best.Name) && d.Owner == best.Owner ||
			d.Value == best.Name && d.Value != "" ||
			best.Value == d.Name && d.Name != "" {
			chance += d.Score
			all = append(all, d.Definition)
		}
	}
	if chance < enoughMeant {
		return nil
	}
	return answers[kind](x, best.Name, merged(all), true)
}

// inFile returns the probability that what is meant is in the file of the most likely declaration.
func inFile(all []codesearch.Meant) (chance float64) {
	for _, d := range all {
		if d.Path == all[0].Path {
			chance += d.Score
		}
	}
	return chance
}

// likelyIn names the declaration that a description of a place may mean.
func likelyIn(d codesearch.Definition) *composed {
	say := fmt.Sprintf("`%s` is in %s", named(d), at(d))
	if d.Doc != "" {
		say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
	}
	return &composed{say: say + ".", proofs: []proof{shows(d, here(d))}}
}

// mayDescribe reports whether a phrase can describe a declaration: it has no other name as code writes it,
// but for that of what takes the values that are asked for.
func mayDescribe(kind asks, about string, d codesearch.Definition) bool {
	for w := range strings.FieldsSeq(about) {
		w = strings.Trim(w, "`\"'“”.,;:!?()")
		if kind != asksValues && w != "" && written(w) && essence(w) != essence(d.Name) && !ownedBy(d, w) {
			return false
		}
	}
	return true
}

var prefixes = lazyregexp.New(`^(?:default|set|with|get|is)+`)

// essence returns a name without what makes it that of a default or of a setter.
func essence(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "", "#", "").Replace(name))
	return strings.TrimSuffix(prefixes.ReplaceAllString(name, ""), "default")
}

var (
	defaulted = lazyregexp.New(`(?i)\bdefault(?:s|ed|ing)?\b`)
	valued    = lazyregexp.New(`\d|(?i:\b(?:true|false|none|null|nil|undefined|unlimited|infinit\w+|disabled|enabled|empty|never|always|no|off|on)\b)|["'` + "`" + `{]|\b[A-Z_]{3,}\b|\w\.\w`)
	paragraph = lazyregexp.New(`^(?::\w+ [^:]*:|@\w+ (?:\{[^}]*\} )?\S+(?: -)?) `)
	linked    = lazyregexp.New(`\{@\w+ #?([^{}]*)\}`) // by Javadoc
	sentence  = lazyregexp.New(`[.;](?:\s+|$)|$`)
)

// stated returns the sentence of a declaration's comment that states its default, and the proof; "" if it has
// none or several.
func stated(d codesearch.Definition) (p proof, said string) {
	first, lines := d.Comment(d.Lines)
	text := strings.Join(lines, "\n")
	for len(text) > 0 {
		end := sentence.FindStringIndex(text)
		one := text[:end[1]]
		if defaulted.MatchString(one) && valued.MatchString(defaulted.ReplaceAllString(one, "")) {
			if said != "" {
				return p, ""
			}
			said = strings.TrimRight(strings.Join(strings.Fields(one), " "), ".;")
			said = linked.ReplaceAllString(paragraph.ReplaceAllString(said, ""), "$1")
			lead := len(one) - len(strings.TrimLeft(one, " \n\t"))
			p.start = first + strings.Count(one[:lead], "\n")
			p.end = first + strings.Count(strings.TrimRight(one, " \n\t"), "\n")
		}
		first += strings.Count(one, "\n")
		text = text[end[1]:]
		if len(one) == 0 {
			break
		}
	}
	p.path, p.lines = d.Path, d.Lines
	if len(said) > maxSaid {
		return p, ""
	}
	return p, strings.NewReplacer("``", "'", "`", "'", `"`, "'").Replace(said)
}

const maxSaid = 200 // bytes of a sentence of a comment

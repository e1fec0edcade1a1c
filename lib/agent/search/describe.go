package search

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
)

const (
	enoughMeant = 0.6  // score of a declaration that a description means
	rival       = 0.85 // share of the best score from which another name could be meant as well

	// A description in other words has a low score; then the next name must be far behind.
	leastMeant = 0.35
	behind     = 0.7
	leastWords = 3
	leastLong  = 0.28 // if it has more words
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
		return d.Kind == declaration.Option && d.Doc != "" || d.Kind == declaration.Field && !private(d) &&
			(d.Doc != "" || strings.ContainsAny(d.Name, ".-")) ||
			function && d.Doc != "" && (setter.MatchString(d.Name) || builds.MatchString(d.Type))
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

var setter = lazyregexp.New(`^(?:[sS]et_?|[wW]ith_?)[A-Z_a-z]`)

// composeDescribed answers a question that describes what it asks about, if one declaration fits much better
// than all others.
func composeDescribed(x *codesearch.Index, kind asks, about, question string) *composed {
	fit := fits[kind]
	if fit == nil {
		return nil
	}
	found := only(x.Described(about, fit), func(d codesearch.Meant) bool {
		return mayDescribe(kind, about, d.Definition) &&
			(kind != asksDefault || mayMeasure(question, d.Definition))
	})
	least := leastWords
	if kind == asksValues {
		least-- // few declarations have values
	}
	if len(found) == 0 || found[0].Score < leastMeant && found[0].Words <= leastWords ||
		found[0].Score < leastLong || found[0].Score < enoughMeant && found[0].Words < least {
		return nil
	}
	near := rival
	if found[0].Score < enoughMeant {
		if near = behind; kind == asksWhat || kind == asksReturns || kind == asksCallers {
			return nil
		}
	}
	var meant [][]codesearch.Definition // by name
	for _, d := range found {
		if d.Score < near*found[0].Score {
			break
		}
		i := slices.IndexFunc(meant, func(of []codesearch.Definition) bool {
			return essence(d.Name) == essence(of[0].Name) || d.Value != "" && d.Value == of[0].Name ||
				of[0].Value != "" && of[0].Value == d.Name
		})
		if i < 0 {
			i, meant = len(meant), append(meant, nil)
		}
		meant[i] = append(meant[i], d.Definition)
	}
	if len(meant) > 2 || len(meant) > 1 && (kind != asksDefault && kind != asksConfig || !nearly(found)) {
		return nil
	}
	c := &composed{}
	for _, all := range meant {
		one := answers[kind](x, all[0].Name, merged(all), true)
		if one == nil || len(c.proofs)+len(one.proofs) > maxProofs {
			return nil
		}
		c.say, c.proofs = strings.TrimSpace(c.say+" "+one.say), append(c.proofs, one.proofs...)
	}
	return c
}

// nearly reports whether the second name of declarations that a description may mean is not far behind.
func nearly(found []codesearch.Meant) bool {
	i := slices.IndexFunc(found, func(d codesearch.Meant) bool {
		return essence(d.Name) != essence(found[0].Name)
	})
	return i > 0 && found[i].Score >= rival*found[0].Score
}

// mayDescribe reports whether a phrase can describe a declaration: its name has several words, unless the
// question is for values, and each name in the phrase as code writes it is its own, or shares a word with
// what the declaration belongs to.
func mayDescribe(kind asks, about string, d codesearch.Definition) bool {
	around := strings.ToLower(d.Owner + "/" + d.Path)
	for w := range strings.FieldsSeq(about) {
		w = strings.Trim(w, "`\"'“”.,;:!?()")
		if kind != asksValues && w != "" && written(w) && essence(w) != essence(d.Name) && !ownedBy(d, w) &&
			!slices.ContainsFunc(part.FindAllString(w, -1), func(p string) bool {
				return strings.Contains(around, strings.ToLower(p))
			}) {
			return false
		}
	}
	return kind == asksValues || inner.MatchString(strings.Trim(d.Name, "_#"))
}

// What a question measures, and the words of what lasts.
var (
	lasting = lazyregexp.New(`(?i)\bhow (?:long|often)\b|\bhow (?:much|many) (?:time|seconds|minutes|hours)\b`)
	counted = lazyregexp.New(`(?i)\bhow (?:many|big|large|deep)\b`)
	lasts   = lazyregexp.New(`(?i)time|interval|duration|second|minute|hour|delay|wait|ttl|expir|age\b|period|backoff|lease|ms\b`)
)

// mayMeasure reports whether a declaration can be a time if the question asks for one, and a number if it
// asks how many.
func mayMeasure(question string, d codesearch.Definition) bool {
	switch {
	case lasting.MatchString(question):
		_, comment := d.Comment(d.Lines)
		return lasts.MatchString(d.Name + " " + d.Value + " " + strings.Join(comment, " "))
	case counted.MatchString(question):
		return !lasts.MatchString(d.Name)
	}
	return true
}

// part matches a word of a name.
var part = lazyregexp.New(`[A-Z]?[a-z]{3,}`)

// inner matches where a second word of a name begins.
var inner = lazyregexp.New(`[_.-]|[a-z][A-Z]`)

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
			said = paragraph.ReplaceAllString(said, "")
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

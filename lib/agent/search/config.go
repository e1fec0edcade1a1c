package search

import (
	"fmt"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
	"tri/lib/judge/evidence"
)

// setters are how the names of functions that set something begin.
var setters = []string{"with ", "set ", ""}

// sets matches the head of a property that can be set.
var sets = lazyregexp.New(`^\s*(?:\w+ )*set \w+\(`)

// flag matches an option of a command line.
var flag = lazyregexp.New(`["'](--[a-z][\w-]+)["']`)

// property returns the key that a constant holds of a setting, such as org.example.pool.maxSize.
func property(x *codesearch.Index, name string) *composed {
	words := strings.Fields(name)
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	key := "." + strings.Join(words, "")
	uses := only(x.Saying(key+`"`), func(u codesearch.Use) bool {
		return !u.Aside && assigned.MatchString(u.Lines[u.Line-1]) &&
			strings.Contains(u.Lines[u.Line-1], key+`"`)
	})
	if len(uses) != 1 {
		return nil
	}
	u := uses[0]
	_, value, _ := strings.Cut(u.Lines[u.Line-1], `"`)
	value, _, _ = strings.Cut(value, `"`)
	if !spelling.MatchString(value) || strings.HasPrefix(value, ".") {
		return nil
	}
	say := "By the property `" + value + "`"
	return &composed{say: say + " (" + evidence.Place{Path: u.Path, Start: u.Line, End: u.Line}.String() + ").",
		proofs: []proof{{path: u.Path, start: u.Line, end: u.Line, lines: u.Lines, claim: say}}}
}

// answerConfig names the property, function, setting, field or parameter by which something is set.
func answerConfig(x *codesearch.Index, name string, all []codesearch.Definition, exact bool) *composed {
	if c := property(x, name); c != nil {
		return c
	}
	for _, begin := range setters {
		found := all
		if begin != "" {
			found = only(x.Definitions(begin+name), func(d codesearch.Definition) bool {
				return !d.Aside && (d.Kind == declaration.Function || d.Kind == declaration.Method)
			})
		} else {
			found = only(all, func(d codesearch.Definition) bool {
				return (d.Doc != "" || flag.MatchString(source(d)) || sets.MatchString(d.Lines[d.Line-1])) &&
					d.Kind != declaration.Type && d.Kind != declaration.Setting &&
					(d.Kind != declaration.Field || !private(d)) &&
					(exact || d.Kind != declaration.Function && d.Kind != declaration.Method)
			})
		}
		if len(found) == 0 || len(found) > 2 || !exact && len(found) > 1 && !strings.Contains(name, " ") {
			continue
		}
		c := &composed{}
		for _, d := range found {
			say := fmt.Sprintf("By `%s`", named(d))
			owner, head := owning(x, d)
			if owner != "" && d.Kind == declaration.Field {
				say = fmt.Sprintf("By the field `%s` of `%s`", d.Name, owner)
			} else if owner != "" {
				say = fmt.Sprintf("By `%s.%s`", owner, d.Name)
			} else if d.Kind == declaration.Option {
				say = fmt.Sprintf("By the option `%s`", d.Name)
			}
			if m := flag.FindStringSubmatch(source(d)); m != nil && d.Kind == declaration.Field {
				say, head = fmt.Sprintf("By the setting `%s`, or the option `%s`", d.Name, m[1]), nil
			}
			if named(d) != d.Name || len(c.proofs) > 1 && head != nil &&
				c.proofs[1].place() == head[0].place() {
				head = nil // the quoted lines name the owner
			}
			if d.Doc != "" {
				say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
			}
			if d.Kind == declaration.Option && d.Value != "" {
				say += ", by default `" + d.Value + "`"
			}
			if before, ok := strings.CutSuffix(c.say, ")."); ok && strings.HasPrefix(before, say+" (") {
				c.say = before + ", " + at(d) + ")."
			} else {
				c.say = strings.TrimSpace(c.say + " " + say + " (" + at(d) + ").")
			}
			c.proofs = append(append(c.proofs, shows(d, say)), head...)
		}
		return c
	}
	return nil
}

// owning returns the type that a definition belongs to, if its file declares it, and the proof of that.
func owning(x *codesearch.Index, d codesearch.Definition) (string, []proof) {
	owner := d.Owner[strings.LastIndexByte(d.Owner, '.')+1:]
	of := only(x.Definitions(owner), func(o codesearch.Definition) bool {
		return o.Path == d.Path && o.Name == owner && o.Kind == declaration.Type
	})
	if len(of) != 1 {
		return "", nil
	}
	n := of[0].Line
	return owner, []proof{{path: d.Path, start: n, end: n, lines: d.Lines, claim: here(of[0])}}
}

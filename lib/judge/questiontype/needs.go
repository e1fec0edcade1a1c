package questiontype

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxNeeds is the most texts that are looked for before a pattern is tried.
const maxNeeds = 64

// needs are texts of which a match of the pattern holds at least one; nil where no
// such can be named. Matching costs 10 µs a byte over all rules, and looking for what
// a rule cannot do without costs next to nothing: few rules are ever compiled. The
// error is that it is no pattern.
func needs(pattern string) ([]string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	all := required(re)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if got := required(sub); rarer(got, best) {
				best = got
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			got := required(sub)
			if got == nil || len(all)+len(got) > maxNeeds {
				return nil
			}
			all = append(all, got...)
		}
		return all
	}
	return nil
}

// rarer reports whether a tells more than b: its shortest text is longer, or there
// are fewer of them.
func rarer(a, b []string) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if x, y := shortest(a), shortest(b); x != y {
		return x > y
	}
	return len(a) < len(b)
}

// shortest is the length in bytes of the shortest text: a letter that is not ASCII
// is rare among texts, and long.
func shortest(all []string) int {
	n := len(all[0])
	for _, s := range all {
		n = min(n, len(s))
	}
	return n
}

// holdsAny reports whether text holds one of them.
func holdsAny(text string, all []string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(text, s) })
}

package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxNeeds is the maximum number of texts that are searched for before a pattern is tried.
const maxNeeds = 64

// needs returns texts of which every match of the pattern contains at least one, or nil if there are none.
// Matching costs 10 µs per byte over all rules, while searching for required texts costs almost nothing,
// so few rules are ever compiled. The error means that pattern is invalid.
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

// rarer reports whether a is more selective than b: its shortest text is longer, or it has fewer texts.
func rarer(a, b []string) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if x, y := shortest(a), shortest(b); x != y {
		return x > y
	}
	return len(a) < len(b)
}

// shortest returns the length in bytes of the shortest text. A letter outside ASCII is rare, and has
// several bytes.
func shortest(all []string) int {
	n := len(all[0])
	for _, s := range all {
		n = min(n, len(s))
	}
	return n
}

// holdsAny reports whether text contains one of all.
func holdsAny(text string, all []string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(text, s) })
}

package shape

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
)

// run is a part of a pattern: bytes of a set, so many of them.
type run struct {
	set       [256]bool
	min, most int // most -1: any number
}

// pattern is a regular expression as a function, for one goroutine at a time. Those
// of a few runs of ASCII, none of which can go on with what the next begins with,
// as ^[a-z]-[0-9a-f]{24}$, are matched byte by byte, an order of magnitude faster;
// any other by regexp, which is not asked of the same text twice in a row.
func pattern(text string) (func([]byte) bool, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if ways, ok := waysOf(parsed); ok {
		return func(b []byte) bool {
			return slices.ContainsFunc(ways, func(runs []run) bool { return match(runs, b) })
		}, nil
	}
	var last []byte
	return func(b []byte) bool {
		if last != nil && bytes.Equal(b, last) {
			return true
		}
		if !re.Match(b) {
			return false
		}
		last = append(last[:0], b...)
		return true
	}, nil
}

func match(runs []run, b []byte) bool {
	for i := range runs {
		r, n := &runs[i], 0
		for n < len(b) && r.set[b[n]] && (r.most < 0 || n < r.most) {
			n++
		}
		if n < r.min {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// waysOf are the runs of each way in which a pattern can be met; not ok is for
// regexp.
func waysOf(re *syntax.Regexp) (ways [][]run, ok bool) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 3 {
		return nil, false
	}
	last := len(re.Sub) - 1
	if re.Sub[0].Op != syntax.OpBeginText || re.Sub[last].Op != syntax.OpEndText {
		return nil, false
	}
	if last == 2 {
		ways, ok = choices(re.Sub[1])
	} else {
		ways, ok = sequence(re.Sub[1:last])
	}
	return ways, ok && !slices.ContainsFunc(ways, unclear)
}

// choices are the ways of what may be left out, or is one thing or another.
func choices(re *syntax.Regexp) (ways [][]run, ok bool) {
	switch re.Op {
	case syntax.OpCapture:
		return choices(re.Sub[0])
	case syntax.OpQuest:
		ways, ok = choices(re.Sub[0])
		return append(ways, nil), ok
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			more, ok := choices(sub)
			if !ok {
				return nil, false
			}
			ways = append(ways, more...)
		}
		return ways, true
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return sequence([]*syntax.Regexp{re})
}

// sequence is the one way of parts that follow each other.
func sequence(parts []*syntax.Regexp) ([][]run, bool) {
	var runs []run
	for _, sub := range parts {
		more, ok := runOf(sub)
		if !ok {
			return nil, false
		}
		runs = append(runs, more...)
	}
	return [][]run{runs}, true
}

// unclear reports whether a run could leave to the next what it can take itself.
func unclear(runs []run) bool {
	for i := 0; i+1 < len(runs); i++ {
		if runs[i].min == runs[i].most {
			continue // it takes what it takes
		}
		for c := range 256 {
			if runs[i].set[c] && runs[i+1].set[c] || runs[i+1].min == 0 {
				return true
			}
		}
	}
	return false
}

// runOf is the runs of one part of a pattern.
func runOf(re *syntax.Regexp) ([]run, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		var runs []run
		for _, c := range re.Rune {
			r := run{min: 1, most: 1}
			if c >= 0x80 || re.Flags&syntax.FoldCase != 0 {
				return nil, false
			}
			r.set[c] = true
			runs = append(runs, r)
		}
		return runs, true
	case syntax.OpCharClass:
		r := run{min: 1, most: 1}
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i+1] >= 0x80 {
				return nil, false
			}
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				r.set[c] = true
			}
		}
		return []run{r}, true
	}
	times := map[syntax.Op][2]int{syntax.OpPlus: {1, -1}, syntax.OpStar: {0, -1}, syntax.OpQuest: {0, 1}, syntax.OpRepeat: {re.Min, re.Max}}
	t, repeats := times[re.Op]
	if !repeats || re.Flags&syntax.NonGreedy != 0 {
		return nil, false
	}
	runs, ok := runOf(re.Sub[0])
	if !ok || len(runs) != 1 || runs[0].min != 1 || runs[0].most != 1 {
		return nil, false
	}
	runs[0].min, runs[0].most = t[0], t[1]
	return runs, true
}

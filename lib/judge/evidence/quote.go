package evidence

import (
	"sort"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
)

// minQuote is the minimum number of letters and digits of a meaningful quote: a brace occurs everywhere.
const minQuote = 4

// span is a range of lines, from 1, inclusive.
type span struct{ start, end int }

// distance returns how many lines s is from the cited place; 0 if they overlap.
func (s span) distance(p Place) int {
	switch {
	case p.Start == 0 || s.start <= p.End && s.end >= p.Start:
		return 0
	case s.start > p.End:
		return s.start - p.End
	}
	return p.Start - s.end
}

// flat is a text with each run of white space replaced by one space, and for each byte its line.
type flat struct {
	text string
	line []int // never decreases
}

func flatten(lines []string) flat {
	var b strings.Builder
	var at []int
	for i, l := range lines {
		for _, w := range strings.Fields(l) {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
			for len(at) < b.Len() {
				at = append(at, i+1)
			}
		}
	}
	return flat{b.String(), at}
}

// says reports whether a quote is long enough to be evidence.
func says(quote string) bool {
	n := 0
	for _, r := range quote {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= minQuote
}

var numbered = lazyregexp.New(`^\s*\d+\s*[:|→\t]\s?`)

// variants returns the forms in which an agent writes down what it read: verbatim, without backticks, and
// without the line numbers of its reading tool.
func variants(quote string) []string {
	lines := strings.Split(strings.Trim(quote, "`"), "\n")
	bare := make([]string, len(lines))
	for i, l := range lines {
		bare[i] = numbered.ReplaceAllString(l, "")
	}
	out := []string{quote, strings.Join(lines, "\n"), strings.Join(bare, "\n")}
	return out
}

// find returns every place of quote in lines, ignoring differences in white space. A line of dots in the
// quote stands for omitted lines.
func find(lines []string, quote string) []span {
	f := flatten(lines)
	for _, v := range variants(quote) {
		if !says(v) {
			continue
		}
		if found := f.findAll(pieces(v)); len(found) > 0 {
			return found
		}
	}
	return nil
}

// pieces returns the parts of a quote between its lines of dots, flattened.
func pieces(quote string) []string {
	var out []string
	var part []string
	for _, l := range append(strings.Split(quote, "\n"), "...") {
		switch t := strings.TrimSpace(l); t {
		case "...", "…", "// ...", "# ...", "[...]":
			if text := strings.Join(strings.Fields(strings.Join(part, "\n")), " "); text != "" {
				out = append(out, text)
			}
			part = nil
		default:
			part = append(part, l)
		}
	}
	return out
}

// maxGap is the maximum number of lines that a line of dots stands for; maxFound bounds the places found
// for one quote.
const (
	maxGap   = 60
	maxFound = 100_000
)

// findAll finds the pieces in sequence, as whole words.
func (f flat) findAll(pieces []string) []span {
	var out []span
	if len(pieces) == 0 {
		return nil
	}
	for from := 0; len(out) < maxFound; {
		i := f.index(pieces[0], from, len(f.text))
		if i < 0 {
			return out
		}
		end := i + len(pieces[0])
		ok := true
		for _, p := range pieces[1:] {
			// Limited to the gap, so that a text with many partial matches does not take quadratic time.
			reach := sort.SearchInts(f.line, f.line[end-1]+maxGap+1)
			j := f.index(p, end, reach)
			if ok = j >= 0; !ok {
				break
			}
			end = j + len(p)
		}
		if ok {
			out = append(out, span{f.line[i], f.line[end-1]})
		}
		from = i + 1
	}
	return out
}

// index finds piece as whole words: MaxRetries = 3 is not in MaxRetries = 30.
func (f flat) index(piece string, from, to int) int {
	for from < to {
		i := strings.Index(f.text[from:to], piece)
		if i < 0 {
			return -1
		}
		if i += from; whole(f.text, i, i+len(piece)) {
			return i
		}
		from = i + 1
	}
	return -1
}

// nearest returns the found place closest to the cited one.
func nearest(found []span, p Place) span {
	best := found[0]
	for _, s := range found[1:] {
		if s.distance(p) < best.distance(p) {
			best = s
		}
	}
	return best
}

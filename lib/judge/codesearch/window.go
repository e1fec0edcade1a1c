package codesearch

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

const (
	reach     = 8    // maximum span of lines weighed together
	maxQuoted = 8    // lines of Best
	maxShown  = 36   // lines of a hit: a whole passage
	maxJoined = 48   // lines of adjacent hits that are joined
	maxLine   = 480  // bytes; a longer line is never shown
	near      = 0.45 // share of the best hit's score; lower hits are dropped
	declaring = 0.3  // factor for the declaration of a name whose callers are asked for
	again     = 0.92 // factor for all places in a file except its first, so that other files are shown too
)

// Weights of lines. These numbers, and those of score.go and query.go, were set by hand, then tuned one at
// a time on the tuning halves of the questions in scripts/bench/judgement; some changed a lot. Each was
// also removed in turn, and only those kept whose removal made more than one codebase worse. Near its
// value each is flat: half as much more or less costs a question or two in a hundred.
const (
	lineShare  = 0.65 // of the best lines in the score of a passage
	together   = 0.2  // of the single best line
	apart      = 0.02 // subtracted for each line between the first and the last
	lineCover  = 0.5  // how much lines depend on covering the whole question
	declFactor = 1.3  // for a word on the line of the declaration
	setFactor  = 1.5  // in a name that the line sets
	noteFactor = 0.7  // in a comment, which has already counted for the passage
	numberCue  = 0.4  // a number, if one is asked for; doubled if a name is set to it
)

// matched is a line that contains words of the question.
type matched struct {
	n    int // line number, from 1
	mask uint64
	gain [maxWants]float64
	soft [maxWants]float64 // how well the word stands for the want
	sum  float64           // of the gains
	cue  float64
	raws int
}

// windows examines the lines of the best passages.
func (x *Index) windows(q *query, passages []scored, limit int) []Hit {
	texts, split := map[string][]byte{}, map[string][][]byte{}
	var hits []Hit
	for _, p := range passages {
		lines, ok := split[p.path]
		if !ok {
			text, err := x.text(p.path)
			x.note(err)
			lines = bytes.Split(text, []byte{'\n'})
			texts[p.path], split[p.path] = text, lines
		}
		if int(p.to) > len(lines) {
			continue // changed since the walk: continue with the others
		}
		hits = append(hits, x.hit(q, p, lines))
	}
	said := around(q.typed, texts)
	for i := range hits {
		hits[i].alone = hits[i].Score
		hits[i].Score *= 1 - aroundShare*(1-said[hits[i].Path])
		if q.callers && hits[i].Defines {
			hits[i].Score *= declaring
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return x.pick(q, hits, split, limit)
}

// hit finds the best lines of a passage.
func (x *Index) hit(q *query, p scored, lines [][]byte) Hit {
	h := Hit{Path: p.path}
	found := x.matches(q, p, lines)
	from, to := int(p.from), min(int(p.to), int(p.from)+1)
	best := view{}
	for i := range found {
		for j := i; j < len(found) && found[j].n-found[i].n < reach; j++ {
			if v := q.view(found[i : j+1]); v.score > best.score*1.02 {
				from, to, best = found[i].n, found[j].n, v
			}
		}
	}
	h.Score = p.score + q.worth(p.kind)*lineShare*best.score
	if p.decl > 0 {
		h.Score += q.worth(p.kind) * x.called(q, languageOf(p.path).called(lines[p.decl-1]))
	}
	h.Cover, h.Count = min(1, best.cover), q.count(best.mask)
	h.Defines = p.decl > 0 && x.declares(q, lines[p.decl-1])
	h.BestStart, h.BestEnd = widen(lines, from, to, int(p.from), int(p.to))
	h.Start, h.End = surroundings(p, h.BestStart, h.BestEnd)
	return h
}

// matches returns the lines of a passage that contain words of the question.
func (x *Index) matches(q *query, p scored, lines [][]byte) []matched {
	var found []matched
	lang := languageOf(p.path)
	kinds := lang.kinds(lines[p.from-1 : p.to])
	for n := int(p.from); n <= int(p.to); n++ {
		line, kind := lines[n-1], kinds[n-int(p.from)]
		if len(line) > maxLine || kind == blank {
			continue
		}
		if kind == foreign {
			_, line = lang.trailing(line)
		}
		m := matched{n: n}
		factor := 1.0
		switch {
		case n == int(p.decl):
			factor = declFactor
		case kind == comment:
			factor = noteFactor
		}
		name := 0 // bytes of a name that the line sets
		if kind == code && bytes.ContainsAny(line, "=:") {
			name = firstName(line)
		}
		runs(line, func(run []byte) {
			factor := factor
			if name > 0 && cap(line)-cap(run) < name {
				factor *= setFactor
			}
			x.lex.words(run, func(word []byte, _ bool) {
				for i := range q.wants {
					for _, o := range q.wants[i].options {
						if o.word == string(word) {
							m.mask |= 1 << i
							m.gain[i] = max(m.gain[i], q.wants[i].kind*o.factor*o.rarity*factor)
							m.soft[i] = max(m.soft[i], o.factor)
						}
					}
				}
			})
		})
		if len(q.raws) > 0 {
			low := strings.ToLower(string(line))
			for i, raw := range q.raws {
				if strings.Contains(low, raw) {
					m.raws |= 1 << i
				}
			}
		}
		if m.mask != 0 || m.raws != 0 {
			m.cue = q.cue(line)
			for _, gain := range m.gain {
				m.sum += gain
			}
			found = append(found, m)
		}
	}
	return found
}

// cue returns how much a line looks like the kind of answer asked for.
func (q *query) cue(line []byte) float64 {
	cue := 1.0
	if q.number && number(line) {
		cue += numberCue
		if sets(line) {
			cue += numberCue
		}
	}
	return cue
}

// number reports whether a line contains a significant number.
func number(line []byte) bool {
	word := false
	for i, c := range line {
		digit := '0' <= c && c <= '9'
		if digit && !word && (c > '1' || i+1 < len(line) && line[i+1] >= '0' && line[i+1] <= '9') {
			return true
		}
		word = digit || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return false
}

// sets reports whether a line assigns a number to a name.
func sets(line []byte) bool {
	_, value, ok := bytes.Cut(line, []byte{'='})
	if !ok {
		_, value, ok = bytes.Cut(line, []byte{':'})
	}
	value = bytes.TrimLeft(value, " (-=")
	return ok && len(value) > 0 && '0' <= value[0] && value[0] <= '9'
}

// view is the combined value of neighbouring lines.
type view struct {
	score float64
	cover float64 // share of the question's weight in them
	mask  uint64  // of the wants
}

// view weighs neighbouring lines: each want counts once, with its best gain.
func (q *query) view(lines []matched) view {
	v := view{}
	var best, soft [maxWants]float64
	raws, cue, sum := 0, 1.0, 0.0
	for i := range lines {
		m := &lines[i]
		v.mask |= m.mask
		raws |= m.raws
		cue = max(cue, m.cue)
		sum = max(sum, m.sum)
		for rest := m.mask; rest != 0; rest &= rest - 1 {
			w := bits.TrailingZeros64(rest)
			best[w] = max(best[w], m.gain[w])
			soft[w] = max(soft[w], m.soft[w])
		}
	}
	v.score = rawBonus*float64(bits.OnesCount(uint(raws))) + together*sum
	for i := range q.wants {
		v.score += best[i]
		v.cover += soft[i] * q.wants[i].weight / max(q.total, 0.01)
	}
	length := lines[len(lines)-1].n - lines[0].n
	v.score *= cue * (1 - apart*float64(length)) * (1 - lineCover + lineCover*min(1, v.cover))
	return v
}

// declares reports whether a line declares a name that is a whole word of the question.
func (x *Index) declares(q *query, line []byte) bool {
	found, n := false, 0
	runs(line, func(run []byte) {
		var last string
		x.lex.words(run, func(word []byte, _ bool) { last = string(word) })
		if n++; n <= 4 {
			found = found || slices.ContainsFunc(q.wants, func(w want) bool {
				return w.options[0].word == last
			})
		}
	})
	return found
}

// widen adds the comment above and the line below, so that the quoted lines can be understood.
func widen(lines [][]byte, from, to, least, last int) (int, int) {
	fits := func(n int) bool {
		return n >= least && n <= last && len(bytes.TrimSpace(lines[n-1])) > 0 &&
			len(lines[n-1]) <= maxLine && to-from+1 < maxQuoted
	}
	for i := 0; i < 2 && fits(from-1) && remark(lines[from-2]); i++ {
		from--
	}
	for i := 0; i < 3 && fits(to+1) && remark(lines[to-1]); i++ {
		to++
	}
	if to == from && fits(to+1) {
		to++
	}
	for i := 0; i < maxWhole && from > least && (closing(lines[from-1]) || goesOn(lines[from-2])) &&
		len(lines[from-2]) <= maxLine; i++ {
		from--
	}
	open := 0
	for n := from; n <= to; n++ {
		open += opened(lines[n-1])
	}
	for i := 0; i < maxWhole && open > 0 && to < last && len(lines[to]) <= maxLine; i++ {
		to++
		open += opened(lines[to-1])
	}
	return from, to
}

const maxWhole = 4 // lines added so that a quote neither begins nor ends within a statement

// closing reports whether a line begins with a closing bracket.
func closing(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == ')' || line[0] == ']')
}

// goesOn reports whether a statement continues behind a line.
func goesOn(line []byte) bool {
	line = bytes.TrimSpace(line)
	return !remark(line) && (bytes.HasSuffix(line, []byte("(")) || bytes.HasSuffix(line, []byte("[")) ||
		bytes.HasSuffix(line, []byte("&&")) || bytes.HasSuffix(line, []byte("||")) ||
		bytes.HasSuffix(line, []byte(" =")))
}

// opened returns how many more brackets a line opens than it closes, comments and strings included.
func opened(line []byte) int {
	if remark(line) {
		return 0
	}
	return bytes.Count(line, []byte{'('}) + bytes.Count(line, []byte{'['}) - bytes.Count(line,
		[]byte{')'}) - bytes.Count(line, []byte{']'})
}

func remark(line []byte) bool {
	text := bytes.TrimSpace(line)
	return bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("# ")) ||
		bytes.HasPrefix(text, []byte("* "))
}

// surroundings returns the whole passage if it is short, otherwise the lines around the best ones.
func surroundings(p scored, from, to int) (int, int) {
	first, last := int(p.from), int(p.to)
	if last-first < maxShown {
		return first, last
	}
	room := max(0, maxShown-(to-from+1))
	start := max(first, from-room/2)
	end := min(last, start+maxShown-1)
	return max(first, end-maxShown+1), end
}

// pick takes the best hits and joins adjacent ones.
func (x *Index) pick(q *query, hits []Hit, texts map[string][][]byte, limit int) []Hit {
	var out []Hit
	for _, h := range hits {
		if len(out) == limit || h.Score < near*hits[0].Score {
			break
		}
		if i := slices.IndexFunc(out, func(o Hit) bool { return o.joins(h) }); i >= 0 {
			out[i].Start, out[i].End = min(out[i].Start, h.Start), max(out[i].End, h.End)
			continue
		}
		out = append(out, h)
	}
	taken := map[string]int{}
	for i := range out {
		if taken[out[i].Path]++; taken[out[i].Path] > 1 {
			out[i].Score *= again
		}
	}
	slices.SortStableFunc(out, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	for i := range out {
		h := &out[i]
		lines := texts[h.Path]
		h.trim(lines)
		h.Lines = show(lines, h.Start, h.End)
		h.Words = x.surface(q, lines[h.BestStart-1:h.BestEnd])
	}
	return out
}

// joins reports whether two hits are so close that one reference shows both.
func (h Hit) joins(o Hit) bool {
	return h.Path == o.Path && o.Start <= h.End+2 && h.Start <= o.End+2 &&
		max(h.End, o.End)-min(h.Start, o.Start) < maxJoined
}

// trim drops lines that are too long to show. In a short hit, all lines are the best.
func (h *Hit) trim(lines [][]byte) {
	for n := h.BestStart - 1; n >= h.Start; n-- {
		if len(lines[n-1]) > maxLine {
			h.Start = n + 1
		}
	}
	for n := h.BestEnd + 1; n <= h.End; n++ {
		if len(lines[n-1]) > maxLine {
			h.End = n - 1
		}
	}
	if h.End-h.Start < maxQuoted {
		h.BestStart, h.BestEnd = h.Start, h.End
	}
}

// Best returns the best lines.
func (h Hit) Best() []string { return h.Lines[h.BestStart-h.Start : h.BestEnd-h.Start+1] }

func show(lines [][]byte, from, to int) []string {
	var out []string
	for _, l := range lines[from-1 : to] {
		out = append(out, strings.TrimSuffix(string(l), "\r"))
	}
	return out
}

// surface returns the names in lines that are words of the question, as written there, those with the most
// weight first.
func (x *Index) surface(q *query, lines [][]byte) []string {
	type name struct {
		text   string
		weight float64
	}
	var names []name
	for _, line := range lines {
		runs(line, func(run []byte) {
			if !bytes.ContainsFunc(run, unicode.IsLetter) || len(run) > maxRun {
				return // a number does not identify a subject
			}
			gain := 0.0
			x.lex.words(run, func(word []byte, _ bool) {
				for _, w := range q.wants {
					for _, o := range w.options {
						if o.word == string(word) {
							gain += w.kind * o.factor * o.rarity
						}
					}
				}
			})
			if gain > 0 && !slices.ContainsFunc(names, func(n name) bool { return n.text == string(run) }) {
				names = append(names, name{string(run), gain})
			}
		})
	}
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(b.weight, a.weight) })
	var out []string
	for _, n := range names[:min(len(names), 6)] {
		out = append(out, n.text)
	}
	return out
}

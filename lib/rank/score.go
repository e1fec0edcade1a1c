package rank

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// BM25's usual constants; b is lower than the usual 0.75 since long source files
// are long for good reasons.
const (
	k1 = 1.2
	b  = 0.6
)

const (
	pathTF     = 2    // a word in the path counts as so many lines
	candidates = 14   // files whose lines are weighed
	span       = 6    // lines of a window before it is widened
	maxShown   = 8    // lines of a window
	maxLine    = 480  // bytes; a longer line is never shown
	perFile    = 3    // windows of one file
	fileShare  = 0.3  // of the file's score in the window's
	near       = 0.45 // of the best hit's score and cover: what is below is no answer
	rawBonus   = 2.0  // weight of a raw name that stands in a line
)

type scored struct {
	f     *file
	score float64
}

func (x *Index) sort() {
	x.order = x.order[:0]
	for _, f := range x.files {
		if len(f.terms) > 0 {
			x.order = append(x.order, f)
		}
	}
	slices.SortFunc(x.order, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
}

// best returns the files most like the question.
func (x *Index) best(q *query) []scored {
	mean := float64(x.tokens) / float64(max(len(x.order), 1))
	var all []scored
	for _, f := range x.order {
		if s := q.file(f, mean); s > 0 {
			all = append(all, scored{f, s})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return all[:min(len(all), candidates)]
}

// file is BM25 of one file, times what kind of file it is and how much of the
// question it has.
func (q *query) file(f *file, mean float64) float64 {
	score, have := 0.0, 0.0
	norm := k1 * (1 - b + b*float64(len(f.lines))/max(mean, 1))
	for _, t := range q.terms {
		lines := f.on(t.id)
		if len(lines) == 0 {
			continue
		}
		tf := float64(len(lines))
		if lines[0] == 0 {
			tf += pathTF - 1
		}
		score += t.weight * tf * (k1 + 1) / (tf + norm)
		have += t.weight
	}
	path := strings.ToLower(f.path)
	for _, raw := range q.raws {
		if strings.Contains(path, raw) {
			score += 2 * rawBonus
		}
	}
	return score * f.weight * (0.4 + 0.6*min(1, have/max(q.total, 0.01)))
}

// matched is a line that has words of the question.
type matched struct {
	n      int    // from 1
	mask   uint64 // of query terms
	gain   [2]float64
	define uint64 // terms that the line defines
	raws   int
}

// windows weighs the lines of the best files.
func (x *Index) windows(q *query, files []scored, limit int) []Hit {
	var hits []Hit
	for _, s := range files {
		text, err := x.text(s.f)
		if err != nil {
			x.note(err)
			continue // gone since the walk: the others still count
		}
		hits = append(hits, x.inFile(q, s, bytes.Split(text, []byte{'\n'}))...)
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	if len(hits) == 0 {
		return nil
	}
	best := hits[0]
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < near*best.Score || h.Cover < near*best.Cover })
	return hits[:min(len(hits), limit)]
}

// inFile returns the best windows of one file.
func (x *Index) inFile(q *query, s scored, lines [][]byte) []Hit {
	found := x.matches(q, s.f, lines)
	type window struct {
		from, to int // in found
		score    float64
		mask     uint64
	}
	var all []window
	for i := range found {
		best := window{}
		var mask uint64
		for j := i; j < len(found) && found[j].n-found[i].n < span; j++ {
			mask |= found[j].mask
			if score := q.window(found[i : j+1]); score > best.score*1.02 {
				best = window{i, j, score, mask}
			}
		}
		if best.score > 0 {
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, func(a, b window) int { return cmp.Compare(b.score, a.score) })
	var hits []Hit
	for _, w := range all {
		h := Hit{Path: s.f.path, Score: s.f.weight*w.score + fileShare*s.score, Cover: q.cover(w.mask), Count: q.count(w.mask)}
		h.Start, h.End = widen(lines, found[w.from].n, found[w.to].n)
		apart := func(o Hit) bool { return h.End < o.Start || o.End < h.Start }
		if len(hits) < perFile && !slices.ContainsFunc(hits, func(o Hit) bool { return !apart(o) }) {
			h.Lines, h.Words = show(lines, h.Start, h.End), x.surface(q, lines[h.Start-1:h.End])
			h.Defines = x.defines(q, lines[h.Start-1:h.End])
			hits = append(hits, h)
		}
	}
	return hits
}

// matches are the lines of a file that have words of the question.
func (x *Index) matches(q *query, f *file, lines [][]byte) []matched {
	at := map[int]uint64{}
	for i, t := range q.terms {
		for _, n := range f.on(t.id) {
			if n > 0 && int(n) <= len(lines) && len(lines[n-1]) <= maxLine {
				at[int(n)] |= 1 << i
			}
		}
	}
	found := make([]matched, 0, len(at))
	for n, mask := range at {
		m := matched{n: n, mask: mask}
		m.gain[0], m.gain[1], m.define = x.weigh(q, lines[n-1])
		if len(q.raws) > 0 {
			low := strings.ToLower(string(lines[n-1]))
			for i, raw := range q.raws {
				if strings.Contains(low, raw) {
					m.raws |= 1 << i
				}
			}
		}
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b matched) int { return cmp.Compare(a.n, b.n) })
	return found
}

// window scores neighbouring lines: each word counts once, where it counts most.
func (q *query) window(lines []matched) float64 {
	var have uint64
	var best [maxQuery]float64
	raws := 0
	for _, m := range lines {
		have |= m.mask
		raws |= m.raws
		for rest := m.mask; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			gain := m.gain[0]
			if m.define&(1<<i) != 0 {
				gain = m.gain[1]
				if q.terms[i].name {
					gain *= 1.6 // the one place that defines what was asked for by name
				}
			}
			best[i] = max(best[i], gain)
		}
	}
	score := rawBonus * float64(bits.OnesCount(uint(raws)))
	for i, t := range q.terms {
		score += t.weight * best[i]
	}
	length := lines[len(lines)-1].n - lines[0].n
	return score * (1 - 0.04*float64(length)) * (0.5 + 0.5*q.cover(have))
}

// count is how many different words a mask has.
func (q *query) count(mask uint64) int {
	n := 0
	for i, t := range q.terms {
		if mask&(1<<i) != 0 && !t.guess {
			n++
		}
	}
	return n
}

func (q *query) cover(mask uint64) float64 {
	have := 0.0
	for i, t := range q.terms {
		if mask&(1<<i) != 0 {
			have += t.weight
		}
	}
	return min(1, have/max(q.total, 0.01))
}

// What begins a line that defines something, in the languages that teams write.
var keywords = []string{"func ", "type ", "const ", "var ", "def ", "class ", "struct ", "enum ", "interface ", "trait ", "impl ", "fn ",
	"pub ", "public ", "private ", "protected ", "static ", "export ", "let ", "module ", "#define ", "create table ", "message ", "function "}

// weigh says what a word on this line is worth, what it is worth where the line
// defines it, and which words of the question it defines.
func (x *Index) weigh(q *query, line []byte) (plain, defined float64, define uint64) {
	text := strings.TrimSpace(string(line))
	low := strings.ToLower(text)
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(low, p) })
	}
	switch {
	case len(text) > 240: // long lines have many words by mere length
		return 0.7, 0.7, 0
	case begins("import ", "from ", "#include", "require(", "use ", "using ", "package "):
		return 0.5, 0.5, 0
	case begins("//", "/*", "* ", "--", ";", `.\"`):
		return 1.1, 1.1, 0
	case begins("# ", "## ", "### ", "= ", "== ", ".sh ", ".ss "):
		return 1.2, 1.2, 0
	case begins(keywords...):
		return 1, 1.5, x.mask(q, text, 3)
	case strings.ContainsAny(text, "=:"):
		return 1, 1.25, x.mask(q, text, 1)
	}
	return 1, 1, 0
}

// mask tells which words of the question are among the first n names of a line.
func (x *Index) mask(q *query, text string, n int) uint64 {
	var mask uint64
	runs([]byte(text), func(run []byte) {
		if n--; n < 0 {
			return
		}
		for _, id := range x.terms(run) {
			for i, t := range q.terms {
				if t.id == id {
					mask |= 1 << i
				}
			}
		}
	})
	return mask
}

// defines reports whether a line defines a name that is, whole, a word of the
// question.
func (x *Index) defines(q *query, lines [][]byte) bool {
	for _, line := range lines {
		if _, _, define := x.weigh(q, line); define == 0 {
			continue
		}
		first := 3
		found := false
		runs(line, func(run []byte) {
			ids := x.terms(run)
			if first--; first >= 0 && len(ids) > 0 {
				whole := ids[len(ids)-1]
				found = found || slices.ContainsFunc(q.terms, func(t term) bool { return t.id == whole })
			}
		})
		if found {
			return true
		}
	}
	return false
}

// widen takes in the comment above and the line below, so that what is shown can
// be understood, and leaves blank lines out.
func widen(lines [][]byte, from, to int) (int, int) {
	blank := func(n int) bool { return len(bytes.TrimSpace(lines[n-1])) == 0 }
	fits := func(n int) bool {
		return n >= 1 && n <= len(lines) && !blank(n) && len(lines[n-1]) <= maxLine && to-from+1 < maxShown
	}
	for i := 0; i < 2 && fits(from-1) && comment(lines[from-2]); i++ {
		from--
	}
	for i := 0; i < 3 && fits(to+1) && comment(lines[to-1]); i++ {
		to++
	}
	if to == from && fits(to+1) {
		to++
	}
	return from, to
}

func comment(line []byte) bool {
	text := bytes.TrimSpace(line)
	return bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("# ")) || bytes.HasPrefix(text, []byte("* "))
}

func show(lines [][]byte, from, to int) []string {
	var out []string
	for _, l := range lines[from-1 : to] {
		out = append(out, strings.TrimSuffix(string(l), "\r"))
	}
	return out
}

// surface returns the names of lines that are words of the question, as they
// stand there, the rarest first.
func (x *Index) surface(q *query, lines [][]byte) []string {
	type name struct {
		text   string
		weight float64
	}
	var names []name
	for _, line := range lines {
		runs(line, func(run []byte) {
			if !bytes.ContainsFunc(run, unicode.IsLetter) {
				return // a number says nothing of what stands here
			}
			gain := 0.0
			for _, id := range x.terms(run) {
				for _, t := range q.terms {
					if t.id == id {
						gain += t.weight
					}
				}
			}
			if gain > 0 && len(run) <= maxRun && !slices.ContainsFunc(names, func(n name) bool { return n.text == string(run) }) {
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

// exactIn reports whether a hit has a whole name of the question.
func (q *query) exactIn(h Hit) bool {
	text := strings.ToLower(strings.Join(h.Lines, "\n"))
	for _, raw := range q.raws {
		if strings.Contains(text, raw) {
			return true
		}
	}
	squeezed := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
	return slices.ContainsFunc(q.names, func(n string) bool { return strings.Contains(squeezed, n) })
}

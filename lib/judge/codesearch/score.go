package codesearch

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// BM25F: how much a word counts where it stands, how soon more of it counts for
// nothing (k1), and how much a long passage is held against it (b).
const (
	nameTF = 2.5
	noteTF = 1.5
	codeTF = 1.0
	pathTF = 1.2
	k1     = 1.2
	b      = 0.4
)

const (
	candidates = 48   // passages whose lines are looked at
	coverShare = 0.45 // how much a passage depends on having all of the question
	fileShare  = 0.2  // of what the whole file has of it in the score of each passage
	baseShare  = 0.75 // of the weight of a word that is in the file's own name
	headless   = 0.75 // a passage that declares nothing
	rawBonus   = 3.0  // a path of the question that is this file's, a name that stands in a line
	callBonus  = 3.0  // a file or a declaration whose name is words of the question and nothing else
	callRarity = 6.0  // of a word that stands once, from which on it is that much: some 600 passages
)

// posted is a word in a passage of one of the segments.
type posted struct {
	at     uint32 // passages of the base, then of the extra segment
	fields fields
}

// gained is what a passage gets for one want, and how well the word stands for it.
type gained struct{ gain, factor float64 }

// segments are those that there are.
func (x *Index) segments() []*segment {
	if x.extra == nil {
		return []*segment{x.base}
	}
	return []*segment{x.base, x.extra}
}

func (x *Index) passages() int {
	n := 0
	for _, s := range x.segments() {
		n += len(s.spans)
	}
	return n
}

// stands reports whether a word stands anywhere.
func (x *Index) stands(word string) bool { return len(x.posts(word)) > 0 }

// posts are the passages that have a word, without those of files that have
// changed since the base was made or are gone.
func (x *Index) posts(word string) []posted {
	var all []posted
	offset := uint32(0)
	for n, s := range x.segments() {
		if i := s.find(word); i >= 0 {
			s.each(i, func(at uint32, f fields) {
				if n > 0 || !x.stale(s.spans[at].file) {
					all = append(all, posted{offset + at, f})
				}
			})
		}
		offset += uint32(len(s.spans))
	}
	return all
}

// stale reports whether a file of the base is no longer as it was.
func (x *Index) stale(n uint32) bool {
	f, ok := x.known[x.base.files[n].path]
	return !ok || f.extra
}

// at is a passage by its number.
func (x *Index) at(n uint32) (*segment, span) {
	if int(n) < len(x.base.spans) {
		return x.base, x.base.spans[n]
	}
	return x.extra, x.extra.spans[int(n)-len(x.base.spans)]
}

// scored is a passage and how well it answers.
type scored struct {
	entry
	span
	score float64
	cover float64 // share of the question's weight that it has
	mask  uint64  // of the wants that it has
}

// best returns the passages most like the question: by their own words, by how
// many of the question's they have, by what else their file has, and by what kind
// of file it is.
func (x *Index) best(q *query) []scored {
	mean := x.mean()
	passages := map[uint32]*scored{}
	files := map[string][]float64{} // by path: the best of each want
	for i := range q.wants {
		here := map[uint32]gained{}
		for _, o := range q.wants[i].options {
			for _, p := range o.posts {
				_, s := x.at(p.at)
				gain := q.wants[i].kind * o.factor * o.rarity * saturated(p.fields, float64(s.words)/mean)
				was := here[p.at]
				here[p.at] = gained{max(was.gain, gain), max(was.factor, o.factor)}
			}
		}
		for at, g := range here {
			gain := g.gain
			p := passages[at]
			if p == nil {
				seg, s := x.at(at)
				p = &scored{entry: seg.files[s.file], span: s}
				passages[at] = p
			}
			p.score += gain
			p.cover += g.factor * q.wants[i].weight / max(q.total, 0.01)
			p.mask |= 1 << i
			of := files[p.path]
			if of == nil {
				of = make([]float64, len(q.wants))
				files[p.path] = of
			}
			of[i] = max(of[i], gain)
		}
	}
	rest := map[string]float64{}
	for name, of := range files {
		for _, gain := range of {
			rest[name] += gain
		}
		rest[name] = fileShare*rest[name] + q.named(name) + x.titled(q, name)
	}
	all := make([]scored, 0, len(passages))
	for _, p := range passages {
		p.score = shape(p) * q.worth(p.kind) * (p.score*(1-coverShare+coverShare*min(1, p.cover)) + rest[p.path])
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path), cmp.Compare(a.from, b.from))
	})
	return all[:min(len(all), candidates)]
}

// shape is what a passage is worth for what it is.
func shape(p *scored) float64 {
	if p.decl == 0 {
		return headless
	}
	return 1
}

// mean is the usual number of words in a passage.
func (x *Index) mean() float64 {
	words := int64(0)
	for _, s := range x.segments() {
		words += s.total
	}
	return max(1, float64(words)/float64(max(x.passages(), 1)))
}

// saturated is how much a word counts in a passage of so many times the usual
// length.
func saturated(f fields, length float64) float64 {
	tf := nameTF*float64(f.names()) + noteTF*float64(f.notes()) + codeTF*float64(f.codes())
	if f&inPath != 0 {
		tf += pathTF
	}
	return bm25(tf, length, b)
}

// bm25 is how much a word counts that stands tf times in a text of so many times the
// usual length, of which b is held against it.
func bm25(tf, length, b float64) float64 {
	tf /= 1 - b + b*length
	return tf * (k1 + 1) / (tf + k1)
}

// worth is what a kind of file is worth for this question.
func (q *query) worth(kind uint8) float64 {
	if fileKind(kind) == tests && q.tests {
		return 1
	}
	return worth[min(int(kind), len(worth)-1)]
}

// titled is what a file gets for having words of the question in its own name.
func (x *Index) titled(q *query, name string) float64 {
	title := title(name)
	score := x.called(q, title)
	runs([]byte(title), func(run []byte) {
		x.lex.words(run, func(word []byte, _ bool) {
			for _, w := range q.wants {
				if o := w.options[0]; o.word == string(word) && o.factor == 1 && !w.guess {
					score += baseShare * w.weight
				}
			}
		})
	})
	return score
}

// title is a file's own name; one that stands for its folder has the folder's.
func title(name string) string {
	dir, base := path.Split(name)
	base = strings.TrimSuffix(base, path.Ext(base))
	if dir != "" && slices.Contains([]string{"__init__", "__main__", "index", "mod"}, base) {
		return path.Base(dir)
	}
	return base
}

// called is what a name gets for the share of its parts that are words of the
// question, or stand for one: who asks how a thing is quoted means quote before
// splitQuotedFields. In a small folder, where no word weighs much, it is less.
func (x *Index) called(q *query, name string) float64 {
	parts, sum := 0, 0.0
	runs([]byte(name), func(run []byte) {
		x.lex.words(run, func(word []byte, compound bool) {
			if !compound {
				parts++
				sum += q.standsFor(word)
			}
		})
	})
	return callBonus * min(1, x.rarity(1)/callRarity) * sum / float64(max(parts, 1))
}

// standsFor is how well a word stands for one of the question, 1 for that itself.
func (q *query) standsFor(word []byte) float64 {
	best := 0.0
	for _, w := range q.wants {
		for _, o := range w.options {
			if o.word == string(word) && !w.guess {
				best = max(best, o.factor)
			}
		}
	}
	return best
}

// named is what a file gets for being named in the question.
func (q *query) named(name string) float64 {
	low := strings.ToLower(name)
	score := 0.0
	for _, raw := range q.raws {
		if low == raw || path.Base(low) == raw || strings.HasSuffix(low, "/"+raw) {
			score += 2 * rawBonus
		} else if strings.Contains(low, raw) {
			score += rawBonus
		}
	}
	return score
}

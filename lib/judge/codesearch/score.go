package codesearch

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// BM25F parameters: the weight of a word in each field, the saturation of its frequency (k1), and the
// penalty on long passages (b).
const (
	nameTF = 2.5
	noteTF = 1.5
	codeTF = 1.0
	pathTF = 1.2
	k1     = 1.2
	b      = 0.4
)

const (
	candidates = 48   // passages whose lines are examined
	coverShare = 0.45 // how much a passage's score depends on covering the whole question
	fileShare  = 0.2  // share of the whole file's score added to each of its passages
	baseShare  = 0.75 // share of a word's weight if it is in the file's own name
	headless   = 0.87 // factor for a passage without a declaration
	frameBonus = 6.0  // for the innermost own file of a traceback
	rawBonus   = 3.0  // for a path of the question that is this file's, or a name found in a line
	callBonus  = 3.0  // for a file or declaration whose name consists of words of the question
	callRarity = 6.0  // rarity of a word that occurs once, from which callBonus is full: some 600 passages
)

// posted is an occurrence of a word in a passage of one of the segments.
type posted struct {
	at     uint32 // number of the passage: base first, then extra
	fields fields
}

// gained is what a passage gains for one want, and the factor of the word found.
type gained struct{ gain, factor float64 }

// segments returns the existing segments.
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

// stands reports whether a word occurs anywhere.
func (x *Index) stands(word string) bool { return len(x.posts(word)) > 0 }

// posts returns the passages that contain a word, except those of files changed or deleted since the base
// was built.
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

// stale reports whether a file of the base is out of date.
func (x *Index) stale(n uint32) bool {
	f, ok := x.known[x.base.files[n].path]
	return !ok || f.extra
}

// at returns a passage by its number.
func (x *Index) at(n uint32) (*segment, span) {
	if int(n) < len(x.base.spans) {
		return x.base, x.base.spans[n]
	}
	return x.extra, x.extra.spans[int(n)-len(x.base.spans)]
}

// scored is a passage and its score.
type scored struct {
	entry
	span
	score float64
	cover float64 // share of the question's weight in it
	mask  uint64  // the wants found in it
}

// best returns the passages that best match the question: by their own words, by how much of the question
// they cover, by the rest of their file, and by the kind of file.
func (x *Index) best(q *query) []scored {
	mean := x.mean()
	passages := map[uint32]*scored{}
	files := map[string][]float64{} // by path: the best gain of each want
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
				if s.tests {
					p.kind = uint8(tests)
				}
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
	traced := q.traced(files)
	for name, of := range files {
		for _, gain := range of {
			rest[name] += gain
		}
		rest[name] = fileShare*rest[name] + q.named(name) + traced[name] + x.titled(q, name)
	}
	all := make([]scored, 0, len(passages))
	for _, p := range passages {
		p.score = shape(p) * q.worth(p.kind) * (p.score*(1-coverShare+coverShare*min(1, p.cover)) +
			rest[p.path])
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path),
			cmp.Compare(a.from, b.from))
	})
	return all[:min(len(all), candidates)]
}

// shape returns the factor for the kind of passage.
func shape(p *scored) float64 {
	if p.decl == 0 {
		return headless
	}
	return 1
}

// mean returns the mean number of words in a passage.
func (x *Index) mean() float64 {
	words := int64(0)
	for _, s := range x.segments() {
		words += s.total
	}
	return max(1, float64(words)/float64(max(x.passages(), 1)))
}

// saturated returns the contribution of a word in a passage of length times the mean length.
func saturated(f fields, length float64) float64 {
	tf := nameTF*float64(f.names()) + noteTF*float64(f.notes()) + codeTF*float64(f.codes())
	if f&inPath != 0 {
		tf += pathTF
	}
	return bm25(tf, length, b)
}

// bm25 returns the contribution of a word that occurs tf times in a text of length times the mean length,
// with length penalty b.
func bm25(tf, length, b float64) float64 {
	tf /= 1 - b + b*length
	return tf * (k1 + 1) / (tf + k1)
}

const (
	worthUsed     = 0.5 // of a test, which shows how something is used
	worthReported = 0.5 // of a document for a report, whose code is like that of documents
)

// worth returns the factor of a kind of file for this question.
func (q *query) worth(kind uint8) float64 {
	switch k := fileKind(kind); {
	case k == tests && q.tests, q.use && (k == document || k == example):
		return 1
	case k == tests && q.use:
		return worthUsed
	case k == document && q.report:
		return worthReported
	}
	return worth[min(int(kind), len(worth)-1)]
}

// titled returns the bonus of a file for words of the question in its own name.
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

// title returns a file's own name, or its folder's if the file stands for the folder.
func title(name string) string {
	dir, base := path.Split(name)
	base = strings.TrimSuffix(base, path.Ext(base))
	if dir != "" && slices.Contains([]string{"__init__", "__main__", "index", "mod"}, base) {
		return path.Base(dir)
	}
	return base
}

// called returns the bonus of a name for the share of its parts that are words of the question or stand
// for one: a question about how something is quoted means quote rather than splitQuotedFields. In a small
// folder, where no word has much weight, it is lower.
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

// standsFor returns how well a word matches a word of the question; 1 is the word itself.
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

// named returns the bonus of a file that is named in the question.
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

// traced returns the bonus of the files that are in the tracebacks of a report, the more the nearer to the
// failure.
func (q *query) traced(files map[string][]float64) map[string]float64 {
	bonus, next := map[string]float64{}, frameBonus
	for _, frame := range q.frames {
		last := next
		for name := range files {
			if strings.HasSuffix(frame, "/"+name) || strings.HasSuffix("/"+name, frame) {
				bonus[name] = max(bonus[name], last)
				next = last / 2
			}
		}
	}
	return bonus
}

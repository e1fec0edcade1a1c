package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// plain is what a search is measured against: BM25 (k1 1.2, b 0.75) over the words
// of chunks of 40 lines, lower case, cut at what is not a letter, digit or '_'. Its
// only help is a list of English stop words.
type plain struct {
	chunks []chunk
	df     map[string]int
	total  int
}

type chunk struct {
	ref
	tf    map[string]int
	words int
}

const chunkLines = 40

var plainStops = strings.Fields(`a an and any are as at be by can did do does for from get had has have how i if in into is it its
me my no not of on or our so that the their them then there these they this to up was we were what when where which who why will with you`)

func plainWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(plainStops, w) })
}

func newPlain(root string) (*plain, error) {
	p := &plain{df: map[string]int{}}
	return p, sources(root, func(path string, text []byte) {
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for from := 0; from < len(lines); from += chunkLines {
			to := min(from+chunkLines, len(lines))
			c := chunk{ref: ref{path, from + 1, to}, tf: map[string]int{}}
			for _, w := range plainWords(strings.Join(lines[from:to], "\n")) {
				c.tf[w]++
				c.words++
			}
			for w := range c.tf {
				p.df[w]++
			}
			p.total += c.words
			p.chunks = append(p.chunks, c)
		}
	})
}

// search returns the 8 best chunks.
func (p *plain) search(question string) []ref {
	type scored struct {
		ref
		score float64
	}
	mean := float64(p.total) / float64(max(len(p.chunks), 1))
	words := plainWords(question)
	slices.Sort(words)
	words = slices.Compact(words)
	var all []scored
	for _, c := range p.chunks {
		s := 0.0
		for _, w := range words {
			tf, df, n := float64(c.tf[w]), float64(p.df[w]), float64(len(p.chunks))
			if tf > 0 {
				s += math.Log(1+(n-df+0.5)/(df+0.5)) * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(c.words)/mean))
			}
		}
		if s > 0 {
			all = append(all, scored{c.ref, s})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var refs []ref
	for _, s := range all[:min(len(all), most)] {
		refs = append(refs, s.ref)
	}
	return refs
}

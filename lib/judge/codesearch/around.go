package codesearch

import (
	"bytes"
	"slices"
	"strings"
)

// Each candidate file is also scored like a plain text search: in blocks of forty lines, regardless of
// declarations, for the words of the question as typed, by BM25 with its usual constants. This knows less
// than score.go and so makes other errors; where both agree, both are more often right.
const (
	aroundLines = 40
	aroundShare = 0.2  // maximum share of a hit's score lost if its file scores low here
	aroundB     = 0.75 // the length penalty; see b in score.go
)

// typed is a word of the question as typed, in lower case.
type typed struct {
	text   []byte
	rarity float64
}

// typed returns the words of a question that a plain search would use.
func (x *Index) typed(question string) []typed {
	var all []typed
	seen := map[string]bool{}
	runs([]byte(question), func(run []byte) {
		low := strings.ToLower(string(run))
		if english := glossary[low]; english != "" {
			low = english
		}
		if stopWords[low] || seen[low] || len(all) == maxWants {
			return
		}
		seen[low] = true
		passages := 0
		x.lex.words([]byte(low), func(word []byte, _ bool) {
			if passages == 0 {
				passages = len(x.posts(string(word)))
			}
		})
		all = append(all, typed{[]byte(low), x.rarity(passages)})
	})
	return all
}

// around scores the best block of each text, scaled so that the best text has 1.
func around(words []typed, texts map[string][]byte) map[string]float64 {
	size, lines := 0, 0
	for _, text := range texts {
		size += len(text)
		lines += bytes.Count(text, []byte{'\n'}) + 1
	}
	usual := aroundLines * float64(size) / float64(max(lines, 1)) // mean bytes of a block
	said, most := map[string]float64{}, 0.0
	for path, text := range texts {
		said[path] = saysMost(words, bytes.ToLower(text), usual)
		most = max(most, said[path])
	}
	for path := range said {
		if most > 0 {
			said[path] /= most
		} else {
			said[path] = 1
		}
	}
	return said
}

// saysMost returns the BM25 score of the best block of a text in lower case.
func saysMost(words []typed, text []byte, usual float64) float64 {
	ends := blocks(text)
	scores, times := make([]float64, len(ends)), make([]int, len(ends))
	for _, w := range words {
		clear(times)
		for at, block := 0, 0; ; {
			i := bytes.Index(text[at:], w.text)
			if i < 0 {
				break
			}
			from, to := at+i, at+i+len(w.text)
			for from >= ends[block] {
				block++
			}
			if (from == 0 || !inWord(text[from-1])) && (to == len(text) || !inWord(text[to])) {
				times[block]++
			}
			at = to
		}
		begin := 0
		for block, end := range ends {
			if times[block] > 0 {
				scores[block] += w.rarity * bm25(float64(times[block]), float64(end-begin)/usual, aroundB)
			}
			begin = end
		}
	}
	return slices.Max(scores)
}

// blocks returns the end of each block of forty lines of a text, and the end of the text.
func blocks(text []byte) []int {
	var ends []int
	at, lines := 0, 0
	for {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		if lines++; lines == aroundLines {
			ends, lines = append(ends, at), 0
		}
	}
	return append(ends, len(text))
}

// inWord reports whether a byte of a text in lower case is part of a word.
func inWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c >= 0x80
}

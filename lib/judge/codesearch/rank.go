// Package codesearch finds the lines of a folder that best answer a question, with BM25 over declarations
// and no model. The files, in the order in which a question is processed:
//
//	walk.go, refresh.go   which files are searched, and which have changed
//	ignore.go             the files that git ignores
//	language.go           how the lines of a language are classified
//	passage.go            dividing a file into passages: declarations with the
//	                      comment above them, sections, blocks of settings
//	words.go              splitting names, stemming
//	english.go, words.txt stop words, abbreviations and synonyms
//	reader.go             the words of a passage, by field
//	segment.go            the index: passages by word; also on disk
//	query.go              the question: its terms, each with alternatives
//	score.go              ranking passages (BM25F)
//	window.go             choosing the best lines of the best passages
//	around.go             scoring their files like a plain search
//
// All access goes through os.Root. No symbolic link is followed, and files whose names mark them as secret
// are never read.
package codesearch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"tri/lib/base/durable"
)

// Limits of what is read. The memory of an index is about a third of the size of the text, and about
// three times the text while it is built.
const (
	MaxFile  = 1 << 20   // bytes; larger files are skipped
	MaxFiles = 50_000    // files in one index
	MaxBytes = 128 << 20 // bytes of text in one index, about 3.5 million lines
)

// Hit is a range of lines of one file.
type Hit struct {
	Path       string // relative to the root, with '/'
	Start, End int    // lines from 1, inclusive
	Lines      []string
	Words      []string // words of the question in the best lines, as written there
	Score      float64
	Cover      float64 // share of the question's weight in the best lines, 0 to 1
	Count      int     // number of different words of the question in them
	Defines    bool    // the passage declares a name that is a whole word of the question
	// The best lines between Start and End, at most 8. See Best.
	BestStart, BestEnd int

	alone float64 // the score before the rest of the file counts
}

// Found is the result of one question.
type Found struct {
	Hits     []Hit    // best first
	Files    int      // searched
	Skipped  int      // not indexed because the index is full
	Missing  []string // names in the question that are not found
	Cover    float64  // share of the question's weight in the best hit
	Strength float64  // the best hit's score relative to the question's weight; lower for longer questions
	Words    int      // of the question that count, those not found included
	Exact    bool     // the best hit contains a whole name of the question
	// Fault is the first error by which an existing file could not be read. With a Fault, finding nothing
	// is not significant.
	Fault error
}

// Index is the index of one folder. It is safe for concurrent use.
type Index struct {
	root *os.Root
	home *durable.Home // where the index is kept; nil: only in memory
	name string        // of its file there

	texts map[string]string // given to Texts; root is then nil

	mu      sync.Mutex
	known   map[string]file
	base    *segment // all files at some time
	extra   *segment // files changed since
	skipped int
	fault   error // of the current search; see note
	lex     lexer
}

// Open makes an empty index of dir. No file is read until the first question.
func Open(dir string) (*Index, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	return &Index{root: root, known: map[string]file{}}, nil
}

// Texts makes an index of texts that are not in a folder. The keys become the paths of hits.
func Texts(texts map[string]string) *Index {
	x := &Index{known: map[string]file{}, texts: texts}
	for name, text := range texts {
		x.known[name] = file{entry: entry{path: name, size: int64(len(text))}}
	}
	x.base = x.build(slices.Collect(maps.Keys(texts)))
	return x
}

// Close closes the folder.
func (x *Index) Close() error {
	if x.root == nil {
		return nil
	}
	return x.root.Close()
}

// Search brings the index up to date and returns at most limit hits for the question. Finding nothing is
// not an error.
func (x *Index) Search(ctx context.Context, question string, limit int) (Found, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refresh(ctx); err != nil {
		return Found{}, err
	}
	q := x.query(question)
	found := Found{Files: len(x.known), Skipped: x.skipped, Missing: q.missing, Words: q.words,
		Fault: x.fault}
	if len(q.wants) == 0 {
		if found.Hits = x.phrase(question, limit); len(found.Hits) > 0 {
			found.Cover, found.Strength, found.Exact = 1, 1, true
		}
		return found, ctx.Err()
	}
	found.Hits = x.definedFirst(q, x.windows(q, x.best(q), limit), limit)
	if len(found.Hits) > 0 {
		found.Cover, found.Exact = found.Hits[0].Cover, q.exactIn(found.Hits[0])
		found.Strength = found.Hits[0].alone / max(q.total, 0.01)
	}
	found.Fault = x.fault
	return found, ctx.Err()
}

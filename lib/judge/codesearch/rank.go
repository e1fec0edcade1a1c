// Package codesearch finds the lines of a folder that best answer a question, with BM25
// over declarations and no model. It can be read in the order in which a question goes:
//
//	walk.go, refresh.go   which files count, and what has changed since
//	ignore.go             what git ignores does not
//	language.go           how the lines of a language are told apart
//	passage.go            a file is cut into passages: declarations with the
//	                      comment above them, sections, blocks of settings
//	words.go, short.go    names are split, words stemmed, short forms known
//	english.go            what carries no meaning, what means the same
//	reader.go             a passage's words, by where they stand in it
//	segment.go            the index: by word, the passages; also on disk
//	query.go              the question: what it asks for, each in several words
//	score.go              the passages that have it, weighed (BM25F)
//	window.go             the lines of the best passages that say it best
//	around.go             and how their files look to a plain search
//
// All access goes through os.Root; no symbolic link is followed, and files that
// hold secrets by their name are never read.
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

// Limits of what is read. An index takes about as much memory as a third of the
// text, and while it is made about three times the text.
const (
	MaxFile  = 1 << 20   // bytes; larger files are left out
	MaxFiles = 50_000    // files in one index
	MaxBytes = 128 << 20 // bytes of text in one index, about 3.5 million lines
)

// Hit is a window of lines of one file.
type Hit struct {
	Path       string // from the root, with '/'
	Start, End int    // lines from 1, both included
	Lines      []string
	Words      []string // words of the best lines that the question has, as they stand there
	Score      float64
	Cover      float64 // share of the question's weight that the best lines carry, 0 to 1
	Count      int     // different words of the question in them
	Defines    bool    // the passage declares a name that is, whole, a word of the question
	// The lines from Start to End that say it best, at most 8. See Best.
	BestStart, BestEnd int

	alone float64 // the score, before what stands around it counts
}

// Found is the answer to one question.
type Found struct {
	Hits     []Hit    // best first
	Files    int      // that were searched
	Skipped  int      // that were left out because the index is full
	Missing  []string // names in the question that stand nowhere
	Cover    float64  // share of the question's weight that the best hit carries
	Strength float64  // the best hit's score by the weight of the question: about 1 and more where it answers
	Report   bool     // the question is longer than 40 words: what was done, what happened
	Exact    bool     // the best hit has a name of the question, whole
	// Fault is the first error by which a file that is there could not be read:
	// finding nothing then means nothing.
	Fault error
}

// Index is the words of one folder. It is safe for concurrent use.
type Index struct {
	root *os.Root
	home *durable.Home // where the index is kept; nil: in memory alone
	name string        // of its file there

	texts map[string]string // of Texts; root is nil then

	mu      sync.Mutex
	known   map[string]file
	base    *segment // all files at some moment
	extra   *segment // those that have changed since
	skipped int
	fault   error // of this search; see note
	lex     lexer
}

// Open makes an empty index of dir. Nothing is read until the first question.
func Open(dir string) (*Index, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	return &Index{root: root, known: map[string]file{}}, nil
}

// Texts makes an index of texts that lie in no folder, by the names that its hits
// will have.
func Texts(texts map[string]string) *Index {
	x := &Index{known: map[string]file{}, texts: texts}
	for name, text := range texts {
		x.known[name] = file{entry: entry{path: name, size: int64(len(text))}}
	}
	x.base = x.build(slices.Collect(maps.Keys(texts)))
	return x
}

// Close gives the folder back.
func (x *Index) Close() error {
	if x.root == nil {
		return nil
	}
	return x.root.Close()
}

// Search brings the index up to date and returns at most limit windows for the
// question. No hit is no error.
func (x *Index) Search(ctx context.Context, question string, limit int) (Found, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refresh(ctx); err != nil {
		return Found{}, err
	}
	q := x.query(question)
	found := Found{Files: len(x.known), Skipped: x.skipped, Missing: q.missing, Report: q.report, Fault: x.fault}
	if len(q.wants) == 0 {
		return found, nil
	}
	found.Hits = x.windows(q, x.best(q), limit)
	if len(found.Hits) > 0 {
		found.Cover, found.Exact = found.Hits[0].Cover, q.exactIn(found.Hits[0])
		found.Strength = found.Hits[0].alone / max(q.total, 0.01)
	}
	found.Fault = x.fault
	return found, ctx.Err()
}

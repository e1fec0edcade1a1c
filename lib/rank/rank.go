// Package rank finds the lines of a folder that best answer a question, with no
// model and no network: BM25 over files, then a weighing of windows of lines
// inside the best of them. Names are split (camelCase, snake_case, paths), words
// are stemmed lightly, rare words count for more, and so do definitions, exact
// names, comments and headings.
//
// The index is kept in memory and brought up to date, by time and size of each
// file, at each question. All access goes through os.Root; no symbolic link is
// followed, and files that hold secrets by their name are never read.
package rank

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Limits of what is read.
const (
	MaxFile  = 1 << 20   // bytes; larger files are left out
	MaxFiles = 50_000    // files in one index
	MaxBytes = 512 << 20 // bytes of text in one index
	maxTerms = 4 << 20   // distinct words and names before the index starts afresh
)

// Hit is a window of lines of one file.
type Hit struct {
	Path       string // from the root, with '/'
	Start, End int    // lines from 1, both included
	Lines      []string
	Words      []string // words of the lines that the question has, as they stand there
	Score      float64
	Cover      float64 // share of the question's weight that these lines carry, 0 to 1
	Count      int     // different words of the question in these lines
	Defines    bool    // one of them is a name that a line defines
}

// Found is the answer to one question.
type Found struct {
	Hits    []Hit    // best first
	Files   int      // that were searched
	Skipped int      // that were left out because the index is full
	Missing []string // names in the question that stand nowhere
	Cover   float64  // share of the question's weight that the best hit carries
	Exact   bool     // the best hit has a name of the question, whole
	// Fault is the first error by which a file that is there could not be read:
	// finding nothing then means nothing.
	Fault error
}

// Index is the words of one folder. It is safe for concurrent use.
type Index struct {
	root *os.Root

	mu      sync.Mutex
	files   map[string]*file
	order   []*file // by path
	ids     map[string]uint32
	df      []int32 // by term: how many files have it
	runs    map[string][]uint32
	tokens  int64 // in all files
	bytes   int64
	skipped int
	fault   error // of this search; see note
	lex     lexer
}

// file is what the index knows of one file: its distinct terms, sorted, and for
// each the lines that it stands on. Line 0 is the path.
type file struct {
	path   string
	size   int64
	mtime  time.Time
	racy   bool // changed so shortly before it was read that time cannot tell
	seen   bool
	weight float64
	terms  []uint32
	starts []uint32 // len(terms)+1
	lines  []uint32
}

// Open makes an empty index of dir. Nothing is read until the first question.
func Open(dir string) (*Index, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	x := &Index{root: root}
	x.reset()
	return x, nil
}

// Close gives the folder back.
func (x *Index) Close() error { return x.root.Close() }

func (x *Index) reset() {
	x.files, x.order = map[string]*file{}, nil
	x.ids, x.df, x.runs = map[string]uint32{}, nil, map[string][]uint32{}
	x.tokens, x.bytes = 0, 0
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
	found := Found{Files: len(x.order), Skipped: x.skipped, Missing: q.missing, Fault: x.fault}
	if len(q.terms) == 0 {
		return found, nil
	}
	found.Hits = x.windows(q, x.best(q), limit)
	if len(found.Hits) > 0 {
		found.Cover, found.Exact = found.Hits[0].Cover, q.exactIn(found.Hits[0])
	}
	found.Fault = x.fault
	return found, ctx.Err()
}

// refresh reads what is new or changed and forgets what is gone.
func (x *Index) refresh(ctx context.Context) error {
	if len(x.ids) > maxTerms {
		x.reset() // names of files long gone
	}
	for _, f := range x.order {
		f.seen = false
	}
	x.skipped, x.fault = 0, nil
	changed := false
	err := fs.WalkDir(x.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if path == "." {
				return err
			}
			x.note(err)
			return skip(d) // unreadable or gone meanwhile: the rest still counts
		}
		if d.IsDir() {
			if path != "." && (skipDir(d.Name()) || x.made(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || skipFile(d.Name()) {
			return nil
		}
		changed = x.visit(path, d) || changed
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %q: %w", x.root.Name(), err)
	}
	for path, f := range x.files {
		if !f.seen {
			x.forget(path, f)
			changed = true
		}
	}
	if changed {
		x.sort()
	}
	return nil
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// visit takes one file in, if it is new or changed, and reports whether it was.
func (x *Index) visit(path string, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil || info.Size() > MaxFile || info.Size() == 0 {
		x.note(err)
		return false
	}
	old := x.files[path]
	if old != nil && !old.racy && old.size == info.Size() && old.mtime.Equal(info.ModTime()) {
		old.seen = true
		return false
	}
	if old == nil && (len(x.files) >= MaxFiles || x.bytes+info.Size() > MaxBytes) {
		x.skipped++
		return false
	}
	if old != nil {
		x.forget(path, old)
	}
	text, err := x.root.ReadFile(path)
	if err != nil || len(text) > MaxFile {
		x.note(err)
		return old != nil
	}
	f := &file{path: path, size: info.Size(), mtime: info.ModTime(), seen: true}
	f.racy = time.Since(f.mtime) < 50*time.Millisecond // the clock of a file system ticks in steps
	if readable(text) {
		f.weight = weight(path, text)
		x.fill(f, text)
	}
	x.files[path] = f
	x.bytes += f.size
	for _, id := range f.terms {
		x.df[id]++
	}
	x.tokens += int64(len(f.lines))
	return true
}

// note keeps the first error that says that a file is there and could not be read
// just now. Finding nothing means something only where there was none.
func (x *Index) note(err error) {
	if x.fault == nil && err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		x.fault = err
	}
}

func (x *Index) forget(path string, f *file) {
	for _, id := range f.terms {
		x.df[id]--
	}
	x.tokens -= int64(len(f.lines))
	x.bytes -= f.size
	delete(x.files, path)
}

// text reads a file again, for its lines.
func (x *Index) text(f *file) ([]byte, error) {
	b, err := x.root.ReadFile(f.path)
	if err == nil && len(b) > MaxFile {
		err = errors.New("grown too large")
	}
	return b, err
}

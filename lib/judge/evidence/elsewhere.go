package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"
)

// Limits of the search for other places.
const (
	placeLines = 12       // least lines of a place
	maxRead    = 64 << 20 // bytes of a codebase that are read; more of it is taken to be like these
)

// A text is about the cited lines only if at most maxBetter places of other files have more of it, and at
// most maxAsGood places, the cited ones included, have as much. If it is put beside lines of another file
// than the one that it is about, that file has more of it.
const (
	maxBetter = 2
	maxAsGood = 60
)

// Peculiar reports whether, of a claim or of a sentence of own, the cited lines have more than other places
// of the codebase. A word has more weight the fewer places of this codebase have it, so everyday words of the
// codebase prove nothing. A claim that gives a name the value that the cited lines assign to it is about
// them. unread names a file or folder that could not be read, if that leaves it undecided, and says why.
func Peculiar(root *os.Root, own *Text, found []Finding) (peculiar bool, unread string) {
	return peculiarIn(root.FS(), func(name string) ([]byte, error) { return read(root, name) }, own, found)
}

func peculiarIn(tree fs.FS, text func(name string) ([]byte, error), own *Text,
	found []Finding) (peculiar bool, unread string) {
	c := census{ids: map[string]int{}, seen: map[string][]int{}, files: map[string][2]int{}}
	var asked []question
	for _, f := range found {
		if !f.backs() || f.Claim == nil {
			continue
		}
		if f.Claim.assigns(f.Exact) {
			return true, ""
		}
		asked = append(asked, c.ask(f.Path, f.Claim.content, f.Places))
		for i := range own.sentences {
			asked = append(asked, c.ask(f.Path, own.sentences[i].content, f.Places))
		}
	}
	if unread = c.read(tree, text); unread != "" {
		return false, unread // its words may be those of the text
	}
	return slices.ContainsFunc(asked, c.peculiar), ""
}

// census is where in a codebase the words of some texts are. Lines are numbered through all files.
type census struct {
	words []term
	ids   map[string]int // of words, by stem
	lines [][]int        // that have a word, by word
	seen  map[string][]int
	files map[string][2]int // first and last line
	last  int
}

// question is a text: its words, those of them in the cited lines, and how many lines of a file these are.
type question struct {
	path         string
	words, cited []int
	width        int
}

// ask adds a text.
func (c *census) ask(path string, content []term, cited []*Text) question {
	q := question{path: path, width: placeLines}
	for _, t := range cited {
		q.width = max(q.width, strings.Count(t.text, "\n")+1)
	}
	for _, w := range content {
		id, ok := c.ids[w.stem]
		if !ok {
			id = len(c.words)
			c.ids[w.stem], c.words, c.lines = id, append(c.words, w), append(c.lines, nil)
		}
		q.words = append(q.words, id)
		for _, t := range cited {
			if has(t.terms, w) {
				q.cited = append(q.cited, id)
				break
			}
		}
	}
	return q
}

// read finds the words in all files, until one cannot be read: it returns its name, and why.
func (c *census) read(tree fs.FS, text func(name string) ([]byte, error)) (unread string) {
	left := maxRead
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && missing(err) == errMissing && name != ".":
			return nil // removed meanwhile
		case err != nil:
			unread = fmt.Sprintf("%q: %v", name, missing(err))
			return fs.SkipAll
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case left <= 0:
			return fs.SkipAll
		case !d.Type().IsRegular():
			return nil
		}
		data, err := text(name)
		if as := unfit(""); errors.As(err, &as) || errors.Is(err, errMissing) {
			return nil // what is not text has no words
		}
		if err != nil {
			unread = fmt.Sprintf("%q: %v", name, err)
			return fs.SkipAll
		}
		left -= len(data)
		from := c.last
		c.file(string(data))
		c.files[name] = [2]int{from, c.last}
		return nil
	})
	return unread
}

// file finds the words in one file. Places do not span files.
func (c *census) file(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		c.last++
		for _, name := range strings.FieldsFunc(line, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
		}) {
			ids, ok := c.seen[name]
			if !ok {
				for _, w := range terms(name) {
					for id := range c.words {
						if akin(w, c.words[id]) {
							ids = append(ids, id)
						}
					}
				}
				c.seen[name] = ids
			}
			for _, id := range ids {
				if at := c.lines[id]; len(at) == 0 || at[len(at)-1] != c.last {
					c.lines[id] = append(at, c.last)
				}
			}
		}
	}
	c.last += MaxLines
}

// peculiar reports whether few places have words of as much weight as the cited lines.
func (c *census) peculiar(q question) bool {
	step := q.width / 2
	total := float64(c.last/step + 1)
	own := 0.0
	score := map[int]float64{} // of a place, by its first step
	for _, id := range q.words {
		places := c.places(id, step)
		weight := math.Log((total + 1) / (float64(len(places)) + 1))
		for _, at := range places {
			score[at] += weight
		}
		if slices.Contains(q.cited, id) {
			own += weight
		}
	}
	better, asGood := 0, 0
	file := c.files[q.path]
	for at, s := range score {
		if s >= own-tolerance {
			asGood++
		}
		if first := at * step; s > own+tolerance && (first < file[0]-step || first > file[1]) {
			better++
		}
	}
	return own > 0 && better <= maxBetter && asGood <= maxAsGood
}

// places returns the places that have a word, each two steps long.
func (c *census) places(id, step int) (out []int) {
	for _, line := range c.lines[id] {
		for at := line/step - 1; at <= line/step; at++ {
			if len(out) == 0 || at > out[len(out)-1] {
				out = append(out, at)
			}
		}
	}
	return out
}

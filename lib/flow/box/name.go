package box

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// A run is named YY-MM-DD_HHmm__slug__id: sorted by time (UTC), readable, and with an id unique in the
// box. Text of a task enters the name only through slug's alphabet.
const (
	maxSlug = 40
	layout  = "06-01-02_1504"
)

var runName = lazyregexp.New(`^\d\d-\d\d-\d\d_\d{4}__[a-z0-9]+(?:-[a-z0-9]+)*__([0-9a-f]{6})$`)

// slug returns the first words of a task, in letters a to z and digits.
func slug(task string) string {
	words := strings.FieldsFunc(strings.ToLower(cutBytes(task, 4096)), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	var s string
	for _, w := range words {
		if len(s) > 0 && len(s)+1+len(w) > maxSlug {
			break
		}
		s = strings.TrimPrefix(s+"-"+cutBytes(w, maxSlug), "-")
	}
	if s == "" {
		return "task"
	}
	return s
}

func cutBytes(s string, n int) string { return s[:min(n, len(s))] }

func newID() string {
	b := make([]byte, 3)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func nameOf(now time.Time, task, id string) string {
	return now.UTC().Format(layout) + "__" + slug(task) + "__" + id
}

// idOf returns the id in a run's name, or "" if the name is not a run's.
func idOf(run string) string {
	if m := runName.FindStringSubmatch(run); m != nil {
		return m[1]
	}
	return ""
}

// names returns the runs of the box, oldest first by name.
func (b *Box) names() ([]string, error) {
	all, err := b.home.List("runs")
	return slices.DeleteFunc(all, func(n string) bool { return idOf(n) == "" }), err
}

// Find returns the run that word names: latest, last-fail, or the beginning of a name or id, of at least
// three characters, if only one run matches.
func (b *Box) Find(word string) (string, error) {
	if word == "latest" || word == "last-fail" {
		return b.pointed(word)
	}
	names, err := b.names()
	if err != nil {
		return "", err
	}
	var found []string
	for _, n := range names {
		if n == word || idOf(n) == word {
			return n, nil
		}
		if text.Names(word, n) || text.Names(word, idOf(n)) {
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", sysexit.Hint(sysexit.With(sysexit.Usage,
			fmt.Errorf("%q is the beginning of %d runs", word, len(found))),
			strings.Join(found[:min(5, len(found))], ", "))
	}
	return "", sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("no run is called %q", word)),
		"tri-box list shows what there is; latest and last-fail are names too")
}

// links are the words that name a run by a link, with the link's path.
var links = map[string]string{"latest": "latest", "last-fail": "pointers/last-fail"}

// pointed reads a link. Whatever its target, the result is a run of the box.
func (b *Box) pointed(word string) (string, error) {
	to, err := b.home.Root().Readlink(links[word])
	if name := path.Base(to); err == nil && idOf(name) != "" && b.home.Exists("runs/"+name) {
		return name, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", links[word], err))
	}
	return "", sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("there is no run for %q yet", word)),
		"tri-box list shows what there is")
}

// point sets a link to a run, atomically.
func (b *Box) point(word, run string) error {
	link, to := links[word], "runs/"+run
	if dir := path.Dir(link); dir != "." {
		if err := b.home.MkdirAll(dir); err != nil {
			return err
		}
		to = "../" + to
	}
	temp := path.Join(path.Dir(link), fmt.Sprintf(".%s.%d", path.Base(link), os.Getpid()))
	if err := b.home.Remove(temp); err != nil { // left by a killed process with the same id
		return err
	}
	err := b.home.Root().Symlink(to, temp)
	if err == nil {
		err = b.home.Root().Rename(temp, link)
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("link %s: %w", link, err))
	}
	return nil
}

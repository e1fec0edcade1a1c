package evidence

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

// Place is the target of a file reference. Lines count from 1, inclusive; Start 0 is the whole file.
type Place struct {
	Path       string // slash-separated, relative to the codebase's root, clean
	Start, End int
}

// Specific returns p, or if it is MaxLines or longer, the whole file.
func (p Place) Specific() Place {
	if p.End-p.Start >= MaxLines {
		p.Start, p.End = 0, 0
	}
	return p
}

func (p Place) String() string {
	switch {
	case p.Start == 0:
		return p.Path
	case p.Start == p.End:
		return fmt.Sprintf("%s:%d", p.Path, p.Start)
	}
	return fmt.Sprintf("%s:%d-%d", p.Path, p.Start, p.End)
}

var grammar = lazyregexp.New(`^(.+?)(?::(\d{1,9})(?:[-–](\d{1,9})|:\d{1,9})?|#L(\d{1,9})(?:-L?(\d{1,9}))?)?$`)

// Parse reads path, path:12, path:12-20, path:12:5 (the column is dropped), path#L12 and path#L12-L20. It
// refuses a path that leads or could lead out of the codebase or into its .git, and one that would be
// parsed differently when written again, since it ends like a line number, such as 0:0 in 0:0:1:5.
func Parse(ref string) (Place, error) {
	p, err := parse(ref)
	if err != nil {
		return p, err
	}
	if again, err := parse(p.String()); err != nil || again != p {
		return p, errors.New("the path can be read in two ways")
	}
	return p, nil
}

func parse(ref string) (Place, error) {
	m := grammar.FindStringSubmatch(strings.TrimSpace(ref))
	if m == nil {
		return Place{}, errors.New("is not path:line")
	}
	p := Place{Path: m[1]}
	first, last := m[2]+m[4], m[3]+m[5]
	if first != "" {
		p.Start, _ = strconv.Atoi(first) // at most nine digits
		p.End = p.Start
		if last != "" {
			p.End, _ = strconv.Atoi(last)
		}
		if p.Start == 0 || p.End < p.Start {
			return Place{}, fmt.Errorf("lines %d to %d cannot be", p.Start, p.End)
		}
	}
	clean, err := checkPath(p.Path)
	p.Path = clean
	return p, err
}

// checkPath returns the cleaned name, or an error that says why it is refused.
func checkPath(name string) (string, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", errors.New("the path has control characters")
	}
	if path.IsAbs(name) {
		return "", errors.New("the path is absolute; paths are relative to the codebase")
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", errors.New("the path has a .. in it")
		}
		if strings.EqualFold(strings.TrimRight(part, ". "), ".git") {
			return "", errors.New("the path leads into .git")
		}
	}
	return path.Clean(name), nil
}

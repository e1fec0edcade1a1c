package codebase

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of one search.
const (
	maxSeen    = 200_000 // files and folders visited
	maxNames   = 1000    // names returned
	maxMatches = 200     // lines returned
	maxShown   = 300     // bytes of each of these lines
	maxScanned = 1 << 30 // bytes searched
)

// List returns the entries of a folder, in order; names of folders end in "/".
func (t *Tree) List(p string) ([]string, error) {
	name, err := t.Name(p)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(t.root.FS(), name)
	if err != nil {
		return nil, bare(name, err)
	}
	var names []string
	for _, e := range entries {
		switch {
		case !t.visible(path.Join(name, e.Name()), e.IsDir()) || e.Type()&fs.ModeSymlink != 0:
			continue
		case e.IsDir():
			names = append(names, e.Name()+"/")
		default:
			names = append(names, e.Name())
		}
	}
	return cut(names), nil
}

// cut shortens a list that is too long, and appends how many were dropped.
func cut(names []string) []string {
	if len(names) <= maxNames {
		return names
	}
	return append(names[:maxNames:maxNames], fmt.Sprintf("(and %d more)", len(names)-maxNames))
}

// Glob returns the files below a folder whose relative path matches pattern: "*", "?" and "[a-z]" within a
// part, "**" for any number of parts. A pattern without "/" matches the last part at any depth.
func (t *Tree) Glob(ctx context.Context, pattern, from string) ([]string, error) {
	match, err := matcher(pattern)
	if err != nil {
		return nil, err
	}
	start, err := t.Name(from)
	if err != nil {
		return nil, err
	}
	var names []string
	err = t.walk(ctx, start, func(name string, d fs.DirEntry) bool {
		if !d.IsDir() && match(below(start, name)) {
			names = append(names, name)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return cut(names), nil
}

// below returns a name relative to a folder above it.
func below(from, name string) string {
	if from == "." || name == from {
		return name
	}
	return strings.TrimPrefix(name, from+"/")
}

// matcher parses a pattern; "" matches everything.
func matcher(pattern string) (func(name string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	parts := strings.Split(strings.TrimPrefix(path.Clean(pattern), "/"), "/")
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	// Consecutive ** mean the same as one, and would be tried many times.
	parts = slices.CompactFunc(parts, func(a, b string) bool { return a == "**" && b == "**" })
	if len(parts) == 1 {
		parts = []string{"**", parts[0]}
	}
	if n := len(slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p != "**" })); n > 4 {
		return nil, fmt.Errorf("pattern %q: has ** more than four times", pattern)
	}
	return func(name string) bool { return matches(parts, strings.Split(name, "/")) }, nil
}

func matches(pattern, name []string) bool {
	for i, part := range pattern {
		if part == "**" {
			for k := range len(name) - i + 1 {
				if matches(pattern[i+1:], name[i+k:]) {
					return true
				}
			}
			return false
		}
		if i >= len(name) {
			return false
		}
		if ok, err := path.Match(part, name[i]); !ok || err != nil {
			return false
		}
	}
	return len(pattern) == len(name)
}

// Query describes a search by Grep.
type Query struct {
	Pattern    string // RE2
	Path       string // file or folder; "" is all
	Glob       string // restricts the files, as in Glob; "" is all
	IgnoreCase bool
}

// Grep returns the matching lines, as name:line: text.
func (t *Tree) Grep(ctx context.Context, q Query) ([]string, error) {
	pattern := q.Pattern
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", q.Pattern, err)
	}
	match, err := matcher(q.Glob)
	if err != nil {
		return nil, err
	}
	if q.Path == "" {
		q.Path = "."
	}
	start, err := t.Name(q.Path)
	if err != nil {
		return nil, err
	}
	var found []string
	scanned := 0
	err = t.walk(ctx, start, func(name string, d fs.DirEntry) bool {
		if d.IsDir() || !match(below(start, name)) {
			return true
		}
		text, err := t.readFile(name)
		if err != nil || binary(text) {
			return true // skip unreadable files
		}
		scanned += len(text)
		if more := grep(found, re, name, text); len(more) > len(found) && !t.holds(name, text) {
			found = more
		}
		return len(found) <= maxMatches && scanned < maxScanned
	})
	if err != nil {
		return nil, err
	}
	if len(found) > maxMatches {
		found = append(found[:maxMatches], "(there are more: ask for less)")
	}
	return found, nil
}

// grep appends the matching lines of a text.
func grep(found []string, re *regexp.Regexp, name string, text []byte) []string {
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if re.Match(line) {
			if found = append(found, fmt.Sprintf("%s:%d: %s", name, n,
				clip(line, maxShown))); len(found) > maxMatches {
				return found
			}
		}
	}
	return found
}

package codesearch

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"tri/lib/judge/declaration"
)

// Definition is a declaration in a file of the folder.
type Definition struct {
	Path string
	declaration.Declaration
	Lines []string // of the whole file
	Aside bool     // in tests, examples, copied code, or types alone
}

// Use is a place where a name is used.
type Use struct {
	Path string
	declaration.Use
	Lines []string // of the whole file
	Aside bool
}

const (
	maxDefining = 48  // files read for one name
	maxUsing    = 160 // files read for the uses of a name
)

// Definitions returns the declarations of a name as of the last search, those of sources first. The name may
// be written as several words; if a declaration has exactly its letters, only such ones are returned.
func (x *Index) Definitions(name string) []Definition {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []Definition
	want := x.spelled(name)
	for _, at := range x.naming(name, maxDefining) {
		text, err := x.text(at.path)
		if err != nil {
			continue
		}
		var lines []string
		for _, d := range declaration.Read(at.path, text) {
			if d.Name == name || x.spelled(d.Name) == want {
				if lines == nil {
					lines = split(text)
				}
				all = append(all, Definition{at.path, d, lines, at.aside()})
			}
		}
	}
	if exact := slices.DeleteFunc(slices.Clone(all), func(d Definition) bool { return d.Name != name }); len(exact) > 0 {
		all = exact
	}
	slices.SortStableFunc(all, func(a, b Definition) int { return cmp.Compare(later(a.Aside), later(b.Aside)) })
	return all
}

// Uses returns the places where a name is used as of the last search, those of sources first.
func (x *Index) Uses(name string) []Use {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []Use
	for _, at := range x.naming(name, maxUsing) {
		text, err := x.text(at.path)
		if err != nil || !bytes.Contains(text, []byte(name)) {
			continue
		}
		lines := split(text)
		for _, u := range declaration.Uses(at.path, text, name) {
			all = append(all, Use{at.path, u, lines, at.aside()})
		}
	}
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(later(a.Aside), later(b.Aside)) })
	return all
}

// Saying returns the lines of sources that contain a text between quotes, as of the last search.
func (x *Index) Saying(text string) []Use {
	x.mu.Lock()
	defer x.mu.Unlock()
	var rare []posted
	runs([]byte(text), func(run []byte) {
		x.lex.words(run, func(word []byte, _ bool) {
			if posts := x.posts(string(word)); rare == nil || len(posts) < len(rare) {
				rare = posts
			}
		})
	})
	var all []Use
	seen := map[string]bool{}
	low := strings.ToLower(text)
	for _, p := range rare[:min(len(rare), 20*maxUsing)] {
		s, at := x.at(p.at)
		e := s.files[at.file]
		if seen[e.path] || e.aside() || !declaration.Known(e.path) || len(seen) > maxUsing {
			continue
		}
		seen[e.path] = true
		body, err := x.text(e.path)
		if err != nil || !strings.Contains(strings.ToLower(string(body)), low) {
			continue
		}
		lines, declared := split(body), declaration.Read(e.path, body)
		for i, line := range lines {
			if at := strings.Index(strings.ToLower(line), low); at >= 0 && strings.ContainsAny(line[:at], "\"'`") {
				all = append(all, Use{Path: e.path, Lines: lines, Use: declaration.Use{Line: i + 1, In: declaration.Within(declared, i+1).Full()}})
			}
		}
	}
	return all
}

// later orders what is set behind what is not.
func later(b bool) int {
	if b {
		return 1
	}
	return 0
}

func split(text []byte) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\r\n", "\n"), "\n")
}

// aside reports whether declarations of a file are no part of the code itself.
func (e entry) aside() bool {
	kind := fileKind(e.kind)
	return kind != source || strings.HasSuffix(e.path, ".d.ts") || strings.HasSuffix(e.path, ".pyi")
}

// naming returns at most limit files of code that contain a name, sources first.
func (x *Index) naming(name string, limit int) []entry {
	var files []entry
	seen := map[string]bool{}
	word := x.spelled(name)
	if word == "" {
		return nil
	}
	for _, w := range []string{word, otherName(word)} {
		for _, p := range x.posts(w) {
			s, at := x.at(p.at)
			if e := s.files[at.file]; !seen[e.path] && declaration.Known(e.path) {
				seen[e.path] = true
				files = append(files, e)
			}
		}
	}
	slices.SortFunc(files, func(a, b entry) int {
		return cmp.Or(cmp.Compare(later(a.aside()), later(b.aside())), strings.Compare(a.path, b.path))
	})
	return files[:min(len(files), limit)]
}

// spelled returns the word of the index for a name, however it is written: MaxRetries, max_retries, max
// retries.
func (x *Index) spelled(name string) string {
	var letters []byte
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' || r == '-' }) {
		letters = append(letters, strings.ToLower(part)...)
	}
	if len(letters) == 0 || len(letters) > maxRun {
		return ""
	}
	return string(stem(letters))
}

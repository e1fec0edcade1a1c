package codesearch

import (
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/declaration"
)

// Documented returns the options of a name that documents describe, as of the last search.
func (x *Index) Documented(name string) (all []Definition) {
	x.mu.Lock()
	defer x.mu.Unlock()
	want := x.spelled(name)
	if want == "" {
		return nil
	}
	seen := map[string]bool{}
	for _, w := range []string{string(fold([]byte(want))), otherName(want)} {
		for _, p := range x.posts(w) {
			s, at := x.at(p.at)
			e := s.files[at.file]
			if seen[e.path] || !e.documents() || len(seen) == maxDefining {
				continue
			}
			seen[e.path] = true
			text, err := x.text(e.path)
			if err != nil {
				continue
			}
			for _, d := range declaration.Options(text) {
				if x.spelled(strings.TrimLeft(d.Name, "-")) == want {
					all = append(all, Definition{e.path, d, split(text), false})
				}
			}
		}
	}
	return all
}

// documents reports whether a file describes options as they are: no list of changes does.
func (e entry) documents() bool { return declaration.Documents(e.path) && !past.MatchString(e.path) }

var past = lazyregexp.New(`(?i)change|history|release|migrat|upgrad|news|blog|roadmap|(?:^|/)(?:tests?|node_modules)/`)

// Around returns the innermost declaration that most of the best lines of a hit are in, other than one of a
// field in a function; its name is "" if there is none.
func (x *Index) Around(h Hit) (around Definition) {
	x.mu.Lock()
	defer x.mu.Unlock()
	text, err := x.text(h.Path)
	if err != nil {
		return around
	}
	lines := split(text)
	for _, d := range declaration.Read(h.Path, text) {
		shared := min(d.End, h.BestEnd) - max(d.Start, h.BestStart) + 1
		if d.Kind == declaration.Parameter || d.Kind == declaration.Setting || d.End > len(lines) ||
			2*shared < h.BestEnd-h.BestStart+1 {
			continue
		}
		if around.Name == "" || d.End-d.Start <= around.End-around.Start {
			around = Definition{h.Path, d, lines, x.known[h.Path].aside() || inTests(h.Path, lines, d.Line)}
		}
	}
	return around
}

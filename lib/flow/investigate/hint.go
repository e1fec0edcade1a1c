package investigate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/judge/roadmap"
)

// searched returns what a search of the codebase found, from which an agent can read on, and the newest
// commits of the files found: of the agents, few can read a history themselves. Both are optional: if one
// fails, the round continues without it.
func (i *Investigator) searched(ctx context.Context, codebase, question string) (hints []Hint) {
	if !i.Search || codebase == "" {
		return nil
	}
	x, err := i.index(codebase)
	if err != nil {
		return nil
	}
	found, err := x.Search(ctx, question, maxPlaces)
	if err != nil {
		return nil
	}
	if h, ok := Places(found); ok {
		hints = append(hints, h)
	}
	if h, ok := commits(ctx, codebase, found); ok {
		hints = append(hints, h)
	}
	if plan := i.plan(codebase); plan != "" {
		hints = append(hints, Hint{Source: "what the roadmap has pending, which is not done", Text: plan})
	}
	return hints
}

// plan returns what is pending in a codebase's ROADMAP.md and in the milestones that the home has of it.
func (i *Investigator) plan(codebase string) string {
	if info, err := os.Stat(i.Home); err != nil || !info.IsDir() {
		return roadmap.For(nil, codebase, "")
	}
	home, err := durable.Open(i.Home)
	if err != nil {
		return roadmap.For(nil, codebase, "")
	}
	defer home.Close()
	return roadmap.For(home, codebase, "")
}

// Bounds on the commits listed for a search.
const (
	maxFiles   = 3
	maxCommits = 4               // of each file
	historyFor = 3 * time.Second // a history that takes longer is left out
)

// commits lists the newest commits of the files found.
func commits(ctx context.Context, codebase string, found codesearch.Found) (Hint, bool) {
	ctx, cancel := context.WithTimeout(ctx, historyFor)
	defer cancel()
	repo, err := evidence.OpenRepo(codebase)
	if err != nil {
		return Hint{}, false
	}
	var files []string
	text := ""
	for _, hit := range found.Hits {
		if slices.Contains(files, hit.Path) || len(files) == maxFiles {
			continue
		}
		files = append(files, hit.Path)
		if all, err := repo.Changed(ctx, hit.Path, 0, 0, maxCommits); err == nil && len(all) > 0 {
			text += hit.Path + "\n  " + strings.Join(all, "\n  ") + "\n"
		}
	}
	return Hint{Source: "the newest commits of these files", Text: strings.TrimSuffix(text, "\n")}, text != ""
}

// Places makes one hint of search results: each place with the lines that contain most of the question's
// words, best first, without common indentation. ok is false if nothing was found.
func Places(found codesearch.Found) (h Hint, ok bool) {
	var b strings.Builder
	for _, hit := range found.Hits[:min(len(found.Hits), maxPlaces)] {
		place := fmt.Sprintf("%s:%d-%d\n", hit.Path, hit.Start, hit.End)
		lines := strings.Join(dense(hit.Best()), "\n") + "\n"
		if b.Len()+len(place)+len(lines) > maxFound-200 {
			lines = "" // the place alone is still useful
		}
		b.WriteString(place + lines)
	}
	return Hint{Source: "found by a search for the question's words, which understands nothing",
		Text: strings.TrimSuffix(b.String(), "\n")}, b.Len() > 0
}

// dense removes blank lines and the common indentation.
func dense(lines []string) []string {
	common := -1
	var out []string
	for _, l := range lines {
		text := strings.TrimLeft(l, " \t")
		if text == "" {
			continue
		}
		if lead := len(l) - len(text); common < 0 || lead < common {
			common = lead
		}
		out = append(out, strings.TrimRight(l, " \t"))
	}
	for i := range out {
		out[i] = out[i][common:]
	}
	return out
}

// knowledge returns hints from the team's notes that match the question. Notes are optional: a folder that
// cannot be read costs the hint, not the round.
func (i *Investigator) knowledge(ctx context.Context, question string) []Hint {
	var hits []codesearch.Hit
	for _, dir := range i.Knowledge {
		x, err := i.index(dir)
		if err != nil {
			continue
		}
		found, err := x.Search(ctx, question, maxKnowledge)
		if err == nil {
			hits = append(hits, found.Hits...)
		}
	}
	slices.SortStableFunc(hits, func(a, b codesearch.Hit) int { return int(1000 * (b.Score - a.Score)) })
	var hints []Hint
	for _, h := range hits[:min(len(hits), maxKnowledge)] {
		hints = append(hints, Hint{Source: fmt.Sprintf("notes of the team, %s:%d-%d", h.Path, h.Start, h.End),
			Text: strings.Join(h.Lines, "\n")})
	}
	return hints
}

// index opens a folder for searches, once per process.
func (i *Investigator) index(dir string) (*codesearch.Index, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if x := i.indexes[dir]; x != nil {
		return x, nil
	}
	x, err := codesearch.Open(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(i.Home); err == nil && info.IsDir() {
		if home, err := durable.Open(i.Home); err == nil {
			x.Keep(home)
		}
	}
	if i.indexes == nil {
		i.indexes = map[string]*codesearch.Index{}
	}
	i.indexes[dir] = x
	return x, nil
}

package lens

import (
	"context"
	"os"
	"strings"
	"unicode/utf8"

	"tri/lib/judge/evidence"
	"tri/lib/judge/recall"
	"tri/lib/record/decision"
	"tri/lib/record/memory"
)

// Limits of what a persona is shown of the team's memory.
const (
	mostEntries = 3
	mostMemory  = 1200 // characters
)

// memory returns what the team's memory has on a subject, for the readers of every chat of its codebase: a
// subject is of none. Entries whose cited lines have changed are left out.
func (r *Room) memory(ctx context.Context, s Subject) (string, error) {
	entries, err := memory.Read(r.Home, decision.PolicyOf(r.Config))
	if err != nil || len(entries) == 0 {
		return "", err
	}
	best, err := recall.Rank(ctx, entries, recall.Readers{Codebase: s.Codebase}, s.Title+"\n"+s.Words)
	if err != nil || len(best) == 0 {
		return "", err
	}
	root, err := os.OpenRoot(s.Codebase)
	if err != nil {
		return "", err
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(s.Codebase)
	if err != nil {
		return "", err
	}
	var lines []string
	room := mostMemory
	for _, e := range best {
		state, _, err := recall.State(root, repo, e.Refs)
		if room -= utf8.RuneCountInString(e.Text); err != nil || state == recall.Changed || room < 0 ||
			len(lines) == mostEntries {
			continue
		}
		lines = append(lines, e.Text+" ("+strings.Join(e.By, ", ")+", "+e.At+")")
	}
	return strings.Join(lines, "\n"), nil
}

package evidence

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Commit is a commit: its id, its message, and the paths that it changed.
type Commit struct {
	ID, Message string
	Paths       []string
}

// maxLog bounds the history that Log reads, in bytes.
const maxLog = 16 << 20

// Log returns at most the n newest commits reachable from HEAD; none if there is no repository or no
// commit.
func (r Repo) Log(ctx context.Context, n int) ([]Commit, error) {
	if head, err := r.Head(ctx); err != nil || head == "" {
		return nil, err
	}
	out, err := r.run(ctx, maxLog, "log", "-n", strconv.Itoa(n), "--no-show-signature", "--no-ext-diff",
		"--no-textconv", "--no-color",
		"--format=%x1e%H%x1f%B%x1f", "--name-only", "--no-renames", "--diff-merges=first-parent",
		"HEAD", "--")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var commits []Commit
	for _, entry := range strings.Split(string(out), "\x1e")[1:] {
		fields := strings.Split(entry, "\x1f")
		if len(fields) < 3 {
			continue // a message that contains the separator
		}
		c := Commit{ID: fields[0], Message: strings.TrimSpace(strings.ToValidUTF8(fields[1], "?"))}
		for _, path := range strings.Split(fields[len(fields)-1], "\n") {
			if path != "" {
				c.Paths = append(c.Paths, path)
			}
		}
		commits = append(commits, c)
	}
	return commits, nil
}

package evidence

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/text"
)

// Commit is a commit: its id, its message, and the paths that it changed.
type Commit struct {
	ID, Message string
	Paths       []string
}

// maxLog bounds the history that Log reads, in bytes.
const maxLog = 16 << 20

const maxSubject = 300 // bytes of a commit in the list of Changed

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

// Changed returns the n newest commits that changed a file or folder, or lines from to to of a file if to is
// not 0, each as a line: id, date, author, subject.
func (r Repo) Changed(ctx context.Context, name string, from, to, n int) ([]string, error) {
	args := []string{"log", "-n", strconv.Itoa(n), "-s", "--no-show-signature", "--no-ext-diff",
		"--no-textconv", "--no-color", "--format=%h %as %an: %s"}
	if to > 0 {
		args = append(args, fmt.Sprintf("-L%d,%d:%s", from, to, name), "HEAD")
	} else {
		args = append(args, "HEAD", "--", name)
	}
	out, err := r.run(ctx, maxLog, args...)
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", name, err)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		all = append(all, text.Line(line, maxSubject))
	}
	return all, nil
}

// Dated returns when each line of a file was last changed, but for its white space, by its trimmed text; of
// equal lines the newest counts. A line that is not in HEAD has no time.
func (r Repo) Dated(ctx context.Context, name string) (map[string]time.Time, error) {
	out, err := r.run(ctx, maxLog, "blame", "-w", "--line-porcelain", "--no-ignore-revs-file",
		"--no-textconv", "HEAD", "--", name)
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", name, err)
	}
	dated := map[string]time.Time{}
	var at time.Time
	for line := range strings.Lines(string(out)) {
		if code, ok := strings.CutPrefix(line, "\t"); ok {
			if code = strings.TrimSpace(code); dated[code].Before(at) {
				dated[code] = at
			}
		} else if sec, ok := strings.CutPrefix(line, "author-time "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(sec), 10, 64) // 0: as old as can be
			at = time.Unix(n, 0).UTC()
		}
	}
	return dated, nil
}

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Merge says where and how a patch is applied.
type Merge struct {
	Base string // the commit that the patch was made from
	// Journal is a folder for this merge alone, below the checkout and on its file system, such as
	// .agents/runs/<run>/merge. It is created, and removed at the end.
	Journal string
	DryRun  bool // check only
}

// Applied is the result of a merge.
type Applied struct {
	Files     []string   // changed files, by name
	Recovered *Recovered // what an earlier, interrupted merge had left; nil if none
}

// Drift says why a patch no longer fits the checkout.
type Drift struct {
	Base, Head string
	Moved      []string // changed by commits since Base
	Staged     []string // different in the index
	Dirty      []string // uncommitted changes in the checkout
	Filtered   []string // in the checkout as converted by a git filter, such as LFS
	Sparse     []string // not checked out in a sparse checkout
}

func (d *Drift) Error() string {
	var said []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"changed by commits since " + d.Base[:min(12, len(d.Base))], d.Moved}, {"staged", d.Staged},
		{"changed in the checkout", d.Dirty},
		{"converted in the checkout by a filter of git", d.Filtered},
		{"left out of the sparse checkout", d.Sparse}} {
		if len(part.names) > 0 {
			said = append(said, part.what+": "+text.Few(part.names, 5))
		}
	}
	return "the checkout has drifted: " + strings.Join(said, "; ")
}

func (d *Drift) empty() bool {
	return len(d.Moved)+len(d.Staged)+len(d.Dirty)+len(d.Filtered)+len(d.Sparse) == 0
}

// hint says what the user can do.
func (d *Drift) hint() string {
	if len(d.Moved) > 0 {
		return "merge --branch makes a branch of the patch, which git can then merge or rebase; or run the task again from here"
	}
	if len(d.Staged)+len(d.Dirty) == 0 {
		return "merge --branch makes a branch of the patch, which git can then merge: git applies the filters of these files"
	}
	return "commit, stash or undo your own changes to these files; or merge --branch, which touches none"
}

// Apply applies a patch to the files of the checkout, completely or not at all. The index and the
// commits do not change. An interrupted merge with the same Journal is first undone or completed.
// If the patch does not fit the checkout, the error is a *Drift.
func (r *Repo) Apply(ctx context.Context, p *Patch, m Merge) (*Applied, error) {
	if err := errors.Join(p.Err(), commit(m.Base)); err != nil {
		return nil, err
	}
	j, err := r.journal(ctx, m.Journal)
	if err != nil {
		return nil, err
	}
	defer j.close()
	a := new(Applied)
	if a.Recovered, err = j.recoverMerge(); err != nil {
		return a, err
	}
	if a.Recovered != nil && a.Recovered.Done && a.Recovered.Patch == text.SHA256(p.bytes) {
		a.Files = a.Recovered.Files
		return a, nil // only the final step was missing
	}
	return a, r.apply(ctx, j, p, m, a)
}

func (r *Repo) apply(ctx context.Context, j *journal, p *Patch, m Merge, a *Applied) error {
	s, err := r.shadow(false)
	if err != nil {
		return err
	}
	defer s.close()
	_, steps, err := s.result(ctx, p, m.Base)
	if err != nil {
		return err
	}
	for _, st := range steps {
		a.Files = append(a.Files, st.Path)
	}
	d, err := r.drift(ctx, s, j, m.Base, steps)
	if err != nil {
		return err
	}
	if !d.empty() {
		return sysexit.Hint(sysexit.With(sysexit.No, d), d.hint())
	}
	if m.DryRun || len(steps) == 0 {
		return nil
	}
	return j.run(ctx, s, record{Base: m.Base, Patch: text.SHA256(p.bytes), Steps: steps})
}

// drift compares the files that a patch changes with their base: in the commits, in the index, and
// in the checkout.
func (r *Repo) drift(ctx context.Context, s *shadow, j *journal, base string, steps []step) (*Drift, error) {
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	d := &Drift{Base: base, Head: head}
	moved, err := s.moved(ctx, base, head)
	if err != nil {
		return nil, err
	}
	index, sparse, err := r.index(ctx)
	if err != nil {
		return nil, err
	}
	filtered, err := r.filtered(ctx, steps)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, st := range steps {
		if st.New.Mode == "" {
			gone[st.Path] = true
		}
	}
	for _, st := range steps {
		switch got, staged := index[st.Path]; {
		case moved[st.Path]:
			d.Moved = append(d.Moved, st.Path)
			continue
		case staged != (st.Old.Mode != "") || staged && got != entry{st.Old.Mode, st.Old.ID}:
			d.Staged = append(d.Staged, st.Path)
			continue
		}
		fits, err := j.fits(st, gone)
		switch {
		case err != nil:
			return nil, err
		case fits:
		case sparse[st.Path]:
			d.Sparse = append(d.Sparse, st.Path)
		case filtered[st.Path]:
			d.Filtered = append(d.Filtered, st.Path)
		default:
			d.Dirty = append(d.Dirty, st.Path)
		}
	}
	return d, nil
}

// moved returns the files that differ between two commits.
func (s *shadow) moved(ctx context.Context, base, head string) (map[string]bool, error) {
	if base == head {
		return nil, nil
	}
	steps, err := s.steps(ctx, base, head)
	moved := map[string]bool{}
	for _, st := range steps {
		moved[st.Path] = true
	}
	return moved, err
}

// filtered returns the files of steps that git converts on checkout with a program or to another
// encoding. It runs no filter.
func (r *Repo) filtered(ctx context.Context, steps []step) (map[string]bool, error) {
	var names strings.Builder
	for _, st := range steps {
		names.WriteString(st.Path + "\x00")
	}
	out, err := git(ctx, call{dir: r.gitDir, tree: r.Root, stdin: strings.NewReader(names.String()),
		args: []string{"check-attr", "-z", "--stdin", "filter", "working-tree-encoding", "ident"}})
	if err != nil {
		return nil, err
	}
	filtered := map[string]bool{}
	for f := range slices.Chunk(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 3) {
		if len(f) == 3 && f[2] != "unspecified" && f[2] != "unset" {
			filtered[f[0]] = true
		}
	}
	return filtered, nil
}

// index reads the staged files, and which of them a sparse checkout omits. A conflicting entry has
// no mode.
func (r *Repo) index(ctx context.Context) (map[string]entry, map[string]bool, error) {
	out, err := git(ctx, call{dir: r.gitDir, tree: r.Root,
		args: []string{"ls-files", "--stage", "-t", "-z", "--full-name"}})
	if err != nil {
		return nil, nil, err
	}
	index, sparse := map[string]entry{}, map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		switch {
		case line == "":
		case !ok || len(f) != 4:
			return nil, nil, fmt.Errorf("git ls-files: %.120q", line)
		case f[3] != "0":
			index[name] = entry{}
		default:
			index[name], sparse[name] = entry{f[1], f[2]}, f[0] == "S"
		}
	}
	return index, sparse, nil
}

// Tracked returns a file at or below .NAME of Root that the checkout's index has, in any spelling that a
// file system takes for .NAME (plainName); "" if there is none.
func (r *Repo) Tracked(ctx context.Context, dotName string) (string, error) {
	out, err := git(ctx, call{dir: r.gitDir, tree: r.Root,
		args: []string{"ls-files", "-z", "--full-name", "--", ".*"}})
	for name := range strings.SplitSeq(string(out), "\x00") {
		if first, _, _ := strings.Cut(name, "/"); plainName(first) == dotName {
			return name, err
		}
	}
	return "", err
}

// patience is how long a merge waits for another.
const patience = 3 * time.Second

// lock prevents concurrent merges into one checkout until it is closed. The kernel releases it
// with its last holder, which may be the git of a killed process; it leaves no file.
func (r *Repo) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(r.Root, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		select {
		case <-ctx.Done():
			f.Close()
			return nil, sysexit.Errorf(sysexit.TempFail, "merge into %q: another merge is under way",
				r.Root)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return f, nil
}

// Recover checks what an interrupted merge left, and undoes it unless it is complete. nil means that
// nothing was left.
func (r *Repo) Recover(ctx context.Context, dir string) (*Recovered, error) {
	j, err := r.journal(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer j.close()
	return j.recoverMerge()
}

// below returns a path relative to the checkout. Links in it are not resolved.
func (r *Repo) below(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.Rel(r.Root, abs)
	}
	if err != nil || !filepath.IsLocal(dir) || dir == "." ||
		slices.ContainsFunc(strings.Split(dir, "/"), isDotGit) {
		return "", sysexit.Errorf(sysexit.Software, "journal %q: should be below %q", dir, r.Root)
	}
	return dir, nil
}

// Stands reports whether all files of the checkout are in the state that a patch produces.
func (r *Repo) Stands(ctx context.Context, p *Patch, base string) (bool, error) {
	s, err := r.shadow(false)
	if err != nil {
		return false, err
	}
	defer s.close()
	_, steps, err := s.result(ctx, p, base)
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return false, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	j := &journal{root: root}
	for _, st := range steps {
		if same, err := j.is(st.Path, st.New, st.Old.ID == st.New.ID); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

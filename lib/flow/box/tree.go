package box

import (
	"context"
	"errors"
	"fmt"

	"tri/lib/base/git"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// repo opens the checkout as a git repository.
func (b *Box) repo(ctx context.Context) (*git.Repo, error) {
	if err := b.home.MkdirAll("scratch"); err != nil {
		return nil, err
	}
	return git.Open(ctx, b.Checkout, b.home.Path("scratch"))
}

// grow makes the run's worktree at its start commit. state.json names the worktree only once it is
// complete: in an incomplete one, the missing files would look deleted by the agent.
func (l *live) grow(ctx context.Context) error {
	repo, err := l.repo(ctx)
	if err != nil {
		return err
	}
	if err := l.home.MkdirAll("trees"); err != nil {
		return err
	}
	if err := repo.Create(ctx, l.folder(), l.meta.RepoSHAStart); err != nil {
		return err
	}
	return run.Update(l.dir(l.name), func(s *run.State) {
		s.WorktreePath = new(Folder + "/" + treeOf(l.name))
	})
}

// regrow provides the run's worktree for another attempt. If the worktree is gone, its changes are lost.
func (l *live) regrow(ctx context.Context, s run.State) error {
	repo, err := l.repo(ctx)
	if err != nil {
		return err
	}
	trees, err := repo.List(l.home.Path("trees"))
	if err != nil {
		return err
	}
	for _, t := range trees {
		if s.WorktreePath != nil && t.Dir == l.folder() && t.Present && t.Known &&
			t.Commit == l.meta.RepoSHAStart {
			return nil
		}
	}
	l.Say("run %s: its worktree is gone; it has a new one at %.12s", l.name, l.meta.RepoSHAStart)
	err = run.Update(l.dir(l.name), func(s *run.State) { s.WorktreePath = nil })
	if err = errors.Join(err, repo.Remove(l.folder())); err != nil {
		return err
	}
	return l.grow(ctx)
}

// fell removes a run's worktree. On a full disk its files are removed first, which needs no space.
func (b *Box) fell(ctx context.Context, name string) error {
	remove := func() error {
		repo, err := b.repo(ctx)
		if err == nil {
			err = repo.Remove(b.home.Path(treeOf(name)))
		}
		return err
	}
	if !b.isRepo() {
		return b.removeAll(treeOf(name))
	}
	err := remove()
	if isFull(err) {
		if err = b.removeAll(treeOf(name)); err == nil {
			err = remove()
		}
	}
	return err
}

// prune removes the repository's records of worktrees that are gone, and scratch files of killed
// processes.
func (b *Box) prune(ctx context.Context) error {
	if !b.isRepo() || !b.home.Exists("scratch") {
		return nil
	}
	repo, err := b.repo(ctx)
	if err != nil {
		return err
	}
	_, err = repo.Prune(b.home.Path("trees"), func(name string) bool {
		return idOf(name) == "" || b.home.Exists(marks+"/"+name) ||
			b.home.Exists("runs/"+name) && b.home.Exists(treeOf(name))
	})
	return err
}

// export makes a patch of the changes in the worktree, and reports whether there are any. The patch of an
// earlier attempt is kept under patches/.
func (l *live) export(ctx context.Context) (changed bool, err error) {
	if s, err := l.State(l.name); err != nil || s.WorktreePath == nil || !l.home.Exists(treeOf(l.name)) {
		return false, err // it was never made, or never complete
	}
	repo, err := l.repo(ctx)
	if err != nil {
		return false, err
	}
	x, err := repo.Export(ctx, l.folder(), l.meta.RepoSHAStart)
	if err != nil {
		return false, err
	}
	for i, f := range x.Skipped {
		if i == 10 {
			l.Say("%d more files are not in the patch", len(x.Skipped)-i)
			break
		}
		l.Say("not in the patch: %q: %s", f.Path, f.Reason)
	}
	if x.Ignored > 0 {
		l.Say("not in the patch: %s that .gitignore names, in %s", text.Count(x.Ignored, "file"), l.folder())
	}
	dir := "runs/" + l.name + "/"
	if old, err := l.home.ReadFile(dir + "changes.patch"); err == nil && len(old) > 0 &&
		string(old) != string(x.Patch) {
		if err := l.home.Replace(l.earlier(dir), old); err != nil {
			return false, err
		}
	}
	if len(x.Patch) == 0 {
		return false, l.home.Remove(dir + "changes.patch")
	}
	return true, l.home.Replace(dir+"changes.patch", x.Patch)
}

// earlier returns an unused name under patches/.
func (l *live) earlier(dir string) string {
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%spatches/attempt_%d.patch", dir, n); !l.home.Exists(name) {
			return name
		}
	}
}

// Change returns the change that a review is of, and the commit that it starts from.
func (b *Box) Change(ctx context.Context, req Request) (diff, base string, err error) {
	diff, err = b.diffOf(ctx, &req)
	return diff, req.Since, err
}

// diffOf returns the change to review, "" for other types of run. It replaces the names in req by ones
// that do not change meaning: a full run name or a commit id.
func (b *Box) diffOf(ctx context.Context, req *Request) (string, error) {
	if req.Type != Review {
		return "", nil
	}
	if req.Of != "" {
		name, err := b.Find(req.Of)
		if err != nil {
			return "", err
		}
		req.Of = name
		patch, err := b.home.ReadFile("runs/" + name + "/changes.patch")
		if err != nil {
			err = sysexit.With(sysexit.NoInput, fmt.Errorf("review run %s: it has no patch: %w", name, err))
			return "", sysexit.Hint(err, "a run of fix that changed something has one: tri-box list")
		}
		return string(patch), nil
	}
	repo, err := b.repo(ctx)
	if err != nil {
		return "", err
	}
	if req.Since == "" {
		req.Since = "HEAD"
	}
	if req.Since, err = repo.Resolve(ctx, req.Since); err != nil {
		return "", err
	}
	diff, err := repo.Diff(ctx, req.Since)
	if err == nil && len(diff) == 0 {
		err = sysexit.Hint(sysexit.With(sysexit.NoInput,
			fmt.Errorf("nothing to review: the files are those of %.12s", req.Since)),
			"--since COMMIT or --of RUN says what to review")
	}
	return string(diff), err
}

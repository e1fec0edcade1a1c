package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Tree is a worktree or the remains of one.
type Tree struct {
	Dir     string // its folder, absolute
	Commit  string // the commit of its HEAD; "" if unreadable
	Present bool   // the folder exists
	Known   bool   // the repository has an entry for it
	admin   string // the repository's entry
}

// Create makes a worktree at a commit, on no branch, with every file as it is recorded. dir must
// not exist. On failure it leaves nothing.
func (r *Repo) Create(ctx context.Context, dir, id string) (err error) {
	if err := commit(id); err != nil {
		return err
	}
	dir, err = absolute(dir)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil {
		return sysexit.Errorf(sysexit.IO, "make worktree %q: it already exists", dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make worktree %q: %w", dir, err), r.Remove(dir))
		}
	}()
	if err := r.alone(func() error {
		_, err := git(ctx, call{dir: r.gitDir,
			args: []string{"worktree", "add", "--no-checkout", "--detach", "--", dir, id}})
		return err
	}); err != nil {
		return err
	}
	t, err := r.find(dir)
	if err != nil {
		return err
	}
	return r.fill(ctx, t, id)
}

// alone calls do while no other process of ours creates or removes a worktree: git reads the entries of all
// others, and fails on one that is half there (git 2.39, "failed to read .../commondir: Success").
func (r *Repo) alone(do func() error) error {
	lock, err := os.Open(r.common)
	if err != nil {
		return fmt.Errorf("lock %q: %w", r.common, err)
	}
	defer lock.Close() // also unlocks
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return fmt.Errorf("lock %q: %w", r.common, err)
	}
	return do()
}

// fill writes the files, and the index for the agent's own git.
func (r *Repo) fill(ctx context.Context, t Tree, id string) error {
	s, err := r.shadow(false)
	if err != nil {
		return err
	}
	defer s.close()
	s.env = append(s.env, "GIT_INDEX_FILE="+filepath.Join(t.admin, "index"))
	if _, err := s.git(ctx, nil, "read-tree", id); err != nil {
		return err
	}
	_, err = git(ctx, call{dir: s.dir, env: s.env, tree: t.Dir,
		args: []string{"checkout-index", "--all", "--force", "--index", "--quiet"}})
	return err
}

// Remove removes a worktree: its folder in whatever state, and the repository's entry. A missing
// worktree is not an error.
func (r *Repo) Remove(dir string) error {
	dir, err := absolute(dir)
	if err != nil {
		return err
	}
	if dir == r.Root || strings.HasPrefix(r.Root, dir+"/") {
		return sysexit.Errorf(sysexit.Software, "remove worktree %q: the checkout is in it", dir)
	}
	err = removeAll(dir)
	t, found := r.find(dir)
	if found == nil {
		err = errors.Join(err, r.alone(func() error { return removeAll(t.admin) }))
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "remove worktree %q: %w", dir, err)
	}
	return nil
}

// removeAll also removes folders without permissions. It follows no link.
func removeAll(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.RemoveAll(root, filepath.Base(dir))
}

// List returns the worktrees below a folder that exist or that the repository has an entry for, by
// name.
func (r *Repo) List(under string) ([]Tree, error) {
	under, err := absolute(under)
	if err != nil {
		return nil, err
	}
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	trees := slices.DeleteFunc(known, func(t Tree) bool { return filepath.Dir(t.Dir) != under })
	names, err := readDir(under)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		dir := filepath.Join(under, n.Name())
		if i := slices.IndexFunc(trees, func(t Tree) bool { return t.Dir == dir }); i >= 0 {
			trees[i].Present = true
		} else {
			trees = append(trees, Tree{Dir: dir, Present: true})
		}
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Dir, b.Dir) })
	return trees, nil
}

// Prune removes every worktree below a folder for whose name keep is false, and what killed
// processes left in the scratch folder or removed only in part. It returns the removed folders.
func (r *Repo) Prune(under string, keep func(name string) bool) ([]string, error) {
	trees, err := r.List(under)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, t := range trees {
		if keep(filepath.Base(t.Dir)) {
			continue
		}
		if e := r.Remove(t.Dir); e != nil {
			err = errors.Join(err, e)
			continue
		}
		gone = append(gone, t.Dir)
	}
	return gone, errors.Join(err, r.halves(keep), r.sweep())
}

// halves removes the entries of worktrees that name no folder, left by a killed git or Remove.
// Their names are those of the worktrees.
func (r *Repo) halves(keep func(name string) bool) error {
	dir := filepath.Join(r.common, "worktrees")
	names, failed := readDir(dir)
	for _, n := range names {
		admin := filepath.Join(dir, n.Name())
		if _, err := os.Lstat(filepath.Join(admin, "gitdir")); n.IsDir() && errors.Is(err, fs.ErrNotExist) &&
			!keep(n.Name()) {
			failed = errors.Join(failed, removeAll(admin))
		}
	}
	return failed
}

// sweep removes scratch repositories whose creators are dead.
func (r *Repo) sweep() error {
	dirs, err := filepath.Glob(filepath.Join(cmp.Or(r.scratch, os.TempDir()), "tri-git-*"))
	for _, dir := range dirs {
		lock, e := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(e, fs.ErrNotExist) { // incomplete: removed after an hour
			if info, e := os.Lstat(dir); e == nil && info.IsDir() && time.Since(info.ModTime()) > time.Hour {
				err = errors.Join(err, os.RemoveAll(dir))
			}
			continue
		}
		if e != nil { // another user's
			continue
		}
		// it may not be locked yet
		if info, e := lock.Stat(); e != nil || time.Since(info.ModTime()) < time.Minute {
			lock.Close()
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		lock.Close()
	}
	return err
}

// readDir lists a folder. A missing one is empty.
func readDir(dir string) ([]fs.DirEntry, error) {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, sysexit.Errorf(sysexit.IO, "list worktrees: %w", err)
	}
	return names, nil
}

// known reads the repository's worktree entries (gitrepository-layout(5)).
func (r *Repo) known() ([]Tree, error) {
	dir := filepath.Join(r.common, "worktrees")
	names, err := readDir(dir)
	if err != nil {
		return nil, err
	}
	var trees []Tree
	for _, n := range names {
		t := Tree{Known: true, admin: filepath.Join(dir, n.Name())}
		at, err := pointer(filepath.Join(t.admin, "gitdir"), "")
		if err != nil || !n.IsDir() {
			continue // incomplete, of git or another process
		}
		if !filepath.IsAbs(at) {
			at = filepath.Join(t.admin, at)
		}
		t.Dir = filepath.Dir(filepath.Clean(at))
		if id, err := pointer(filepath.Join(t.admin, "HEAD"), ""); err == nil && hexID.MatchString(id) {
			t.Commit = id
		}
		trees = append(trees, t)
	}
	return trees, nil
}

func (r *Repo) find(dir string) (Tree, error) {
	known, err := r.known()
	if err != nil {
		return Tree{}, err
	}
	if i := slices.IndexFunc(known, func(t Tree) bool { return t.Dir == dir }); i >= 0 {
		return known[i], nil
	}
	return Tree{}, sysexit.Errorf(sysexit.NoInput, "worktree %q: %w", dir, fs.ErrNotExist)
}

// absolute returns a path without links except in its last part, as git records it.
func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", sysexit.With(sysexit.IO, err)
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	if err != nil {
		return "", sysexit.With(sysexit.IO, err)
	}
	return filepath.Join(above, filepath.Base(abs)), nil
}

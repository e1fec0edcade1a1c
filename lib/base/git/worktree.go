// Package git makes worktrees at a recorded commit, reads their changes as a patch,
// checks the patch and applies it whole or not at all, without running hooks or filters.
//
// Everything that an agent could write is untrusted: its worktree, the .git file in it and,
// without a sandbox, the repository's configuration. Git itself therefore never reads a worktree:
// files are read here, as bytes, and git is given objects. Nor does git read a repository's
// configuration, except for four commands that run nothing (rev-parse, worktree add without a
// checkout, ls-files, update-ref): all others run in a repository of our own that borrows the
// objects.
//
// Files are therefore handled byte for byte as recorded: no line endings are converted, no filters
// run, and a file in Git LFS stays a pointer.
package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// Repo is a checkout of a git repository.
type Repo struct {
	Root   string // its top folder, absolute
	Prefix string // the opened folder, relative to Root; "." for Root itself

	gitDir  string // of this checkout
	common  string // shared by all its worktrees
	format  string // of its objects: sha1 or sha256
	scratch string
}

// Open finds the repository that contains dir. scratch is a folder for temporary files, "" for the
// system's; it should not be below a worktree.
func Open(ctx context.Context, dir, scratch string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, sysexit.Errorf(sysexit.NoInput, "open repository: %w", err)
	}
	r := &Repo{Root: abs, scratch: scratch}
	for {
		r.gitDir, err = gitDirOf(r.Root)
		if err == nil {
			break
		}
		above := filepath.Dir(r.Root)
		if !errors.Is(err, fs.ErrNotExist) || above == r.Root {
			return nil, sysexit.Hint(sysexit.Errorf(sysexit.NoInput, "open %q: no git repository: %w", dir,
				err), "run git init, and commit the files")
		}
		r.Root = above
	}
	r.Prefix, err = filepath.Rel(r.Root, abs)
	if err != nil {
		return nil, err
	}
	if r.common, err = commonOf(r.gitDir); err != nil {
		return nil, sysexit.Errorf(sysexit.Data, "open %q: %w", dir, err)
	}
	r.format, err = formatOf(ctx, r.common)
	return r, err
}

// gitDirOf returns the folder that <dir>/.git is, or names.
func gitDirOf(dir string) (string, error) {
	name := filepath.Join(dir, ".git")
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return name, nil
	}
	to, err := pointer(name, "gitdir: ")
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if _, err := os.Stat(filepath.Join(to, "HEAD")); err != nil {
		return "", fmt.Errorf("%q names no repository: %v", name, err) // not ErrNotExist: the search ends
	}
	return filepath.Clean(to), nil
}

// commonOf returns the folder that a worktree shares with the others.
func commonOf(gitDir string) (string, error) {
	to, err := pointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err == nil && !filepath.IsAbs(to) {
		to = filepath.Join(gitDir, to)
	}
	return to, err
}

// pointer reads a one-line file that names a path.
func pointer(name, prefix string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%q is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), prefix)
	if !ok || to == "" || strings.ContainsAny(to, "\n\x00") {
		return "", fmt.Errorf("%q: names nothing", name)
	}
	return to, nil
}

// formatOf reads the setting that selects the object format.
func formatOf(ctx context.Context, common string) (string, error) {
	out, err := git(ctx, call{dir: common,
		args: []string{"config", "--file", filepath.Join(common, "config"), "--no-includes", "--default",
			"sha1", "--get", "extensions.objectformat"}})
	if err != nil {
		return "", sysexit.Errorf(sysexit.Data, "read format of %q: %w", common, err)
	}
	switch format := strings.TrimSpace(string(out)); format {
	case "sha1", "sha256":
		return format, nil
	default:
		return "", sysexit.Errorf(sysexit.Data, "read format of %q: unknown %q", common, format)
	}
}

var hexID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Head returns the commit of the checkout's HEAD.
func (r *Repo) Head(ctx context.Context) (string, error) {
	id, err := r.commitOf(ctx, "HEAD")
	if err != nil {
		return "", sysexit.Hint(sysexit.Errorf(sysexit.Data, "head of %q: no commit", r.Root),
			"commit the files first")
	}
	return id, nil
}

// commitOf returns the full id of the commit that a revision names.
func (r *Repo) commitOf(ctx context.Context, rev string) (string, error) {
	out, err := git(ctx, call{dir: r.gitDir,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}})
	id := strings.TrimSpace(string(out))
	if err == nil {
		err = commit(id)
	}
	return id, err
}

// commit refuses anything but the full id of a commit.
func commit(id string) error {
	if !hexID.MatchString(id) {
		return sysexit.Errorf(sysexit.Usage, "commit %q: want its full id", id)
	}
	return nil
}

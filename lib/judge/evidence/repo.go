package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
)

// Repo is the git history of a codebase, read with the git program. The zero Repo, and that of a folder
// without git, has no history.
type Repo struct {
	dir string
	git bool
}

// gitTimeout ends a git that hangs, for example on a dead network file system.
const gitTimeout = 10 * time.Second

// errNoRepo means that the codebase has no git history.
var errNoRepo = errors.New("the codebase is no git repository")

// OpenRepo finds the git repository that contains dir. It runs no program.
func OpenRepo(dir string) (Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, fmt.Errorf("codebase %q: %w", dir, err)
	}
	if info, err := os.Stat(abs); err != nil {
		return Repo{}, fmt.Errorf("codebase %q: %w", dir, err)
	} else if !info.IsDir() {
		return Repo{}, fmt.Errorf("codebase %q: not a folder", dir)
	}
	for up := abs; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return Repo{dir: abs, git: true}, nil
		}
		if up == filepath.Dir(up) {
			return Repo{dir: abs}, nil
		}
	}
}

// Head returns the id of the commit that is checked out, or "" if there is none.
func (r Repo) Head(ctx context.Context) (string, error) {
	if !r.git {
		return "", nil
	}
	out, err := r.run(ctx, 200, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil // no commit yet
	}
	return strings.TrimSpace(string(out)), err
}

var commitID = lazyregexp.New(`^[0-9a-f]{7,64}$`)

// blob returns the content of a file at a commit.
func (r Repo) blob(ctx context.Context, commit, name string) ([]byte, error) {
	if !commitID.MatchString(commit) {
		return nil, fmt.Errorf("%q is no commit id", commit)
	}
	return r.run(ctx, MaxFile, "cat-file", "blob", commit+":./"+name)
}

// commit returns a commit's message and changed paths; ok is false if there is no such commit.
func (r Repo) commit(ctx context.Context, id string) (text string, ok bool, err error) {
	if _, err := r.run(ctx, 200, "cat-file", "-e", id+"^{commit}"); err != nil {
		exit := new(exec.ExitError)
		if errors.As(err, &exit) {
			return "", false, nil
		}
		return "", false, err
	}
	out, err := r.run(ctx, 1<<20, "log", "-1", "--no-show-signature", "--no-ext-diff", "--no-textconv",
		"--no-color",
		"--format=%H%n%an%n%aI%n%B", "--name-only", "--no-renames", "--diff-merges=first-parent", id, "--")
	return string(out), err == nil, err
}

// run runs git so that settings of the repository or the user cannot make it execute or fetch anything.
func (r Repo) run(ctx context.Context, most int, args ...string) ([]byte, error) {
	if !r.git {
		return nil, errNoRepo
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	hard := []string{
		"-C", r.dir, "--no-pager", "--literal-pathspecs",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
		"-c", "core.attributesFile=/dev/null", "-c", "safe.directory=*", "-c", "core.quotePath=false",
	}
	cmd := exec.CommandContext(ctx, "git", append(hard, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
	}
	cmd.WaitDelay = time.Second
	out := &bounded{most: most}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// bounded is a buffer that fails to grow beyond most bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("more than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// Author is the author of a commit.
type Author struct{ Name, Email string }

// Commit is the commit that Branch makes.
type Commit struct {
	Base    string // its parent commit
	Branch  string // without refs/heads/
	Message string
	Author  Author
	When    time.Time
}

// branchName matches the names that we use for branches.
var branchName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$`)

// Branch makes a branch with one commit, the patch on its base, and returns the commit's id. It
// changes no file of the checkout. An existing branch of that name is not changed: if it is at the
// same commit, that is not an error.
func (r *Repo) Branch(ctx context.Context, p *Patch, c Commit) (string, error) {
	if err := errors.Join(p.Err(), commit(c.Base)); err != nil {
		return "", err
	}
	if !branchName.MatchString(c.Branch) || len(c.Branch) > 200 {
		return "", sysexit.Errorf(sysexit.Usage, "branch %q: want small letters, digits, - and _", c.Branch)
	}
	s, err := r.shadow(true)
	if err != nil {
		return "", err
	}
	defer s.close()
	id, err := r.branch(ctx, s, p, c)
	if err != nil {
		return "", fmt.Errorf("make branch %s: %w", c.Branch, err)
	}
	return id, nil
}

func (r *Repo) branch(ctx context.Context, s *shadow, p *Patch, c Commit) (string, error) {
	tree, _, err := s.result(ctx, p, c.Base)
	if err != nil {
		return "", err
	}
	date := fmt.Sprintf("%d +0000", c.When.Unix())
	s.env = append(s.env, "GIT_AUTHOR_NAME="+plainWords(c.Author.Name),
		"GIT_AUTHOR_EMAIL="+plainWords(c.Author.Email), "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+plainWords(c.Author.Name), "GIT_COMMITTER_EMAIL="+plainWords(c.Author.Email),
		"GIT_COMMITTER_DATE="+date)
	id, err := s.line(ctx, []byte(strings.TrimSpace(c.Message)+"\n"), "commit-tree", tree, "-p",
		c.Base, "-F", "-")
	if err != nil {
		return "", err
	}
	if !hexID.MatchString(id) {
		return "", fmt.Errorf("git commit-tree: %.60q", id)
	}
	ref := "refs/heads/" + c.Branch
	// The empty old value: only if there is no branch of that name.
	_, err = git(ctx, call{dir: r.gitDir,
		args: []string{"update-ref", "--no-deref", "--", ref, id, strings.Repeat("0", len(id))}})
	if err == nil {
		return id, nil
	}
	switch at, e := r.commitOf(ctx, ref); {
	case e != nil:
		return "", err
	case at == id:
		return id, nil
	}
	return "", sysexit.Hint(sysexit.Errorf(sysexit.No, "another branch has that name"),
		"git branch -m "+c.Branch+" another-name")
}

// plainWords cleans a text for a commit's headers.
func plainWords(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s)
	if s = strings.Trim(s, " .,:;\"'"); s == "" {
		return "tri"
	}
	return s
}

// result applies a patch to the tree of a commit, in the object store only, and compares git's
// result with our own reading of the patch: a difference means that something was hidden from one
// of the two.
func (s *shadow) result(ctx context.Context, p *Patch, base string) (string, []step, error) {
	if _, err := s.git(ctx, nil, "read-tree", base); err != nil {
		return "", nil, sysexit.With(sysexit.Data, err)
	}
	if len(p.bytes) > 0 {
		if _, err := s.git(ctx, bytes.NewReader(p.bytes), "apply", "--cached", "--whitespace=nowarn", "-p1",
			"-"); err != nil {
			return "", nil, sysexit.Hint(sysexit.With(sysexit.Data, err),
				"the patch is not of this commit, or was changed")
		}
	}
	tree, err := s.line(ctx, nil, "write-tree")
	if err != nil {
		return "", nil, err
	}
	steps, err := s.steps(ctx, base, tree)
	if err != nil {
		return "", nil, err
	}
	said := map[string]bool{}
	for _, c := range p.Changes {
		for _, name := range c.names() {
			said[name] = true
		}
	}
	for _, st := range steps {
		if !said[st.Path] || badPath(st.Path) != "" || !plainMode(st.Old.Mode) || !plainMode(st.New.Mode) {
			return "", nil, sysexit.Errorf(sysexit.NoPerm,
				"patch refused: git would change %q, which the patch does not list", st.Path)
		}
	}
	return tree, steps, nil
}

func plainMode(mode string) bool { return mode == "" || mode == modeFile || mode == modeExec }

// version is a file before or after a step; Mode "" means that it does not exist.
type version struct {
	Mode string `json:"mode,omitempty"`
	ID   string `json:"id,omitempty"`
}

// step is one file that a patch changes.
type step struct {
	Path string  `json:"path"`
	Old  version `json:"old"`
	New  version `json:"new"`
	Perm uint32  `json:"perm,omitempty"` // the file's previous permissions
}

// steps returns the files that differ between two trees, parsed from diff-tree --raw -z:
// ":old new id id S\x00path\x00".
func (s *shadow) steps(ctx context.Context, from, to string) ([]step, error) {
	out, err := s.git(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--end-of-options", from, to)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	f := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var steps []step
	for pair := range slices.Chunk(f, 2) {
		h := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if len(pair) != 2 || len(h) != 5 {
			return nil, fmt.Errorf("git diff-tree: %.120q", pair[0])
		}
		steps = append(steps, step{Path: pair[1], Old: versionOf(h[0], h[2]), New: versionOf(h[1], h[3])})
	}
	return steps, nil
}

func versionOf(mode, id string) version {
	if mode == "000000" {
		return version{}
	}
	return version{mode, id}
}

// Identity returns the author that the user's git would use: from the repository's configuration,
// or else the user's. The files are only read: nothing in them is run or included.
func (r *Repo) Identity(ctx context.Context) Author {
	home, err := os.UserHomeDir()
	files := []string{filepath.Join(r.common, "config")}
	if err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"),
			filepath.Join(home, ".config", "git", "config"))
	}
	get := func(key, otherwise string) string {
		for _, file := range files {
			out, err := git(ctx, call{dir: r.common,
				args: []string{"config", "--file", file, "--no-includes", "--get", key}})
			if v := strings.TrimSpace(string(out)); err == nil && v != "" {
				return v
			}
		}
		return otherwise
	}
	return Author{Name: get("user.name", "tri"), Email: get("user.email", "tri@localhost")}
}

// revision matches names of commits; none of them is an option.
var revision = lazyregexp.New(`^[A-Za-z0-9@][A-Za-z0-9._/~^@{}+-]{0,199}$`)

// Resolve returns the full id of a commit that a person named (gitrevisions(7)).
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	if !revision.MatchString(rev) {
		return "", sysexit.Errorf(sysexit.Usage, "%q names no commit", rev)
	}
	id, err := r.commitOf(ctx, rev)
	if err != nil {
		return "", sysexit.Errorf(sysexit.NoInput, "%q names no commit", rev)
	}
	return id, nil
}

// Diff returns the differences of the checkout's files from a commit, as a patch to read. It omits
// files that the commit does not have.
func (r *Repo) Diff(ctx context.Context, id string) ([]byte, error) {
	if err := commit(id); err != nil {
		return nil, err
	}
	s, err := r.shadow(false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if _, err := s.git(ctx, nil, "read-tree", id); err != nil {
		return nil, fmt.Errorf("diff with %s: %w", id, err)
	}
	out, err := git(ctx, call{dir: s.dir, env: s.env, tree: r.Root, max: MaxPatch,
		args: []string{"diff-files", "-r", "--patch", "--no-renames", "--ignore-submodules=all",
			"--no-color", "--no-textconv", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"}})
	if err != nil {
		return nil, fmt.Errorf("diff with %s: %w", id, err)
	}
	return out, nil
}

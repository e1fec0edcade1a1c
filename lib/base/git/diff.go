package git

import (
	"context"
	"fmt"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

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

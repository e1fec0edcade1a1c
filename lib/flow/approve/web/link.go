package web

import (
	"context"
	"path/filepath"
	"sync"

	"tri/lib/base/config"
	"tri/lib/base/forge"
	"tri/lib/base/git"
	"tri/lib/flow/approve"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// links builds links to cited lines on the forge.
type links struct {
	config *config.Config

	mu    sync.Mutex
	known map[string]checkout // by folder
}

// checkout is a codebase's remote and its path within the repository.
type checkout struct{ remote, prefix string }

// to returns the address of the cited lines at the commit at which they were read, or "" if there is none.
func (l *links) to(ctx context.Context, codebase string, c approve.Cited) string {
	place, err := evidence.Parse(c.Ref)
	if err != nil || c.Kind != draft.KindFile || c.Commit == "" {
		return ""
	}
	at := l.checkout(ctx, l.config.Folder(codebase))
	return forge.Link(l.config.Forge, at.remote, c.Commit,
		filepath.ToSlash(filepath.Join(at.prefix, place.Path)), place.Start, place.End)
}

func (l *links) checkout(ctx context.Context, dir string) checkout {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.known[dir]; ok {
		return c
	}
	var c checkout
	if repo, err := git.Open(ctx, dir, ""); err == nil {
		c.prefix = repo.Prefix
		c.remote, _ = repo.Remote(ctx, l.config.Forge.Remote) // without a remote there is no link
	}
	if l.known == nil {
		l.known = map[string]checkout{}
	}
	l.known[dir] = c
	return c
}

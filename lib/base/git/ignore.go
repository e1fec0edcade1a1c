package git

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tri/lib/base/sysexit"
)

// fresh is a new file, which .gitignore may exclude.
type fresh struct {
	name string
	kind fs.FileMode
}

// news reads the new files except those that git would ignore, such as build products, which may
// be large.
func (w *walk) news() error {
	unseen, err := w.unseen()
	if err != nil {
		return err
	}
	w.ignored = len(unseen)
	for _, f := range w.fresh {
		if unseen[f.name] {
			continue
		}
		if err := w.file(f.name, f.kind); err != nil {
			return err
		}
	}
	return nil
}

// unseen returns the new files that a .gitignore of the worktree excludes. Git reads copies of the
// rules, in a folder that holds nothing else.
func (w *walk) unseen() (map[string]bool, error) {
	if len(w.fresh) == 0 {
		return nil, nil
	}
	dir := filepath.Join(w.shadow.dir, "ignore")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	var names strings.Builder
	for _, f := range w.fresh {
		names.WriteString("./" + f.name + "\x00") // with ./ before it, no name is taken for a pattern
		if path.Base(f.name) == ".gitignore" && f.kind.IsRegular() {
			w.rules = append(w.rules, f.name)
		}
	}
	for _, name := range w.rules {
		if err := w.copyRules(dir, name); err != nil {
			return nil, err
		}
	}
	out, err := git(w.ctx, call{dir: w.shadow.dir, env: w.shadow.env, tree: dir, ok: 1,
		stdin: strings.NewReader(names.String()),
		args:  []string{"check-ignore", "-z", "--stdin", "--no-index"}})
	if err != nil {
		return nil, err
	}
	unseen := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			unseen[strings.TrimPrefix(name, "./")] = true
		}
	}
	return unseen, nil
}

// copyRules copies one .gitignore. An unreadable one ignores nothing.
func (w *walk) copyRules(dir, name string) error {
	f, err := w.open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRules))
	if err != nil {
		return nil
	}
	to := filepath.Join(dir, filepath.FromSlash(name))
	err = os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	return sysexit.With(sysexit.IO, err)
}

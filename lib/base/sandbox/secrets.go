package sandbox

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/filename"
	"tri/lib/base/sysexit"
)

// maxPrivate bounds the hidden files: each is a mount.
const maxPrivate = 500

// hidePrivate hides the files of the program's folder whose names say that they hold keys or
// passwords, settings of agent programs, sockets, files of other runs and, from read-only
// programs, settings with a key in them (secretscan.go). A password in any other file is visible.
func (p *plan) hidePrivate(s Spec) error {
	w := &walk{plan: p, spec: s, covered: map[string]bool{}}
	w.home, _ = filepath.EvalSymlinks(s.Home) // "" if there is none
	if err := filepath.WalkDir(p.dir, w.visit); err != nil {
		return err
	}
	for _, path := range holding(p.dir, w.look, s.Secret) {
		if err := w.cover(filepath.Join(p.dir, path)); err != nil {
			return err
		}
	}
	if !s.Write && len(w.files) <= maxFiles {
		p.whole = w.whole
		p.files = slices.DeleteFunc(w.files, func(path string) bool { return w.covered[path] })
	}
	return nil
}

// maxFiles is how many files are passed to Landlock one by one; with more, the whole folder is
// passed.
const maxFiles = 200_000

// walk visits every file of the program's folder.
type walk struct {
	plan         *plan
	spec         Spec
	home         string
	files, whole []string // plan.files and plan.whole
	look         []string // paths below the folder whose content is to be searched
	covered      map[string]bool
}

func (w *walk) visit(path string, e fs.DirEntry, err error) error {
	name, dir := strings.ToLower(filepath.Base(path)), w.plan.dir
	within := path[len(dir):]
	switch {
	case path == dir:
		return err
	case err != nil: // a file that we cannot read the program cannot read either
		return nil
	case path == w.home || slices.Contains(w.plan.covered, path):
		return fs.SkipDir
	case name == ".git":
		return w.git(path, e)
	case filename.Steers(name) || !e.Type().IsRegular() && filename.SecretFolder(name):
		w.covered[path] = true
		if err := w.plan.hide(path); err != nil || !e.IsDir() {
			return err
		}
		return fs.SkipDir
	case e.IsDir():
		if filename.Vendored(name) && !filename.InVendored(filepath.Dir(within)) {
			w.whole = append(w.whole, path)
		}
		return nil
	case door(e):
		return w.plan.hide(path)
	}
	vendored := filename.InVendored(within)
	if e.Type().IsRegular() && !vendored {
		w.files = append(w.files, path)
	}
	if filename.Private(within, false, w.spec.Write) {
		return w.cover(path)
	}
	if w.spec.Secret != nil && !w.spec.Write && e.Type().IsRegular() && !vendored &&
		filename.MayHold(within) {
		w.look = append(w.look, within[1:])
	}
	return nil
}

// cover hides a file, and counts it.
func (w *walk) cover(path string) error {
	// A link's target may have another name. Targets outside are not shown anyway.
	real, err := w.plan.target(path)
	if err != nil || !below(w.plan.dir, real) {
		return err
	}
	if w.covered[real] = true; len(w.covered) > maxPrivate {
		return sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"the codebase %q has more than %d files with secrets, by name or content, as %q", w.plan.dir,
			maxPrivate, path), "test data may be below a folder testdata")
	}
	return w.plan.hide(path)
}

// git covers the passwords of a repository, of this folder or one below, and makes it read-only.
func (w *walk) git(path string, e fs.DirEntry) error {
	var skip error
	switch {
	case e.IsDir():
		w.whole, skip = append(w.whole, path), fs.SkipDir
	case door(e):
		return w.plan.hide(path)
	case e.Type().IsRegular(): // of a submodule or worktree
		w.files = append(w.files, path)
	default:
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !below(w.plan.dir, real) || !isGit(real) {
			return nil // it is not shown
		}
		path = real
	}
	if w.plan.coverGit(path); w.spec.Write {
		w.plan.pin(path)
	}
	return skip
}

// door reports whether opening the file connects to another process.
func door(e fs.DirEntry) bool { return e.Type()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0 }

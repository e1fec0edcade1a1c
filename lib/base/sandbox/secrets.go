package sandbox

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/filename"
	"tri/lib/base/sysexit"
)

// boxFolder is where runs of agents are kept in a checkout: none reads what others
// wrote.
const boxFolder = ".agents"

// maxPrivate is how many files may have to be hidden: every one is a mount.
const maxPrivate = 500

// personal are the names, of those that filename.Secret knows, of files that no build
// needs. Who may write has the others before its eyes: it works on what is committed.
var personal = []string{".env", ".envrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", "credentials"}

// Files of these endings tell how a thing is done, whatever they are called, or
// are there to be read by everybody.
var (
	written = []string{".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", ".vue", ".java", ".kt", ".scala", ".rs", ".rb", ".php", ".c", ".h", ".cc", ".cpp",
		".hpp", ".cs", ".swift", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".lua", ".dart", ".sh", ".sql", ".proto", ".md", ".rst", ".adoc", ".html", ".css"}
	shared = []string{".example", ".sample", ".template", ".dist", ".test", ".pub"}
	tests  = []string{"testdata", "test", "tests", "__tests__", "fixtures", "spec"}
)

// hidePrivate covers the files of the program's folder whose names say that they
// hold keys or passwords, settings of agent programs, what other runs left there and,
// from who only reads, settings with a key in them (content.go). Any other password in a file of another
// name is shown.
func (p *plan) hidePrivate(s Spec) error {
	home, _ := filepath.EvalSymlinks(s.Home) // "" where there is none
	found := 0
	cover := func(path string) error {
		// What a link leads to may be of another name; outside it is not shown anyway.
		if real, err := filepath.EvalSymlinks(path); err != nil || !below(p.dir, real) {
			return nil
		}
		if found++; found > maxPrivate {
			return sysexit.Hint(sysexit.With(sysexit.Config, fmt.Errorf("the codebase %q has more than %d files with secrets, by name or content, as %q", p.dir, maxPrivate, path)),
				"what is only for tests may stand below a folder testdata")
		}
		p.hide(path)
		return nil
	}
	var look []string
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		name := strings.ToLower(filepath.Base(path))
		switch {
		case path == p.dir:
			return err
		case err != nil: // who cannot be read by us cannot be read by the program
			return nil
		case e.IsDir() && (name == ".git" || filename.Vendored(name) || path == home):
			return fs.SkipDir
		case name == boxFolder || filename.Steers(name):
			p.hide(path)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !private(path[len(p.dir):], name, s.Write):
			if s.Secret != nil && !s.Write && e.Type().IsRegular() && mayHold(path[len(p.dir):], name) {
				look = append(look, path[len(p.dir)+1:])
			}
			return nil
		}
		return cover(path)
	})
	if err != nil || len(look) == 0 {
		return err
	}
	for _, path := range holding(p.dir, look, s.Secret) {
		if err := cover(filepath.Join(p.dir, path)); err != nil {
			return err
		}
	}
	return nil
}

// private reports whether a file is to be hidden: by its name, in small letters,
// and by where it stands below the program's folder.
func private(path, name string, write bool) bool {
	ext := filepath.Ext(name)
	switch {
	case !filename.Secret(name), slices.Contains(written, ext), slices.Contains(shared, ext):
		return false
	case slices.Contains(personal, name), strings.HasPrefix(name, ".env."), strings.HasPrefix(name, "id_"):
		return true
	}
	return !write && !inTests(path)
}

// inTests reports whether a file stands below a folder of tests.
func inTests(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(strings.ToLower(path)), "/"), func(dir string) bool { return slices.Contains(tests, dir) })
}

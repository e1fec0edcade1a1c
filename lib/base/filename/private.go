package filename

import (
	"path"
	"slices"
	"strings"
)

// personal are the names, among those that Secret matches, of files that no build needs.
// A program with write permission sees the others: it works on the committed files.
var personal = []string{".env", ".envrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".htpasswd",
	".git-credentials", "credentials"}

// Files with the extensions written are source code or text, whatever their names; those with
// shared are meant to be public.
var (
	written = []string{".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", ".vue", ".java", ".kt",
		".scala", ".rs", ".rb", ".php", ".c", ".h", ".cc", ".cpp",
		".hpp", ".cs", ".swift", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".lua", ".dart", ".sh", ".sql",
		".proto", ".md", ".rst", ".adoc", ".html", ".css"}
	shared = []string{".example", ".sample", ".template", ".dist", ".test", ".pub"}
	tests  = []string{"testdata", "test", "tests", "__tests__", "fixtures", "spec"}
)

// IsWritten reports whether a file is source code or text by its extension.
func IsWritten(name string) bool {
	return slices.Contains(written, path.Ext(strings.ToLower(name)))
}

// Private reports whether a file or folder is hidden from agents, by its path below the codebase: it
// holds keys or passwords, or Steers. write says that the agent may change the codebase, and works on
// the committed files.
func Private(file string, folder, write bool) bool {
	name := strings.ToLower(path.Base(file))
	ext := path.Ext(name)
	switch {
	case Steers(name):
		return true
	case folder:
		return SecretFolder(name)
	case !Secret(name), IsWritten(name), slices.Contains(shared, ext):
		return false
	case slices.Contains(personal, name), strings.HasPrefix(name, ".env."):
		return true
	case InVendored(file): // third-party code
		return false
	case strings.HasPrefix(name, "id_"):
		return true
	}
	return !write && !inTests(file)
}

// Files with these extensions, and those without one, are where keys are left by mistake. Source
// code is not searched: a program that reads code is useless without it, and a key in code is
// known to everyone who has the code.
var settings = []string{"", ".yaml", ".yml", ".json", ".toml", ".ini", ".conf", ".cfg", ".cnf", ".properties",
	".xml", ".txt", ".env", ".tf", ".tfvars", ".hcl", ".log", ".ps1", ".bat"}

// MaxSettings is the size, in bytes, up to which such a file is searched: a longer one was not written
// by a person.
const MaxSettings = 256 << 10

// MayHold reports whether the content of a file is searched for keys, by its path below the codebase.
func MayHold(file string) bool {
	return slices.Contains(settings, path.Ext(path.Base(file))) && !inTests(file)
}

// InVendored reports whether a path goes through a folder of third-party code.
func InVendored(path string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"), Vendored)
}

// inTests reports whether a file is below a folder of tests.
func inTests(path string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"),
		func(dir string) bool { return slices.Contains(tests, dir) })
}

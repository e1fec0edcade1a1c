package proc

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tri/lib/base/lazyregexp"
)

// numbered matches a file name that is a version, as in ~/.local/share/claude/versions/2.1.0.
var numbered = lazyregexp.New(`^v?\d+(\.\d+){1,3}([-+][0-9A-Za-z.-]+)?$`)

// maxPackage is the number of bytes read of a package.json.
const maxPackage = 1 << 20

// Version returns where the program that argv starts is installed, and the version that its
// installation names. It runs nothing; "" means unknown. If argv[0] is an interpreter, the result
// is the interpreter's.
func Version(argv []string) (path, version string) {
	if len(argv) == 0 {
		return "", ""
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path, ""
	}
	for dir := real; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if name := filepath.Base(dir); numbered.MatchString(name) {
			return path, strings.TrimPrefix(name, "v")
		}
		if !strings.Contains(filepath.Dir(dir), "/node_modules/") {
			continue // the package.json above it belongs to an unrelated project
		}
		if v := packaged(filepath.Join(filepath.Dir(dir), "package.json")); v != "" {
			return path, v
		}
	}
	return path, ""
}

// packaged returns the version that a package.json names.
func packaged(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	var p struct{ Name, Version string }
	if json.NewDecoder(io.LimitReader(f, maxPackage)).Decode(&p) != nil || p.Name == "" ||
		!numbered.MatchString(p.Version) {
		return ""
	}
	return p.Version
}

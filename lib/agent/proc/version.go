package proc

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// numbered is a name that is a version, as of ~/.local/share/claude/versions/2.1.0.
var numbered = regexp.MustCompile(`^v?\d+(\.\d+){1,3}([-+][0-9A-Za-z.-]+)?$`)

// maxPackage is read of a package.json, in bytes.
const maxPackage = 1 << 20

// Version is where the program that argv starts is installed, and the version that
// its installation names. Nothing is run: "" is not known. argv[0] is the program
// itself; of an interpreter it is the interpreter's.
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
			continue // the package.json above it is of somebody's project
		}
		if v := packaged(filepath.Join(filepath.Dir(dir), "package.json")); v != "" {
			return path, v
		}
	}
	return path, ""
}

// packaged is the version that a package.json names.
func packaged(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	var p struct{ Name, Version string }
	if json.NewDecoder(io.LimitReader(f, maxPackage)).Decode(&p) != nil || p.Name == "" || !numbered.MatchString(p.Version) {
		return ""
	}
	return p.Version
}

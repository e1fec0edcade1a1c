package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// link is a symbolic link on the path to a file.
type link struct{ at, target string }

// trace follows every link in path, which is absolute, and returns the links and the final path; with
// an error, those up to what it could not follow.
func trace(path string) (links []link, real string, err error) {
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	real = "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		at := filepath.Join(real, name)
		info, err := os.Lstat(at)
		if err != nil {
			return links, at, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		if len(links) >= 40 {
			return links, at, fmt.Errorf("follow %q: too many links", path)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return links, at, err
		}
		links = append(links, link{at, target})
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return links, real, nil
}

// program returns the paths that a command must read in order to run: the program's installation,
// the interpreter that its first line names, and the files that other arguments name by absolute
// path.
func program(argv []string) (path string, needs []string, err error) {
	if path, err = exec.LookPath(argv[0]); err != nil {
		return "", nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	needs = installed(path, nil)
	for _, arg := range argv[1:] {
		if !filepath.IsAbs(arg) {
			continue
		}
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			needs = installed(arg, needs)
		}
	}
	return path, needs, nil
}

// installed adds the files of the program at path to needs.
func installed(path string, needs []string) []string {
	if slices.Contains(needs, path) || len(needs) > 32 {
		return needs
	}
	needs = append(needs, path)
	_, real, err := trace(path)
	if err != nil {
		return needs // it will not start, and reports so
	}
	if root := installation(real); root != "" {
		needs = append(needs, root)
	}
	if in := interpreter(real); in != "" {
		needs = installed(in, needs)
	}
	// A Python virtual environment needs the Python installation that it is based on.
	if filepath.Base(filepath.Dir(path)) == "bin" {
		prefix := filepath.Dir(filepath.Dir(path))
		if _, err := os.Stat(filepath.Join(prefix, "pyvenv.cfg")); err == nil {
			needs = append(needs, prefix)
		}
	}
	return needs
}

// installation returns the folder that a program is installed in: the outermost node_modules above
// it, or the prefix whose bin folder contains it. It returns "" if the file is on its own, or in a
// shared folder.
func installation(file string) string {
	parts := strings.Split(file, "/")
	if i := slices.Index(parts, "node_modules"); i > 0 {
		return strings.Join(parts[:i+1], "/")
	}
	bin := filepath.Dir(file)
	prefix := filepath.Dir(bin)
	if filepath.Base(bin) != "bin" || broad(prefix) {
		return ""
	}
	for _, sign := range []string{"lib", "lib64", "pyvenv.cfg", "share", "libexec"} {
		if _, err := os.Stat(filepath.Join(prefix, sign)); err == nil {
			return prefix
		}
	}
	return ""
}

// broad reports whether dir holds more than one program, and possibly a person's files.
func broad(dir string) bool {
	home, err := os.UserHomeDir()
	if err == nil && (below(dir, home) || dir == filepath.Join(home, ".local")) {
		return true
	}
	return filepath.Base(dir) == ".local" || strings.Count(dir, "/") < 2
}

// below reports whether path is dir or below it.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// interpreter returns the path of the program that a script's first line names, "" if the file is
// not a script or the program is not found.
func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if !strings.HasPrefix(first, "#!") || err != nil {
		return ""
	}
	words := strings.Fields(first[2:])
	if len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				words[0] = word
				break
			}
		}
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}

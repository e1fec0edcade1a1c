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

// link is a symbolic link on the way to a file.
type link struct{ at, target string }

// trace follows every link in path, an absolute one, and returns those that it
// met and what stands at the end.
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
			return nil, "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		if len(links) >= 40 {
			return nil, "", fmt.Errorf("follow %q: too many links", path)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return nil, "", err
		}
		links = append(links, link{at, target})
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return links, real, nil
}

// program finds what an argument vector needs to be read in order to run: the
// program where it is installed, the interpreter that its first line names, and
// whatever files its other arguments name by their whole path.
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

// Installed is what must be readable for a command to run; nil where there is no
// such program. That of Spec.Argv need not be named in Spec.Read.
func Installed(argv []string) []string {
	_, needs, err := program(argv)
	if err != nil {
		return nil // starting it says so
	}
	return needs
}

// installed adds what the program at path is made of to needs.
func installed(path string, needs []string) []string {
	if slices.Contains(needs, path) || len(needs) > 32 {
		return needs
	}
	needs = append(needs, path)
	_, real, err := trace(path)
	if err != nil {
		return needs // it will not start, and say so
	}
	if root := installation(real); root != "" {
		needs = append(needs, root)
	}
	if in := interpreter(real); in != "" {
		needs = installed(in, needs)
	}
	// A virtual environment of Python's is half a program without the real one.
	if filepath.Base(filepath.Dir(path)) == "bin" {
		prefix := filepath.Dir(filepath.Dir(path))
		if _, err := os.Stat(filepath.Join(prefix, "pyvenv.cfg")); err == nil {
			needs = append(needs, prefix)
		}
	}
	return needs
}

// installation is the folder that a file belongs with: the outermost node_modules
// above it, or the prefix whose bin folder it stands in. "" where it stands alone,
// or where its folder is everybody's.
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

// broad reports whether dir holds more than one program, and maybe a person's
// files.
func broad(dir string) bool {
	home, err := os.UserHomeDir()
	if err == nil && (below(dir, home) || dir == filepath.Join(home, ".local")) {
		return true
	}
	return filepath.Base(dir) == ".local" || strings.Count(dir, "/") < 2
}

// below reports whether path is dir, or stands below it.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// interpreter is the program that a script's first line names, by its path; ""
// where the file is none, or none is found.
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

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A file is one of a release, by its name below the prefix (bin/tri). Its bytes are
// data or, for the large ones, in the file at from.
type file struct {
	name string
	mode int64
	data []byte
	from string
}

func (f file) bytes() ([]byte, error) {
	if f.from == "" {
		return f.data, nil
	}
	return os.ReadFile(f.from)
}

// executables are the programs that a build left in dir.
func executables(dir string) ([]file, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no programs in %s: %v", dir, err)
	}
	var tree []file
	for _, p := range paths {
		tree = append(tree, file{name: "bin/" + filepath.Base(p), mode: 0o755, from: p})
	}
	return tree, nil
}

// copies are the files of the checkout that a release has, and where they go. A
// pattern that finds nothing is an error: a folder was renamed.
var copies = []struct{ pattern, to string }{
	{"man/*.1", "share/man/man1"},
	{"man/*.5", "share/man/man5"},
	{"man/*.7", "share/man/man7"},
	{"schemas/*.json", "share/tri/schemas"},
	{"*.md", "share/doc/tri"},
	{"examples/systemd/system/*", "lib/systemd/system"},
	{"examples/systemd/user/*", "lib/systemd/user"},
}

// extras are the files that every target has: those of the checkout, and what the
// programs print when asked for their completion.
func extras(ctx context.Context, r release, tmp string) ([]file, error) {
	var tree []file
	for _, c := range copies {
		paths, err := filepath.Glob(c.pattern)
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("nothing is called %s (%v)", c.pattern, err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				return nil, err
			}
			tree = append(tree, file{name: path.Join(c.to, filepath.Base(p)), mode: 0o644, data: data})
		}
	}
	shown, err := examples()
	if err != nil {
		return nil, err
	}
	tree = append(tree, shown...)
	bin := filepath.Join(tmp, host.String())
	if err := build(ctx, r, host, bin); err != nil {
		return nil, err
	}
	programs, err := executables(bin)
	if err != nil {
		return nil, err
	}
	completions, err := completions(ctx, programs)
	return append(tree, completions...), err
}

// examples are the files that the README shows, as documentation.
func examples() ([]file, error) {
	var tree []file
	err := filepath.WalkDir("examples", func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(p) == ".go" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		mode := int64(0o644) // whatever umask the checkout was made under
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		tree = append(tree, file{name: path.Join("share/doc/tri", filepath.ToSlash(p)),
			mode: mode, data: data})
		return err
	})
	return tree, err
}

// completions are the scripts of each program, where each shell looks for them.
func completions(ctx context.Context, programs []file) ([]file, error) {
	var tree []file
	for _, p := range programs {
		for shell, format := range map[string]string{
			"bash": "share/bash-completion/completions/%s",
			"zsh":  "share/zsh/site-functions/_%s",
			"fish": "share/fish/vendor_completions.d/%s.fish",
		} {
			script, err := exec.CommandContext(ctx, p.from, "--completion", shell).Output()
			if err != nil {
				return nil, fmt.Errorf("completion of %s for %s: %w", p.name, shell, err)
			}
			tree = append(tree, file{name: fmt.Sprintf(format, path.Base(p.name)), mode: 0o644, data: script})
		}
	}
	return tree, nil
}

// fitting leaves out what a target has no use for.
func fitting(tree []file, t target) []file {
	if t.os == "linux" {
		return tree
	}
	return slices.DeleteFunc(slices.Clone(tree), func(f file) bool {
		return strings.HasPrefix(f.name, "lib/systemd/")
	})
}

// sorted joins trees in the order of their names.
func sorted(trees ...[]file) []file {
	tree := slices.Concat(trees...)
	slices.SortFunc(tree, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return tree
}

// packaged is a tree as a distribution wants it below /usr: pages are compressed,
// and units name the programs where the package puts them.
func packaged(tree []file) ([]file, error) {
	var out []file
	for _, f := range tree {
		f.name = "usr/" + f.name
		switch {
		case strings.HasPrefix(f.name, "usr/share/man/"):
			data, err := compressed(f.data)
			if err != nil {
				return nil, err
			}
			f.name, f.data = f.name+".gz", data
		case strings.HasPrefix(f.name, "usr/lib/systemd/"):
			f.data = []byte(strings.ReplaceAll(string(f.data), "/usr/local/bin/", "/usr/bin/"))
		}
		out = append(out, f)
	}
	return sorted(out), nil
}

// folders are all that the files of a tree stand in, parents first.
func folders(tree []file) []string {
	seen := map[string]bool{}
	for _, f := range tree {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	var dirs []string
	for dir := range seen {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

package sandbox

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where Git keeps the files of a folder. The program may change none of them: a hook
// or a setting is a program that another person will run.
type repository struct {
	at   string   // DIR/.git
	dirs []string // further readable folders: for a worktree the main repository's
}

// findRepository reads dir/.git. A file, or a link, is followed only if its target is the folder of
// a worktree that points back: otherwise it could name anything. Objects that a repository borrows
// are shown only for a worktree: the program's folder may come from anybody.
func findRepository(dir string) (repository, bool) {
	r := repository{at: filepath.Join(dir, ".git")}
	info, err := os.Lstat(r.at)
	if err != nil || info.IsDir() {
		return r, err == nil
	}
	own, main, ok := worktree(r.at)
	if !ok {
		return r, info.Mode().IsRegular()
	}
	r.dirs = append(r.dirs, main)
	if !below(main, own) {
		r.dirs = append(r.dirs, own)
	}
	r.dirs = append(r.dirs, alternates(filepath.Join(main, "objects"))...)
	return r, true
}

// worktree reads a .git file or link: own is the worktree's folder of settings, main the
// repository's.
func worktree(file string) (own, main string, ok bool) {
	target, err := os.Readlink(file)
	if err != nil {
		if target, ok = strings.CutPrefix(line(file), "gitdir: "); !ok {
			return "", "", false
		}
	}
	own = resolve(filepath.Dir(file), target)
	back := line(filepath.Join(own, "gitdir"))
	if own == "" || back == "" || resolve(own, filepath.Dir(back)) != resolve("/", filepath.Dir(file)) {
		return "", "", false
	}
	main = resolve(own, line(filepath.Join(own, "commondir")))
	// A folder made to point back could name any repository as its own.
	if !isGit(main) || filepath.Dir(own) != filepath.Join(main, "worktrees") {
		return "", "", false
	}
	return own, main, true
}

// isGit reports whether dir has what every Git folder has.
func isGit(dir string) bool {
	for _, sign := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, sign)); dir == "" || err != nil {
			return false
		}
	}
	return true
}

// line returns a file's first line, "" if there is none.
func line(file string) string {
	text, err := readSome(file, 8<<10)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// resolve returns path relative to dir, without links, "" if it does not exist.
func resolve(dir, path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// alternates returns further object stores.
func alternates(objects string) []string {
	text, err := readSome(filepath.Join(objects, "info", "alternates"), 64<<10)
	if err != nil {
		return nil
	}
	var dirs []string
	for path := range strings.SplitSeq(string(text), "\n") {
		dir := resolve(objects, path)
		if _, err := os.Stat(filepath.Join(dir, "pack")); dir != "" && err == nil &&
			filepath.Base(dir) == "objects" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// coverGit records every configuration file below a Git folder, and hides sockets there. A
// configuration may be that of the repository, a worktree or a submodule. The folders above one become
// frames: git replaces a configuration to change it, and the kernel then removes what was put over it.
func (p *plan) coverGit(dir string) {
	frames := map[string]bool{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil: // a file that we cannot read the program cannot read either
			return nil
		case e.IsDir() && (name == "objects" || name == "refs" || name == "logs"):
			return fs.SkipDir
		case e.Type().IsRegular() && (name == "config" || name == "config.worktree"):
			p.configs = append(p.configs, path)
			for up := filepath.Dir(path); below(dir, up); up = filepath.Dir(up) {
				frames[up] = true
			}
		case door(e):
			return p.hide(path)
		}
		return nil
	})
	for at := range frames {
		p.frame(at, frames)
	}
}

// frame shows the entries of a folder one by one, without pipes, configurations and other frames.
func (p *plan) frame(dir string, frames map[string]bool) {
	p.entries = append(p.entries, entry{kind: frame, at: dir})
	all, _ := os.ReadDir(dir) // what we cannot read the program cannot read either
	for _, e := range all {
		at := filepath.Join(dir, e.Name())
		switch {
		case frames[at] || door(e) || e.Type().IsRegular() && slices.Contains(p.configs, at):
		case e.Type() == fs.ModeSymlink:
			if to, err := os.Readlink(at); err == nil {
				p.entries = append(p.entries, entry{symlink, to, at, true})
			}
		default:
			p.entries = append(p.entries, entry{part, at, at, true})
		}
	}
}

// harmless are the repository settings that a reader needs. Others may contain a password or name
// a program.
var harmless = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.ignorecase": true,
	"core.precomposeunicode": true, "core.symlinks": true, "core.autocrlf": true, "core.eol": true,
	"core.quotepath":      true,
	"core.sparsecheckout": true, "core.sparsecheckoutcone": true, "index.sparse": true, "user.name": true,
	"user.email":   true,
	"remote.fetch": true, "remote.promisor": true, "remote.partialclonefilter": true, "branch.remote": true,
	"branch.merge": true,
}

// plainConfig returns a repository's configuration with harmless settings only. The URL of a
// remote is kept, without the name and password in it.
func plainConfig(text []byte) []byte {
	var out bytes.Buffer
	section, whole := "", ""
	for raw := range strings.SplitSeq(string(text), "\n") {
		line := strings.TrimSpace(raw)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section, _, _ = strings.Cut(strings.ToLower(strings.Trim(line, "[]")), " ")
			whole = line
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if !found || key == "" || strings.ContainsAny(key, "#;\"[]") || strings.HasSuffix(line, `\`) {
			continue
		}
		switch name := section + "." + key; {
		case harmless[name], section == "extensions":
		case name == "remote.url":
			u, err := url.Parse(strings.TrimSpace(value))
			if err != nil {
				continue
			}
			if u.Scheme != "" {
				u.User = nil
			}
			u.RawQuery, u.Fragment = "", ""
			value = " " + u.String()
		default:
			continue
		}
		if whole != "" {
			out.WriteString(whole + "\n")
			whole = ""
		}
		out.WriteString("\t" + key + " =" + value + "\n")
	}
	return out.Bytes()
}

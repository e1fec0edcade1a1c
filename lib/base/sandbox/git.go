package sandbox

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// repository is where Git keeps the files of a folder, none of which the program
// may change: a hook or a setting is a program that somebody else will run.
type repository struct {
	at   string   // DIR/.git
	dirs []string // further folders that must be read: of a worktree the main one's
}

// findRepository looks at dir/.git. A file there that does not point to a folder
// which points back is not followed: it could name anything.
func findRepository(dir string) (repository, bool) {
	r := repository{at: filepath.Join(dir, ".git")}
	info, err := os.Lstat(r.at)
	if err != nil {
		return r, false
	}
	common := r.at
	if info.Mode().IsRegular() {
		own, main, ok := worktree(r.at)
		if !ok {
			return r, true
		}
		common = main
		r.dirs = append(r.dirs, main)
		if !below(main, own) {
			r.dirs = append(r.dirs, own)
		}
	} else if !info.IsDir() {
		return r, true
	}
	r.dirs = append(r.dirs, alternates(filepath.Join(common, "objects"))...)
	return r, true
}

// worktree reads a .git file: own is the worktree's folder of settings, main the
// repository's.
func worktree(file string) (own, main string, ok bool) {
	target, found := strings.CutPrefix(line(file), "gitdir: ")
	if !found {
		return "", "", false
	}
	own = resolve(filepath.Dir(file), target)
	back := line(filepath.Join(own, "gitdir"))
	if own == "" || back == "" || resolve(own, filepath.Dir(back)) != resolve("/", filepath.Dir(file)) {
		return "", "", false
	}
	main = resolve(own, line(filepath.Join(own, "commondir")))
	for _, sign := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(main, sign)); main == "" || err != nil {
			return "", "", false
		}
	}
	return own, main, true
}

// line is a file's first line; "" where there is none.
func line(file string) string {
	text, err := os.ReadFile(file)
	if err != nil || len(text) > 8<<10 {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// resolve is path as seen from dir, without links; "" where it is not there.
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

// alternates are further stores of objects.
func alternates(objects string) []string {
	text, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if err != nil {
		return nil
	}
	var dirs []string
	for _, path := range strings.Split(string(text), "\n") {
		dir := resolve(objects, path)
		if _, err := os.Stat(filepath.Join(dir, "pack")); dir != "" && err == nil && filepath.Base(dir) == "objects" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// coverGit notes every configuration below a folder of Git's, and hides sockets
// there: a configuration may be of the repository, a worktree or a module.
func (p *plan) coverGit(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil: // who cannot be read by us cannot be read by the program
			return nil
		case e.IsDir() && (name == "objects" || name == "refs" || name == "logs"):
			return fs.SkipDir
		case e.Type().IsRegular() && (name == "config" || name == "config.worktree"):
			p.configs = append(p.configs, path)
		case door(e):
			p.hide(path)
		}
		return nil
	})
}

// harmless are the settings of a repository that a reader needs. Others may hold
// a password, or name a program.
var harmless = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.ignorecase": true,
	"core.precomposeunicode": true, "core.symlinks": true, "core.autocrlf": true, "core.eol": true, "core.quotepath": true,
	"core.sparsecheckout": true, "core.sparsecheckoutcone": true, "index.sparse": true, "user.name": true, "user.email": true,
	"remote.fetch": true, "remote.promisor": true, "remote.partialclonefilter": true, "branch.remote": true, "branch.merge": true,
}

// plainConfig is a repository's configuration without what is not harmless. The
// address of a remote stays, without the name and password in it.
func plainConfig(text []byte) []byte {
	var out bytes.Buffer
	section, whole := "", ""
	for _, raw := range strings.Split(string(text), "\n") {
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

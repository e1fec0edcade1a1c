package sandbox

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// system are the paths that every program must read, if they exist: programs and libraries, and
// from /etc the configuration of the loader, the certificates and the time. On a properly
// administered machine none of it is secret.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/run/current-system/sw",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust/extracted",
	"/etc/crypto-policies",
	"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/services", "/etc/protocols", "/etc/terminfo",
	"/etc/python3",
	"/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/os-release", "/etc/debian_version",
}

// Kinds of entry of a plan.
const (
	readOnly = "--ro-bind"
	writable = "--bind"
	empty    = "--tmpfs"
	// A frame is a folder of our own in which the entries of a folder are shown one by one: what is put
	// over one of them stays, though another program replaces the file. A part is such an entry, which
	// may be gone.
	frame   = "frame"
	part    = "--ro-bind-try"
	symlink = "--symlink"
	nothing = "/dev/null" // shown in place of a hidden file
)

// entry is one path shown. For a link, from is its target.
type entry struct {
	kind, from, at string
	// pinned keeps the path in its place though a folder above shows it, unless that is hidden.
	pinned bool
}

// plan is the file system that a program sees.
type plan struct {
	entries []entry
	covered []string // folders to be left empty and read-only
	dir     string   // the program's folder, without links
	configs []string // Git's configurations, to be shown without secrets
	// files are the files that a read-only program may open below dir; whole are the folders in
	// which it may open everything. A file created or replaced during the run therefore cannot be
	// opened, which Landlock enforces. Nil: all files.
	files, whole []string
}

// newPlan returns the plan of a Spec whose program needs the paths in needs.
func newPlan(s Spec, needs []string) (*plan, error) {
	p := &plan{}
	for _, path := range system {
		if err := p.show(readOnly, path, true); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Concat(needs, s.Read) {
		if err := p.show(readOnly, path, false); err != nil {
			return nil, err
		}
	}
	if err := p.folder(s); err != nil {
		return nil, err
	}
	if s.Home != "" {
		if err := p.show(writable, s.Home, false); err != nil {
			return nil, err
		}
	}
	if err := p.hideHomes(); err != nil {
		return nil, err
	}
	p.order()
	return p, nil
}

// folder shows the program's folder, and the readable files of Git.
func (p *plan) folder(s Spec) error {
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return sysexit.Errorf(sysexit.NoInput, "open codebase: %w", err)
	}
	if p.dir = dir; dir == "/" {
		return sysexit.Errorf(sysexit.Config, "the codebase is the root folder, which no program may see")
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" && below(dir, home) {
		return sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"the codebase %q contains your home folder, which no program may see", dir),
			"name a folder below it under `codebases:`")
	}
	kind := readOnly
	if s.Write {
		kind = writable
	}
	if err := p.show(kind, s.Dir, false); err != nil {
		return err
	}
	if _, err := os.Readlink(filepath.Join(dir, ".git")); s.Write && err == nil {
		return sysexit.Hint(sysexit.Errorf(sysexit.Config,
			"%q has a link for .git, in whose place the program could put a repository of its own", dir),
			"write a file .git instead: gitdir: and the folder that the link names")
	}
	if repo, found := findRepository(dir); found {
		for _, at := range append(repo.dirs, repo.at) {
			if err := p.show(readOnly, at, false); err != nil {
				return err
			}
			if !below(dir, at) {
				p.coverGit(at)
			}
		}
	}
	for _, name := range s.Hidden {
		if !filepath.IsLocal(name) {
			return sysexit.Errorf(sysexit.Software, "hide %q: it is not below the codebase", name)
		}
		if err := p.hide(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return p.hidePrivate(s)
}

// show adds a path and the links that lead to it. An optional path may be missing.
func (p *plan) show(kind, path string, optional bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	links, real, err := trace(path)
	switch {
	case err != nil && optional:
		return nil
	case err != nil:
		return sysexit.Errorf(sysexit.NoInput, "mount a program's files: %w", err)
	case real == "/":
		return sysexit.Errorf(sysexit.Config, "mount a program's files: %q is the root folder", path)
	}
	for _, l := range links {
		p.entries = append(p.entries, entry{kind: symlink, from: l.target, at: l.at})
	}
	p.entries = append(p.entries, entry{kind: kind, from: real, at: real})
	return nil
}

// hide covers a path, if it exists; for a link, its target.
func (p *plan) hide(path string) error {
	real, err := p.target(path)
	if real == "" || err != nil {
		return err
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
	case info.IsDir():
		p.entries = append(p.entries, entry{kind: empty, at: real})
		p.covered = append(p.covered, real)
	default:
		p.entries = append(p.entries, entry{kind: readOnly, from: nothing, at: real})
	}
	return nil
}

// target returns where a path to be hidden leads, "" if nowhere. Through /proc and /dev it leads
// elsewhere in the sandbox, as /proc/self/cwd does, and nothing could be put over that: such a link
// is refused.
func (p *plan) target(path string) (string, error) {
	links, real, err := trace(path)
	for _, at := range append(links, link{at: real}) {
		if (below("/proc", at.at) || below("/dev", at.at)) && at.at != nothing && !below(p.dir, at.at) {
			return "", sysexit.Hint(sysexit.Errorf(sysexit.Config,
				"the codebase has a link through %q at %q, where it hides settings or keys", at.at, path),
				"remove the link: no sandbox can cover where it leads")
		}
	}
	if err != nil || real == nothing {
		return "", nil
	}
	return real, nil
}

// pin makes a path below the program's folder read-only, and keeps the folders above it in their
// places, where the program could otherwise put others.
func (p *plan) pin(path string) {
	p.entries = append(p.entries, entry{readOnly, path, path, true})
	for up := filepath.Dir(path); below(p.dir, up) && up != p.dir; up = filepath.Dir(up) {
		p.entries = append(p.entries, entry{writable, up, up, true})
	}
}

// hideHomes covers our own homes if a shown path contains one.
func (p *plan) hideHomes() error {
	for _, home := range durable.Homes() {
		if abs, err := filepath.Abs(home); err == nil {
			home = abs
		}
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if below(home, p.dir) { // a worktree of a box: its own home is beside it
			continue
		}
		if slices.ContainsFunc(p.entries, func(e entry) bool {
			return (e.kind == readOnly || e.kind == writable) && below(e.at, home)
		}) {
			if err := p.hide(home); err != nil {
				return err
			}
		}
	}
	return nil
}

// order sorts folders before their content, and drops duplicates and links that a shown folder
// contains anyway. If a path is both writable and read-only, read-only wins: this protects Git's
// files.
func (p *plan) order() {
	rank := map[string]int{symlink: 0, part: 0, writable: 1, readOnly: 2, frame: 3, empty: 4}
	slices.SortStableFunc(p.entries, func(a, b entry) int {
		return cmp.Or(slices.Compare(strings.Split(a.at, "/"), strings.Split(b.at, "/")),
			-cmp.Compare(rank[a.kind], rank[b.kind]))
	})
	var kept []entry
	for _, e := range p.entries {
		if len(kept) > 0 && kept[len(kept)-1].at == e.at {
			continue
		}
		if over, ok := holder(kept, e.at); ok && redundant(over, e) {
			continue
		}
		kept = append(kept, e)
	}
	p.entries = kept
	p.configs = slices.DeleteFunc(p.configs, func(path string) bool {
		over, ok := holder(kept, path)
		return ok && over.kind == empty
	})
}

// holder returns the nearest entry that contains at.
func holder(entries []entry, at string) (entry, bool) {
	for _, e := range slices.Backward(entries) {
		if below(e.at, at) {
			return e, true
		}
	}
	return entry{}, false
}

// redundant reports whether the folder over e already shows it, or hides or protects what was to be
// pinned or framed.
func redundant(over, e entry) bool {
	if e.pinned {
		return over.kind != writable && over.kind != frame
	}
	if e.kind == frame {
		return over.kind == empty
	}
	if over.kind == empty || over.from != over.at {
		return false
	}
	return e.kind == symlink ||
		e.from == e.at && (e.kind == over.kind || e.kind == readOnly && over.kind == part)
}

// arguments returns the plan as arguments of bubblewrap, and those that follow when all is in its place.
func (p *plan) arguments() (args, last []string) {
	for _, at := range p.covered {
		last = append(last, "--remount-ro", at)
	}
	for _, e := range p.entries {
		switch e.kind {
		case empty:
			args = append(args, empty, e.at)
		case frame:
			args, last = append(args, empty, e.at), append(last, "--remount-ro", e.at)
		default:
			args = append(args, e.kind, e.from, e.at)
		}
	}
	return args, last
}

// paths returns the paths that Landlock lets the program read, besides files, and write.
func (p *plan) paths() (read, write []string) {
	read = slices.Clone(p.whole)
	for _, e := range p.entries {
		switch e.kind {
		case readOnly, part:
			if e.from != nothing && (e.at != p.dir || p.files == nil) {
				read = append(read, e.at)
			}
		case writable:
			write = append(write, e.at)
		}
	}
	return read, write
}

// isFile reports whether path exists and is not a folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeDir == 0
}

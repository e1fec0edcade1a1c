package git

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// run is git as its user has it, for what a test sets up and looks at.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=ana", "GIT_AUTHOR_EMAIL=ana@example.test", "GIT_COMMITTER_NAME=ana",
		"GIT_COMMITTER_EMAIL=ana@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// write makes files: path to contents. "->x" is a link to x, a trailing "+x" of
// the path makes a program, contents "-" remove.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, perm := files[name], os.FileMode(0o644)
		name, program := strings.CutSuffix(name, "+x")
		if program {
			perm = 0o755
		}
		file := filepath.Join(dir, name)
		var err error
		switch to, link := strings.CutPrefix(text, "->"); {
		case text == "-":
			err = os.RemoveAll(file)
		case link:
			err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file),
				os.Symlink(to, file))
		default:
			err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), perm),
				os.Chmod(file, perm))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read is every file below dir but those of git and the box, written as write
// takes them.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(file string, info os.FileInfo, err error) error {
		name, _ := filepath.Rel(dir, file)
		switch {
		case err != nil:
			return err
		case name == ".git" || name == ".agents":
			if info.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case info.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(file)
			files[name] = "->" + to
			return err
		case info.Mode().IsRegular():
			b, err := os.ReadFile(file)
			if info.Mode()&0o100 != 0 {
				name += "+x"
			}
			files[name] = string(b)
			return err
		case info.IsDir() && name != ".":
			files[name+"/"] = ""
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const binary = "\x00\x01\x02GIF\xff\xfe"

var start = map[string]string{
	"README.md": "# pay\n", "pay/retry.go": "package pay\n\nconst MaxRetries = 5\n",
	"pay/log.go": "package pay\n",
	"run.sh+x":   "#!/bin/sh\n", "logo.gif": binary, ".gitignore": "*.tmp\nbuild/\n", "no newline": "end",
	"dö/ö.txt": "ö\n",
	"crlf.txt": "a\r\nb\r\n", "link": "->README.md", "deep/er/still/x": "x\n",
}

var made string // the folder of template

// template is a repository of the files of start, which every test has a copy of.
var template = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "tri-worktree-test-")
	if err != nil {
		panic(err)
	}
	made = dir
	t := new(testing.T)
	run(t, dir, "init", "-q", "-b", "main")
	write(t, dir, start)
	write(t, dir, map[string]string{".git/info/exclude": ".agents/\n"})
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", "start")
	return dir
})

func TestMain(m *testing.M) {
	status := m.Run()
	if made != "" {
		os.RemoveAll(made)
	}
	os.Exit(status)
}

// checkout makes a repository of the files of start and more, and opens it.
func checkout(t *testing.T, more map[string]string) (*Repo, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", template()+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if more != nil {
		write(t, dir, more)
		run(t, dir, "add", "-A")
		run(t, dir, "commit", "-qm", "more")
	}
	r, err := Open(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, base
}

// grown is a worktree of base.
func grown(t *testing.T, r *Repo, base string) string {
	t.Helper()
	dir := filepath.Join(r.Root, ".agents/trees/run1")
	if err := r.Create(t.Context(), dir, base); err != nil {
		t.Fatal(err)
	}
	return dir
}

func exported(t *testing.T, r *Repo, dir, base string) *Export {
	t.Helper()
	x, err := r.Export(t.Context(), dir, base)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func checked(t *testing.T, patch []byte, allow Rules) *Patch {
	t.Helper()
	p, err := Check(patch, allow)
	if err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	return p
}

func (r *Repo) merge(base string) Merge {
	return Merge{Base: base, Journal: filepath.Join(r.Root, ".agents/runs/run1/merge")}
}

// edits are what agents do, by name.
var edits = map[string]map[string]string{
	"nothing":         {},
	"edit":            {"pay/retry.go": "package pay\n\nconst MaxRetries = 7\n"},
	"new file":        {"pay/new.go": "package pay\n"},
	"new folders":     {"a/b/c/d.txt": "d\n", "a/b/e.txt": "e\n"},
	"deletion":        {"pay/log.go": "-"},
	"last of folder":  {"deep": "-"},
	"binary":          {"logo.gif": binary + "\x00more", "new.bin": "\x00\xff"},
	"binary gone":     {"logo.gif": "-"},
	"no newline":      {"no newline": "end\nmore", "README.md": "# pay"},
	"empty file":      {"empty": "", "README.md": ""},
	"not ASCII":       {"dö/ö.txt": "o\n", "dö/ü \"x\".txt": "u\n"},
	"spaces":          {" leading": "x\n", "trailing ": "y\n", "in the middle": "z\n"},
	"crlf":            {"crlf.txt": "a\r\nc\r\n", "new crlf.txt": "x\r\n"},
	"file to folder":  {"README.md": "-", "README.md/x": "x\n"},
	"folder to file":  {"deep": "-", "deep+x": "-"},
	"program edited":  {"run.sh+x": "#!/bin/sh\necho\n"},
	"program no more": {"run.sh": "#!/bin/sh\n"},
	"looks like diff": {"x.diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/x b/x\n",
		"README.md": "-- a\n++ b\n"},
	"all at once": {"README.md": "-", "pay/retry.go": "package pay\n", "pay/a/b.go": "package a\n",
		"logo.gif": "\x00", "deep/er": "-"},
	"large": {"large.txt": strings.Repeat("line of a large file\n", 100_000)},
}

// TestRoundTrip: what an agent did in its worktree comes out in the checkout, by
// Apply in the files, by Branch in a commit, byte for byte.
func TestRoundTrip(t *testing.T) {
	edits["folder to file"] = map[string]string{"deep": "-"}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			r, base := checkout(t, nil)
			tree := grown(t, r, base)
			if got, want := read(t, tree), read(t, r.Root); !maps.Equal(got, want) {
				t.Fatalf("worktree: %q, want %q", got, want)
			}
			write(t, tree, edit)
			if name == "folder to file" {
				write(t, tree, map[string]string{"deep": "now a file\n"})
			}
			x := exported(t, r, tree, base)
			p := checked(t, x.Patch, Rules{})
			if (len(x.Patch) == 0) != (name == "nothing") || len(x.Skipped) != 0 || x.Ignored != 0 {
				t.Errorf("export %+v", x)
			}
			sameAsGit(t, r, p)
			a, err := r.Apply(t.Context(), p, r.merge(base))
			if err != nil {
				t.Fatal(err)
			}
			// git knows no empty folders
			if got, want := dropFolders(read(t, r.Root)), dropFolders(read(t, tree)); !maps.Equal(got, want) {
				t.Errorf("applied %q: %q, want %q", a.Files, got, want)
			}
			if _, err := os.Lstat(filepath.Join(r.Root, ".agents/runs/run1/merge")); err == nil {
				t.Error("the journal stays behind")
			}
			id, err := r.Branch(t.Context(), p,
				Commit{Base: base, Branch: "tri/x", Message: "m", Author: Author{"ana", "a@x.test"},
					When: time.Unix(1e9, 0)})
			if err != nil {
				t.Fatal(err)
			}
			again, err := r.Branch(t.Context(), p,
				Commit{Base: base, Branch: "tri/x", Message: "m", Author: Author{"ana", "a@x.test"},
					When: time.Unix(1e9, 0)})
			if err != nil || again != id || run(t, r.Root, "rev-parse", "tri/x") != id {
				t.Errorf("branch again: %s, %v; want %s", again, err, id)
			}
			out := filepath.Join(t.TempDir(), "branch")
			run(t, r.Root, "worktree", "add", "-q", out, "tri/x")
			if got, want := read(t, out), read(t, tree); !maps.Equal(dropFolders(got), dropFolders(want)) {
				t.Errorf("branch: %q, want %q", got, want)
			}
			empty(t, r.scratch)
		})
	}
}

func dropFolders(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return files
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%s: left behind: %v, %v", dir, left, err)
	}
}

// sameAsGit holds our reading of a patch against git's own.
func sameAsGit(t *testing.T, r *Repo, p *Patch) {
	t.Helper()
	if len(p.bytes) == 0 {
		return
	}
	var ours strings.Builder
	for _, c := range p.Changes {
		added, removed := fmt.Sprint(c.Added), fmt.Sprint(c.Removed)
		if c.Binary {
			added, removed = "-", "-"
		}
		fmt.Fprintf(&ours, "%s\t%s\t%s\x00", added, removed, c.Path)
	}
	cmd := exec.Command("git", "apply", "--numstat", "-z")
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(p.bytes)
	theirs, err := cmd.Output()
	if err != nil || string(theirs) != ours.String() {
		t.Errorf("git reads %q, %v; we %q", theirs, err, ours.String())
	}
}

// TestExportSeesFiles: whatever an agent does to git itself, its files are exported; anything that
// is not a file, or must not be exported, is reported.
func TestExportSeesFiles(t *testing.T) {
	var r *Repo
	var dir string
	for name, mischief := range map[string]func(t *testing.T){
		"committed": func(t *testing.T) {
			run(t, dir, "add", "-A")
			run(t, dir, "commit", "-qm", "mine")
		},
		"assume unchanged": func(t *testing.T) {
			run(t, dir, "update-index", "--assume-unchanged", "pay/retry.go")
			run(t, dir, "update-index", "--skip-worktree", "README.md")
		},
		"index gone": func(t *testing.T) { os.Remove(filepath.Join(r.common, "worktrees/run1/index")) },
		"another HEAD": func(t *testing.T) {
			os.WriteFile(filepath.Join(r.common, "worktrees/run1/HEAD"),
				[]byte("ref: refs/heads/none\n"), 0o644)
		},
		".git elsewhere": func(t *testing.T) { write(t, dir, map[string]string{".git": "gitdir: /etc\n"}) },
		".git gone":      func(t *testing.T) { write(t, dir, map[string]string{".git": "-"}) },
		".git a folder": func(t *testing.T) {
			write(t, dir, map[string]string{".git": "-"})
			run(t, dir, "init", "-q")
			run(t, dir, "config", "core.worktree", "/etc")
		},
		"attributes": func(t *testing.T) {
			write(t, r.Root,
				map[string]string{".git/info/attributes": "* binary filter=evil working-tree-encoding=UTF-16\n"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var base string
			r, base = checkout(t, nil)
			dir = grown(t, r, base)
			write(t, dir, map[string]string{"pay/retry.go": "package pay\n", "new.txt": "new\n"})
			want := exported(t, r, dir, base).Patch
			mischief(t)
			if got := exported(t, r, dir, base); !bytes.Equal(got.Patch, want) {
				t.Errorf("got %s\nwant %s", got.Patch, want)
			}
		})
	}
}

func TestExportSkips(t *testing.T) {
	r, base := checkout(t, nil)
	dir := grown(t, r, base)
	write(t, dir, map[string]string{
		"a.tmp": "ignored", "build/x/y": "ignored", "build/z": "ignored", "sub/.git/config": "[core]\n",
		"sub/x.txt":       "kept\n",
		"deep/.gitignore": "*.new\n", "deep/x.new": "ignored", "deep/er/y.new": "ignored",
		"dö/.gitignore": "->/dev/zero", ":(top)x.tmp": "ignored",
		"bad\nname": "x", ".GIT/hooks/pre-commit+x": "x", "git~1": "x", "a\\b": "x", ".g\u200cit/config": "x",
		"caf\xe9": "x",
	})
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
		syscall.Mkfifo(filepath.Join(dir, "pay/.gitignore"), 0o644)); err != nil {
		t.Fatal(err)
	}
	x := exported(t, r, dir, base)
	var names []string
	for _, s := range x.Skipped {
		names = append(names, s.Path)
	}
	slices.Sort(names)
	want := []string{".GIT", ".g\u200cit", "a\\b", "bad\nname", "caf\xe9", "fifo", "git~1",
		"pay/.gitignore", "sub/.git"}
	if x.Ignored != 6 || !slices.Equal(names, want) {
		t.Errorf("ignored %d, skipped %q, want %q", x.Ignored, names, want)
	}
	if p := checked(t, x.Patch, Rules{}); len(p.Changes) != 3 || p.Changes[2].Path != "sub/x.txt" ||
		p.Refused[0].Path != "dö/.gitignore" {
		t.Errorf("changes %+v", p.Changes)
	}
}

// TestExportEnds: neither a sparse file of more bytes than can be read nor many folders that the commit does
// not have keep an export from ending.
func TestExportEnds(t *testing.T) {
	known, strange := 5000, 20_000
	if testing.Short() {
		known, strange = 500, 2000
	}
	files := map[string]string{}
	for i := range known {
		files[fmt.Sprintf("many/%d/a", i)] = "x"
	}
	r, base := checkout(t, files)
	dir := grown(t, r, base)
	for _, name := range []string{"many/1/a", "new"} {
		write(t, dir, map[string]string{name: "y"})
		if err := os.Truncate(filepath.Join(dir, name), 1<<43); err != nil {
			t.Skip(err) // the file system has no files of that size
		}
	}
	for i := range strange {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("a\\%d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	x := exported(t, r, dir, base)
	if len(x.Patch) > 0 || len(x.Skipped) != strange+2 || time.Since(began) > time.Minute {
		t.Errorf("%d bytes, %d skipped, in %v", len(x.Patch), len(x.Skipped), time.Since(began))
	}
}

// TestLinksAreRefused: an agent's symbolic link is seen, and nothing is read or
// written through it.
func TestLinksAreRefused(t *testing.T) {
	r, base := checkout(t, nil)
	dir := grown(t, r, base)
	write(t, dir, map[string]string{"etc": "->/etc", "pay/retry.go": "->/etc/passwd", "tool+x": "#!/bin/sh\n",
		"deep": "-"})
	write(t, dir, map[string]string{"deep": "->/tmp"})
	x := exported(t, r, dir, base)
	if bytes.Contains(x.Patch, []byte("root:")) {
		t.Error("a link was followed")
	}
	p := checked(t, x.Patch, Rules{Exec: true})
	said := map[string]string{}
	for _, f := range p.Refused {
		said[f.Path] = f.Reason
	}
	for _, name := range []string{"etc", "pay/retry.go", "deep"} {
		if said[name] == "" {
			t.Errorf("%s passes: %v", name, said)
		}
	}
	if said["tool"] != "" || checked(t, x.Patch, Rules{}).Err() == nil {
		t.Error("a new program: by rule and only by rule")
	}
	before := read(t, r.Root)
	if _, err := r.Apply(t.Context(), p, r.merge(base)); err == nil || !maps.Equal(before, read(t, r.Root)) {
		t.Errorf("applied: %v", err)
	}
}

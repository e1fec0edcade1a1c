package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// tree makes files below a new folder: a name that ends with "/" is a folder, a
// text that begins with "->" a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		target, isLink := strings.CutPrefix(text, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		default:
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "ROOT", root)), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// shown is a plan without the system, its paths below root.
func shown(t *testing.T, root string, s Spec, needs ...string) []string {
	t.Helper()
	t.Setenv("TRI_HOME", filepath.Join(root, "tri"))
	p, err := newPlan(s, needs)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range p.entries {
		if below(root, e.at) {
			from := e.from
			if from == e.at || e.kind == empty {
				from = ""
			}
			lines = append(lines,
				strings.TrimSpace(strings.TrimPrefix(e.kind, "--")+" "+strings.TrimPrefix(e.at, root+"/")+" "+
					strings.ReplaceAll(from, root, "ROOT")))
		}
	}
	return lines
}

func TestPlan(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/.agents/runs/r/home/": "", "repo/.agents/x": "", "repo/.env": "", "repo/.git/HEAD": "",
		"repo/sub/": "",
		"alias":     "->repo", "chain": "->ROOT/alias", "repo/away": "->../elsewhere", "elsewhere/secret": "",
		"repo/hidden":     "->.agents",
		"tri/config.yaml": "", "over/tri2/": "",
	})
	repo := root + "/repo"
	secrets := []string{"tmpfs repo/.agents", "ro-bind repo/.env /dev/null"}
	for name, tt := range map[string]struct {
		spec Spec
		want []string
	}{
		"reads": {Spec{Dir: repo}, slices.Concat([]string{"ro-bind repo"}, secrets)},
		"writes, but not Git's files": {Spec{Dir: repo, Write: true},
			slices.Concat([]string{"bind repo"}, secrets, []string{"ro-bind repo/.git"})},
		"hidden, with a home inside": {Spec{Dir: repo, Hidden: []string{".agents", ".env", "nothing"},
			Home: repo + "/.agents/runs/r/home"},
			[]string{"ro-bind repo", "tmpfs repo/.agents", "bind repo/.agents/runs/r/home",
				"ro-bind repo/.env /dev/null"}},
		"hidden behind a link": {Spec{Dir: repo, Hidden: []string{"hidden"}},
			slices.Concat([]string{"ro-bind repo"}, secrets)},
		"by a link": {Spec{Dir: root + "/chain"},
			slices.Concat([]string{"symlink alias repo", "symlink chain ROOT/alias", "ro-bind repo"},
				secrets)},
		"a file inside again": {Spec{Dir: repo, Read: []string{repo + "/sub"}},
			slices.Concat([]string{"ro-bind repo"}, secrets)},
		"what Write must spare": {Spec{Dir: repo, Write: true, Read: []string{repo + "/sub"}},
			slices.Concat([]string{"bind repo"}, secrets, []string{"ro-bind repo/.git", "ro-bind repo/sub"})},
		"our home above": {Spec{Dir: repo, Read: []string{root + "/tri/../tri/config.yaml"}},
			slices.Concat([]string{"ro-bind repo"}, secrets, []string{"ro-bind tri/config.yaml"})},
		"our home inside": {Spec{Dir: repo, Read: []string{root}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := shown(t, root, tt.spec)
			if tt.want != nil && !slices.Equal(got, tt.want) {
				t.Errorf("shows\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
			if tt.want == nil && !slices.Contains(got, "tmpfs tri") {
				t.Errorf("our home is shown: %q", got)
			}
		})
	}
}

// TestPrivate: which files of a codebase are hidden by name, from readers and from writers, and
// which are shown.
func TestPrivate(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/a/.env": "", "repo/a/.ENV.Production": "", "repo/a/id_ed25519": "", "repo/a/id_ed25519.pub": "",
		"repo/a/.env.example": "", "repo/a/server.key": "",
		"repo/a/.env.test": "", "repo/a/secrets.yaml": "", "repo/a/secrets.go": "",
		"repo/a/testdata/server.key": "", "repo/a/testdata/.env": "",
		"repo/node_modules/x/.env": "", "repo/b/.agents/x": "", "repo/b/.netrc": "->../../elsewhere",
		"repo/b/.npmrc": "->../a/settings", "repo/a/settings": "", "elsewhere": "",
		"repo/.claude/settings.json": "", "repo/a/.mcp.json": "", "repo/claude/x": "",
		"repo/a/.SSH/config": "", "repo/node_modules/x/server.key": "",
	})
	personal := []string{"ro-bind repo/a/.ENV.Production /dev/null", "ro-bind repo/a/.env /dev/null",
		"ro-bind repo/a/id_ed25519 /dev/null", "ro-bind repo/a/testdata/.env /dev/null",
		"tmpfs repo/b/.agents",
		"ro-bind repo/node_modules/x/.env /dev/null", "tmpfs repo/a/.SSH", "tmpfs repo/.claude",
		"ro-bind repo/a/.mcp.json /dev/null"}
	others := []string{"ro-bind repo/a/secrets.yaml /dev/null", "ro-bind repo/a/server.key /dev/null",
		"ro-bind repo/a/settings /dev/null"}
	for write, want := range map[bool][]string{false: slices.Concat(personal, others,
		[]string{"ro-bind repo"}), true: append(personal, "bind repo")} {
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(shown(t, root,
			Spec{Dir: root + "/repo", Write: write}))); !slices.Equal(got, want) {
			t.Errorf("write %t: shows\n\t%s\nwant\n\t%s", write, strings.Join(got, "\n\t"),
				strings.Join(want, "\n\t"))
		}
	}
	names := map[string]string{}
	for n := range maxPrivate + 1 {
		names[fmt.Sprintf("many/%d.key", n)] = ""
	}
	if _, err := newPlan(Spec{Dir: tree(t, names)}, nil); err == nil {
		t.Error("more than can be hidden was shown")
	}
}

// TestNamed: for a read-only program the readable files are listed one by one, and files that lead
// to another process are covered.
func TestNamed(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/a.go": "", "repo/b/c.go": "", "repo/b/.env": "", "repo/link": "->a.go", "repo/.git/HEAD": "",
		"repo/vendor/x/x.go": "",
		"repo/settings.yaml": "SECRET", "repo/tri/config.yaml": "", "repo/home/x": "",
	})
	repo := root + "/repo"
	l, err := net.Listen("unix", repo+"/in.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := syscall.Mkfifo(repo+"/vendor/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := durable.Open(repo + "/tri")
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	s := Spec{Dir: repo, Home: repo + "/home", Secret: func(text []byte) bool {
		return string(text) == "SECRET"
	}}
	p, err := newPlan(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, _ := p.paths()
	read = append(read, p.files...)
	read = slices.DeleteFunc(read, func(path string) bool { return !below(root, path) })
	want := []string{repo + "/.git", repo + "/a.go", repo + "/b/c.go", repo + "/tri/config.yaml",
		repo + "/vendor"}
	if slices.Sort(read); !slices.Equal(read, want) {
		t.Errorf("it may open %q, want %q", read, want)
	}
	got := shown(t, root, s)
	for _, covered := range []string{"ro-bind repo/in.sock /dev/null", "ro-bind repo/vendor/pipe /dev/null",
		"ro-bind repo/settings.yaml /dev/null", "tmpfs repo/tri"} {
		if !slices.Contains(got, covered) {
			t.Errorf("%q is not in %q", covered, got)
		}
	}
	s.Write = true
	if p, err = newPlan(s, nil); err != nil || p.files != nil {
		t.Errorf("who writes may open %q only, %v", p.files, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, s := range map[string]Spec{
		"the root folder": {Dir: "/"}, "the home": {Dir: home},
		"what holds the home":      {Dir: filepath.Dir(home)},
		"what is not there":        {Dir: home + "/none"},
		"a home that is not there": {Dir: t.TempDir(), Home: home + "/none"},
		"a whole machine to read":  {Dir: t.TempDir(), Read: []string{"/"}},
		"hidden outside":           {Dir: t.TempDir(), Hidden: []string{"../x"}},
	} {
		if _, err := newPlan(s, nil); err == nil {
			t.Errorf("%s was shown", name)
		} else if _, ok := sysexit.Of(err); !ok {
			t.Errorf("%s: no status: %v", name, err)
		}
	}
}

func TestProgram(t *testing.T) {
	root := tree(t, map[string]string{
		"npm/node_modules/.bin/tool":        "->../@org/tool/cli.js",
		"npm/node_modules/@org/tool/cli.js": "#!/usr/bin/env -S bash --norc\n",
		"home/.local/bin/tool":              "->ROOT/home/.local/share/tool/1.0/tool",
		"home/.local/share/tool/1.0/tool":   "\x7fELF",
		"venv/bin/tool":                     "#!ROOT/venv/bin/python\n",
		"venv/bin/python":                   "->ROOT/python/bin/python3",
		"venv/pyvenv.cfg":                   "home = ROOT/python/bin\n",
		"python/bin/python3":                "\x7fELF",
		"python/lib/":                       "",
		"script":                            "echo\n",
		"nvm/v22/bin/node":                  "\x7fELF",
		"nvm/v22/lib/":                      "",
	})
	t.Setenv("HOME", root+"/home")
	for name, tt := range map[string]struct {
		argv []string
		want []string
		not  string
	}{
		"a package of npm": {[]string{root + "/npm/node_modules/.bin/tool"},
			[]string{"npm/node_modules"}, ""},
		"a program in the home": {[]string{root + "/home/.local/bin/tool"},
			[]string{"home/.local/bin/tool"}, "home/.local"},
		"a Python of its own": {[]string{root + "/venv/bin/tool"},
			[]string{"venv", "venv/bin/python", "python"}, ""},
		"one of several versions": {[]string{root + "/nvm/v22/bin/node"}, []string{"nvm/v22"}, "nvm"},
		"a script by its path":    {[]string{"bash", root + "/script"}, []string{"script"}, ""},
		"a folder by its path":    {[]string{"ls", root}, nil, ""},
	} {
		_, needs, err := program(tt.argv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !slices.Contains(needs, root+"/"+want) {
				t.Errorf("%s: %q is not among %q", name, want, needs)
			}
		}
		if slices.Contains(needs, root+"/"+tt.not) || slices.Contains(needs, root) {
			t.Errorf("%s: %q is too much", name, needs)
		}
	}
	if _, _, err := program([]string{"no-such-program"}); err == nil {
		t.Error("a program was found that is not there")
	}
}

func TestTrace(t *testing.T) {
	root := tree(t, map[string]string{"a/b/file": "", "x": "->a", "y": "->x/b/../b", "z": "->ROOT/y/file",
		"loop": "->loop", "gone": "->nowhere"})
	links, real, err := trace(root + "/z")
	if err != nil || real != root+"/a/b/file" || len(links) != 3 {
		t.Errorf("%v, %q, %v", links, real, err)
	}
	for _, name := range []string{"loop", "gone", "a/none"} {
		if _, real, err := trace(root + "/" + name); err == nil {
			t.Errorf("%s leads to %q", name, real)
		}
	}
}

func TestRepository(t *testing.T) {
	root := tree(t, map[string]string{
		"main/.git/HEAD": "", "main/.git/objects/": "", "main/.git/refs/": "", "main/.git/config": "",
		"main/.git/objects/info/alternates": "ROOT/shared/objects\nROOT/etc\n",
		"shared/objects/pack/":              "", "etc/": "",
		"main/.git/worktrees/w/commondir": "../..\n", "main/.git/worktrees/w/config.worktree": "",
		"main/.git/refs/heads/config": "", "main/.git/worktrees/w/gitdir": "ROOT/w/.git\n",
		"w/.git":     "gitdir: ROOT/main/.git/worktrees/w\n",
		"thief/.git": "gitdir: ROOT/main/.git/worktrees/w\n", "key/.git": "gitdir: ROOT/secrets\n",
		"secrets/id": "", "plain/x": "",
	})
	for name, want := range map[string][]string{
		"main": nil, "w": {root + "/main/.git", root + "/shared/objects"},
		"thief": nil, "key": nil,
	} {
		r, found := findRepository(root + "/" + name)
		if !found || !slices.Equal(r.dirs, want) {
			t.Errorf("%s: %+v, %v; want %q", name, r, found, want)
		}
	}
	p, err := newPlan(Spec{Dir: root + "/w"}, nil)
	if err != nil || !slices.Equal(p.configs,
		[]string{root + "/main/.git/config", root + "/main/.git/worktrees/w/config.worktree"}) {
		t.Errorf("configurations of a worktree: %q, %v", p.configs, err)
	}
	if _, found := findRepository(root + "/plain"); found {
		t.Error("a plain folder is a repository")
	}
}

// A link for .git, or a file that names a folder made to point back, shows nothing outside.
func TestGitLinks(t *testing.T) {
	files := map[string]string{
		"main/.git/HEAD": "", "main/.git/objects/": "", "main/.git/refs/": "", "main/.git/config": "",
		"main/.git/worktrees/w/commondir": "../..\n", "main/.git/worktrees/w/gitdir": "ROOT/w/.git\n",
		"w/.git": "->../main/.git/worktrees/w", "ssh/id": "",
		"ssh-link/.git": "->ROOT/ssh", "private/.git": "->ROOT/main/.git", "thief/.git": "->ROOT/w/.git",
		"borrowed/.git/HEAD": "", "borrowed/.git/objects/info/alternates": "ROOT/main/.git/objects\n",
		"main/.git/objects/pack/": "", "dangling/.git": "->nowhere", "round/.git": "->.git",
		"inner/.git": "->x", "inner/x/HEAD": "", "inner/x/objects/": "", "inner/x/refs/": "",
		"inner/x/config": "",
	}
	for _, forged := range []string{"forged", "forged-link"} {
		files[forged+"/own/gitdir"] = "ROOT/" + forged + "/.git\n"
		files[forged+"/own/commondir"] = "ROOT/main/.git\n"
	}
	files["forged/.git"], files["forged-link/.git"] = "gitdir: own\n", "->own"
	root := tree(t, files)
	if err := syscall.Mkfifo(root+"/ssh/gitdir", 0o600); err != nil { // would stop the plan
		t.Fatal(err)
	}
	framed := func(dir string, parts ...string) []string {
		lines := []string{"frame " + dir}
		for _, name := range parts {
			lines = append(lines, "ro-bind-try "+dir+"/"+name)
		}
		return lines
	}
	outside := map[string][]string{"w": framed("main/.git", "HEAD", "objects", "refs", "worktrees"),
		"inner": framed("inner/x", "HEAD", "objects", "refs")}
	for _, name := range []string{"w", "ssh-link", "private", "thief", "borrowed", "dangling", "round",
		"inner", "forged", "forged-link"} {
		got := shown(t, root, Spec{Dir: filepath.Join(root, name)})
		got = slices.DeleteFunc(got, func(line string) bool { return line == "ro-bind "+name })
		if want := outside[name]; !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(want))) {
			t.Errorf("%s shows %q, want %q", name, got, want)
		}
	}
	p, err := newPlan(Spec{Dir: root + "/inner"}, nil)
	if err != nil || !slices.Equal(p.configs, []string{root + "/inner/x/config"}) {
		t.Errorf("a link within: %q, %v", p.configs, err)
	}
	if _, err := newPlan(Spec{Dir: root + "/inner", Write: true}, nil); err == nil {
		t.Error("a link for .git was left to a program that could replace it")
	}
}

// Who may write changes no repository below the folder, nor puts another in its place.
func TestNestedRepositories(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/.git/HEAD": "", "repo/a/b/.git/hooks/": "", "repo/a/b/.git/config": "",
		"repo/sub/.git":  "gitdir: ../x",
		"repo/link/.git": "->../inner", "repo/inner/HEAD": "", "repo/inner/objects/": "",
		"repo/inner/refs/":      "",
		"repo/kept/c/.git/HEAD": "", "repo/gone/c/.git/config": "", "repo/tri/c/.git/config": "",
	})
	repo := root + "/repo"
	t.Setenv("TRI_HOME", repo+"/tri")
	p, err := newPlan(Spec{Dir: repo, Write: true, Read: []string{repo + "/kept"},
		Hidden: []string{"gone"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--bind .", "--ro-bind .git", "--bind a", "--bind a/b", "frame a/b/.git",
		"--ro-bind-try a/b/.git/hooks", "--tmpfs gone", "--ro-bind inner", "--ro-bind kept", "--bind sub",
		"--ro-bind sub/.git", "--tmpfs tri"}
	var got []string
	for _, e := range p.entries {
		if name, err := filepath.Rel(repo, e.at); err == nil && filepath.IsLocal(name) {
			got = append(got, e.kind+" "+name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("shows\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	if !slices.Equal(p.configs, []string{repo + "/a/b/.git/config"}) {
		t.Errorf("covered: %q", p.configs)
	}
}

// A link whose name says settings of agents, or keys, must not lead where only the sandbox has
// something: there nothing covers it.
func TestLinksThroughProc(t *testing.T) {
	for _, name := range []string{".gemini", "a/.claude", ".mcp.json", ".env", "deploy/.ssh", ".agents"} {
		for target, refused := range map[string]bool{
			"/proc/self/cwd/docs/x": true, "/proc/thread-self/cwd/docs/x": true, "/proc/2/cwd/docs/x": true,
			"/proc/self/root/ROOT/docs/x": true, "/dev/fd/3/docs/x": true, "/dev/stdin": true,
			"../../../../../../../../../proc/self/cwd/docs/x": true, "ROOT/innocent": true, "ROOT/one": true,
			"/proc":        true,
			"ROOT/nowhere": false, "../nowhere": false, "/nowhere/docs": false, "ROOT/docs": false,
			"/dev/null": false,
		} {
			root := tree(t, map[string]string{name: "->" + target, "docs/x/settings.json": "",
				"innocent": "->/proc/self/cwd/docs/x", "one": "->two/x", "two": "->/proc/self/cwd/docs"})
			if _, err := newPlan(Spec{Dir: root}, nil); (err != nil) != refused {
				t.Errorf("%s -> %s: %v", name, target, err)
			} else if _, ok := sysexit.Of(err); refused && !ok {
				t.Errorf("no status: %v", err)
			}
		}
	}
	root := tree(t, map[string]string{"docs": "->/proc/self/cwd"})
	if _, err := newPlan(Spec{Dir: root}, nil); err != nil { // nothing is hidden behind it
		t.Error(err)
	}
}

func TestPlainConfig(t *testing.T) {
	got := string(plainConfig([]byte(`# made by hand
[core]
	repositoryformatversion = 0
	bare = false
	hooksPath = /tmp/evil
	fsmonitor = evil
	sshCommand = evil
	pager = evil \
		more
[extensions]
	worktreeConfig = true
[remote "origin"]
	url = https://bot:token@forge.example/x.git?token=1
	fetch = +refs/heads/*:refs/remotes/origin/*
	pushurl = https://bot:token@forge.example/x.git
[remote "ssh"]
	url = git@forge.example:x.git
[credential]
	helper = store
[http "https://forge.example"]
	extraheader = AUTHORIZATION: basic token
[url "https://token@forge.example/"]
	insteadOf = https://forge.example/
[include]
	path = ~/.secret
[alias]
	x = !evil
[user]
	name = Ana
	signingkey = token
`)))
	for _, want := range []string{"repositoryformatversion = 0", "worktreeConfig",
		"https://forge.example/x.git\n", "fetch = +refs", "name = Ana"} {
		if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, never := range []string{"token", "evil", "helper", "include", "signing"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is in\n%s", never, got)
		}
	}
}

func FuzzPlainConfig(f *testing.F) {
	f.Add("[core]\n\tbare = true\n[credential \"x\"]\nhelper = SECRET\n")
	f.Add("[remote \"a\"]\nurl = https://SECRET@x/y\n")
	f.Add("[core] pager = SECRET\n[c\\\nore]\nx=SECRET")
	f.Fuzz(func(t *testing.T, s string) {
		for line := range strings.SplitSeq(string(plainConfig([]byte(s))), "\n") {
			key, _, found := strings.Cut(strings.TrimSpace(line), "=")
			key = strings.TrimSpace(key)
			if !found || strings.HasPrefix(line, "[") {
				continue
			}
			for _, never := range []string{"helper", "extraheader", "sshcommand", "fsmonitor", "hookspath",
				"pager", "insteadof", "path"} {
				if key == never {
					t.Errorf("%q lets %q through", s, line)
				}
			}
		}
	})
}

package codesearch

import (
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs git in dir, without anybody's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c",
			"core.excludesFile=/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
}

// TestIgnored: ignored files are not searched, tracked ones are, and a rule that is added or removed
// counts at the next question.
func TestIgnored(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	text := "# the zebra limit is 42\n"
	for _, name := range []string{"kept.md", "build/out.md", "build/forced.md", "deep/scratch.md",
		"local.md"} {
		write(t, dir, name, text)
	}
	x := open(t, dir)
	places := func() string {
		var files []string
		for _, p := range search(t, x, "what is the zebra limit?") {
			file, _, _ := strings.Cut(p, ":")
			files = append(files, file)
		}
		slices.Sort(files)
		return strings.Join(files, " ")
	}
	write(t, dir, ".gitignore", "build/\nscratch.*\n")
	if got := places(); got != "build/forced.md build/out.md deep/scratch.md kept.md local.md" {
		t.Errorf("in a folder that is no repository: %s", got)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-f", "build/forced.md")
	write(t, dir, ".git/info/exclude", "local.md\n")
	if got := places(); got != "build/forced.md kept.md" {
		t.Errorf("in a repository: %s", got)
	}
	write(t, dir, "deep/.gitignore", "!scratch.md\n")
	if got := places(); got != "build/forced.md deep/scratch.md kept.md" {
		t.Errorf("where a folder takes a rule back: %s", got)
	}
}

// TestAsGit compares the rules with git's own word on them, in trees and rules at
// random.
func TestAsGit(t *testing.T) {
	needGit(t)
	names := []string{"a", "b", "ab", "a.md", "b.md", "a b", "#a", "!b", "[x]"}
	parts := []string{"a", "b", "*", "**", "?", "a*", "*.md", "[ab]", "[!a]*", `\#a`, `\!b`, "ab",
		"a b", `a\*`}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		for range 25 {
			var p []string
			for range 1 + r.IntN(3) {
				p = append(p, names[r.IntN(len(names))])
			}
			at := filepath.Join(dir, filepath.Join(p...)+".txt")
			if os.MkdirAll(filepath.Dir(at), 0o755) == nil {
				os.WriteFile(at, []byte("x\n"), 0o644)
			}
		}
		var dirs, files []string
		filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
			if d.IsDir() {
				dirs = append(dirs, p)
			} else {
				files = append(files, p)
			}
			return nil
		})
		git(t, dir, "init", "-q")
		for _, d := range dirs {
			if r.IntN(3) > 0 && d != dir {
				continue
			}
			var lines []string
			for range 1 + r.IntN(4) {
				line := []string{"", "", "", "/", "!", "!/"}[r.IntN(6)]
				for i := range 1 + r.IntN(3) {
					if i > 0 {
						line += "/"
					}
					line += parts[r.IntN(len(parts))]
				}
				lines = append(lines, line+[]string{"", "", "/", ".txt", " "}[r.IntN(5)])
			}
			if err := os.WriteFile(filepath.Join(d, ".gitignore"), []byte(strings.Join(lines, "\n")+"\n"),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(2) == 0 {
			git(t, dir, "--literal-pathspecs", "add", "-f", files[r.IntN(len(files))])
		}
		var want []string
		for _, name := range strings.Split(git(t, dir, "ls-files", "-z", "--cached", "--others",
			"--exclude-standard"), "\x00") {
			if strings.HasSuffix(name, ".txt") {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		x := open(t, dir)
		if _, err := x.walk(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(slices.Sorted(maps.Keys(x.known)), func(name string) bool {
			return !strings.HasSuffix(name, ".txt")
		})
		if !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("seed %d: searched %q, git has %q; rules:", seed, got, want)
			for _, d := range dirs {
				if text, err := os.ReadFile(filepath.Join(d, ".gitignore")); err == nil {
					t.Logf("%s: %q", strings.TrimPrefix(d, dir), text)
				}
			}
			return
		}
	}
}

// FuzzTracked: a broken index of git's breaks nothing.
func FuzzTracked(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, index []byte) {
		for _, name := range tracked(index) {
			if name == "" || len(name) > len(index) {
				t.Errorf("name %q", name)
			}
		}
		ignoreRules(index)
	})
}

package git

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// file is a patch of one new file.
func file(name, mode string) string {
	quoted := name
	if strings.ContainsAny(name, "\"\\\n\t\x01\x7f") {
		quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\x01", `\001`, "\x7f",
			`\177`).Replace(name)
		return "diff --git \"a/" + quoted + "\" \"b/" + quoted + "\"\nnew file mode " + mode +
			"\nindex 0000000..257cc56\n--- /dev/null\n+++ \"b/" + quoted + "\"\n@@ -0,0 +1 @@\n+foo\n"
	}
	return "diff --git a/" + name + " b/" + name + "\nnew file mode " + mode +
		"\nindex 0000000..257cc56\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+foo\n"
}

func TestCheckRefuses(t *testing.T) {
	for name, why := range map[string]string{
		"../x": "path with ..", "a/../../x": "path with ..", "a/./b": "path with ..", "a//b": "empty name",
		"/etc/passwd": "absolute", "C:/x": "absolute", "c:x": "absolute",
		"a\\..\\b": "backslash", ".git/config": ".git", ".GIT/config": ".git",
		".Git/hooks/pre-commit": ".git", "a/.git/config": ".git", ".git": ".git",
		".g\u200cit/config": "invisible", ".git\ufeff/x": "invisible",
		"\u202egit.": "invisible", ".git./x": ".git", ".git /x": ".git", ".git . ./x": ".git",
		"git~1/x": ".git", "GIT~1/x": ".git", "git~12/x": ".git", ".git::$INDEX_ALLOCATION/x": ".git",
		".git:x/y":       ".git",
		".agents/runs/x": ".agents", ".AGENTS/x": ".agents", "a\nb": "control", "a\tb": "control",
		"a\x01b": "control", "a\x7fb": "control", "a\u0085b": "control",
		"a\u2028b": "control", "caf\xe9": "UTF-8", "\xf0\x28": "UTF-8", strings.Repeat("n", 256): "too long",
		strings.Repeat("d/", 2100) + "x": "too long",
	} {
		p, err := Check([]byte(file(name, "100644")), Rules{Exec: true})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if len(p.Refused) != 1 || !strings.Contains(p.Refused[0].Reason, why) || p.Err() == nil {
			t.Errorf("%q: %v, want %q", name, p.Refused, why)
		}
	}
	for _, name := range []string{"x", "a/b", ".gitignore", ".github/x", "git/config", "x.git/config",
		".gitx", "git~x", "a..b", "...", "-rf", "--", "$(touch x)", "`x`", "a b", " a", "a ", "ö/日本/🙂",
		"❤️.txt", ".agents.md", "x/.agents/y", "ab:c"} {
		if p, err := Check([]byte(file(name, "100644")), Rules{}); err != nil || p.Err() != nil ||
			p.Changes[0].Path != name {
			t.Errorf("%q: %v, %+v", name, err, p)
		}
	}
}

func TestCheckModes(t *testing.T) {
	change := func(from, to string) string {
		return "diff --git a/x b/x\nold mode " + from + "\nnew mode " + to + "\n"
	}
	for _, tt := range []struct{ patch, refused, note string }{
		{file("x", "100644"), "", ""},
		{file("x", "100755"), "becomes a program", ""},
		{file("x", "120000"), "symbolic link", ""},
		{file("x", "160000"), "submodule", ""},
		{file("x", "040000"), "mode 040000", ""},
		{file("x", "100777"), "mode 100777", ""},
		{file("x", "104755"), "mode 104755", ""},
		{change("100644", "100755"), "becomes a program", ""},
		{change("100755", "100644"), "", "no longer a program"},
		{change("100644", "120000"), "symbolic link", ""},
		{"diff --git a/x b/x\ndeleted file mode 120000\nindex 257cc56..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-foo\n\\ No newline at end of file\n", "symbolic link", ""},
		{"diff --git a/x b/x\nindex 257cc56..257cc57 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-foo\n+bar\n",
			"symbolic link", ""},
		{"diff --git a/x b/x\nindex 257cc56..257cc57 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", "submodule", ""},
		{file("a/.gitattributes", "100644"), "", "how git treats files"},
		{file(".gitmodules", "100644"), "", "submodules"},
		{file("CLAUDE.md", "100644"), "", "instructions of agents"},
		{file(".claude/settings.json", "100644"), "", "run (.claude)"},
		{file(".github/workflows/x.yml", "100644"), "", "build server"},
		{file(".circleci/config.yml", "100644"), "", "build server"},
		{file("ci/Jenkinsfile.release", "100644"), "", "build server"},
		{file(".travis.yml", "100644"), "", "build server"},
		{file(".githooks/pre-push", "100644"), "", "build server"},
		{file("web/package.json", "100644"), "", "to build, test or install (package.json)"},
		{file("Makefile", "100644"), "", "to build, test or install (makefile)"},
		{file("sub/.cargo/config.toml", "100644"), "", "to build, test or install"},
		{file(".envrc", "100644"), "", "to build, test or install"},
		{file(".npmrc", "100644"), "", "to build, test or install"},
		{file("a:b", "100644"), "drive letter", ""},
		{file("x", "100644") + file("x", "100644"), "twice", ""},
		{file("x", "100644") + file("X", "100644"), "", "differs from"},
		{"diff --git a/x b/.git/y\nsimilarity index 100%\nrename from x\nrename to .git/y\n",
			"inside .git", ""},
		{"diff --git a/../x b/y\nsimilarity index 100%\ncopy from ../x\ncopy to y\n", "path with ..", ""},
	} {
		p, err := Check([]byte(tt.patch), Rules{})
		if err != nil {
			t.Errorf("%s%v", tt.patch, err)
			continue
		}
		has := func(all []Finding, want string) bool {
			return want == "" && len(all) == 0 || want != "" && len(all) == 1 &&
				strings.Contains(all[0].Reason, want)
		}
		if !has(p.Refused, tt.refused) || !has(p.Notes, tt.note) {
			t.Errorf("%srefused %v, notes %v", tt.patch, p.Refused, p.Notes)
		}
	}
	if p, err := Check([]byte(file("x", "100755")), Rules{Exec: true}); err != nil || p.Err() != nil ||
		len(p.Notes) != 1 {
		t.Errorf("allowed: %+v, %v", p, err)
	}
}

// TestParseIsStrict: what git would pass over, or read in another way, is not a patch.
func TestParseIsStrict(t *testing.T) {
	good := file("x", "100644")
	for _, bad := range []string{
		"hello\n", "\n", good + "\n", "hello\n" + good, good + "hello\n" + good,
		strings.TrimSuffix(good, "\n"), good + "-- \n2.39.5\n",
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
		strings.Replace(good, "b/x\nnew", "b/y\nnew", 1), strings.Replace(good, "+++ b/x", "+++ b/y", 1),
		strings.Replace(good, "--- /dev/null", "--- a/x", 1),
		strings.Replace(good, "+++ b/x", "+++ x", 1),
		strings.Replace(good, "@@ -0,0 +1 @@", "@@ -0,0 +1,2 @@", 1),
		strings.Replace(good, "@@ -0,0 +1 @@", "@@ -0,0 +0,0 @@", 1),
		strings.Replace(good, "+1 @@", "+9999999999 @@", 1), strings.Replace(good, "+foo", "foo", 1),
		strings.Replace(good, "+foo\n", "+foo\n+bar\n", 1),
		strings.Replace(good, "new file mode 100644", "new file mode 100644\nnew file mode 120000", 1),
		strings.Replace(good, "new file mode 100644\n",
			"new file mode 100644\nrename from y\nrename to x\n", 1),
		strings.Replace(good, "new file mode 100644\n",
			"new file mode 100644\ndeleted file mode 100644\n", 1),
		strings.ReplaceAll(good, "\n", "\r\n"), "diff --git a/x b/x\n",
		"diff --git a/x b/x\nindex 257cc56..257cc57 100644\n",
		"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "diff --git a/x b/x\nGIT binary patch\n",
		"diff --git a/x b/x\nGIT binary patch\nliteral 3\nzab\n\n",
		"diff --git a/x b/x\nGIT binary patch\nliteral 99999999999\n\n",
		"diff --git a/x y b/x\nold mode 100644\nnew mode 100755\n",
		`diff --git "a/x" "b/\400"` + "\nold mode 100644\nnew mode 100755\n",
		`diff --git "a/x b/x` + "\nold mode 100644\nnew mode 100755\n",
		"diff --git a/x b/x\nrename from y\nrename to z\n", "diff --git a/x b/y\nrename from x\ncopy to y\n",
		"diff --cc x\nindex 1,2..3\n",
	} {
		if changes, err := parse([]byte(bad)); err == nil {
			t.Errorf("taken: %+v\n%s", changes, bad)
		}
	}
}

// FuzzParse: no patch makes the parser fail, and whatever it takes git reads as
// the same files with the same counts, or not at all.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"x", "a b", "ö", "q\"\\", "a\tb", "../x", "a b/x"} {
		f.Add([]byte(file(name, "100644")))
	}
	f.Add([]byte("diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 257cc56..257cc57 100644\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git a/x b/x\nindex 257cc56..257cc57 100644\nGIT binary patch\nliteral 3\nKcmZQzU|?VY0ssI20RaF2\n\nliteral 0\nHcmV?d00001\n\n"))
	f.Add([]byte("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"))
	f.Add([]byte("diff --git a/x b/x\ndeleted file mode 100644\nindex 257cc56..0000000\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, patch []byte) {
		p, err := Check(patch, Rules{Exec: true})
		if err != nil || len(p.Changes) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", "apply", "--numstat", "-z")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch)
		theirs, err := cmd.Output()
		if err != nil {
			return // git is the stricter one
		}
		var names []string
		for record := range strings.SplitSeq(strings.TrimSuffix(string(theirs), "\x00"), "\x00") {
			parts := strings.SplitN(record, "\t", 3)
			names = append(names, parts[2])
		}
		if len(names) != len(p.Changes) {
			t.Fatalf("git sees %q, we %+v", theirs, p.Changes)
		}
		for i, c := range p.Changes {
			if names[i] != c.Path {
				t.Fatalf("git sees %q, we %q", names[i], c.Path)
			}
		}
	})
}

package codebase

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// made is a small codebase with everything that must not be seen.
func made(t testing.TB) (*Tree, string) {
	t.Helper()
	dir, outside := t.TempDir(), t.TempDir()
	files := map[string]string{
		"pay/retry.go":     "package pay\n\nconst MaxRetries = 5\n",
		"pay/old/retry.go": "package old\n\nconst MaxRetries = 3\n", "README.md": "retries: see pay\n",
		".env": "MaxRetries=secret", "conf/prod.pem": "MaxRetries", ".git/config": "MaxRetries",
		"sub/.git/hooks/x": "MaxRetries",
		".agents/note.md":  "MaxRetries", "sub/.agents/x": "MaxRetries", "node_modules/x/x.js": "MaxRetries",
		"bin/tool": "MaxRetries\x00",
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, "x"), []byte("MaxRetries"), 0o644),
		os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, "out")),
		os.Symlink(".env", filepath.Join(dir, "inside")),
		os.Symlink(".agents", filepath.Join(dir, "agents")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(dir, []string{".agents"}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree, dir
}

func TestUnseen(t *testing.T) {
	tree, dir := made(t)
	for _, p := range []string{
		".env", ".ENV", "./pay/../.env", ".git/config", ".GIT/config", "sub/.git/hooks/x", ".agents/note.md",
		"agents/note.md", "sub/.agents/x",
		"conf/prod.pem", "out", "inside", "pipe", "..", "../x", "/etc/passwd", dir + "/../x", dir + "/.env",
		dir + "x", "a\x00b", "", "pay", "missing",
	} {
		if text, err := tree.ReadFile(p); err == nil {
			t.Errorf("%q was read: %q", p, text)
		} else if strings.Contains(err.Error(), dir) && !strings.HasPrefix(p, dir) {
			t.Errorf("%q: the error says where the codebase is: %v", p, err)
		}
	}
	for _, p := range []string{"pay/retry.go", "./pay/retry.go", "pay//old/../retry.go",
		dir + "/pay/retry.go"} {
		if text, err := tree.ReadFile(p); err != nil || !strings.Contains(string(text), "= 5") {
			t.Errorf("%q: %q, %v", p, text, err)
		}
	}
}

// What the sandbox hides is hidden here: folders of keys, settings of agents, and settings with a key
// in them, which only who writes sees.
func TestHiddenAsInTheSandbox(t *testing.T) {
	key := "aws_secret_access_key: " + "wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCYq3Zk8Lw2Nd\n"
	dir := t.TempDir()
	files := map[string][2]bool{ // whether it is seen: by a reader, by a writer
		".kube/config": {}, "a/.docker/config.json": {}, ".SSH/known_hosts": {}, ".agents/runs/r/plan.md": {},
		".claude/settings.json": {}, "a/.gemini/x": {}, ".mcp.json": {}, "a/.env": {}, "a/id_rsa": {},
		"deploy/app.yaml": {false, true}, "deploy/server.key": {false, true}, "secrets.yaml": {false, true},
		"secrets.go": {true, true}, ".env.example": {true, true}, "testdata/app.yaml": {true, true},
		"main.go": {true, true}, "plain.yaml": {true, true},
	}
	for name := range files {
		text := "needle\n" + key
		if name == "plain.yaml" {
			text = "needle\n"
		}
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700),
			os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for i, write := range []bool{false, true} {
		tree, err := Open(dir, nil, write)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		found, err := tree.Grep(context.Background(), Query{Pattern: "needle"})
		if err != nil {
			t.Fatal(err)
		}
		for name, seen := range files {
			_, err := tree.ReadFile(name)
			if (err == nil) != seen[i] || slices.Contains(found, name+":1: needle") != seen[i] {
				t.Errorf("write %v: %s: %v; found %q", write, name, err, found)
			}
			if !files[name][1] && tree.WriteFile(name, nil) == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
}

func TestLines(t *testing.T) {
	tree, dir := made(t)
	var long strings.Builder
	for i := range 5000 {
		long.WriteString("line " + strconv.Itoa(i+1) + "\n")
	}
	long.WriteString(strings.Repeat("é", 4000) + "\n\xff\xfe\n")
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(long.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, n     int
		first, last string
	}{
		{0, 0, "1\tline 1", "(the file goes on at line 2001)"},
		{10, 2, "10\tline 10", "(the file goes on at line 12)"},
		{4999, 2, "4999\tline 4999", "(the file goes on at line 5001)"},
		{5002, 9, "5002\t\uFFFD", "5002\t\uFFFD"},
	} {
		text, err := tree.Lines("long.txt", tt.from, tt.n)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if err != nil || lines[0] != tt.first || lines[len(lines)-1] != tt.last {
			t.Errorf("from %d: %.40q … %q, %v", tt.from, lines[0], lines[len(lines)-1], err)
		}
	}
	if text, err := tree.Lines("long.txt", 5001, 1); err != nil || len(text) > maxLine+80 ||
		!strings.Contains(text, "é…\n") {
		t.Errorf("a long line: %d bytes, %v", len(text), err)
	}
	for _, p := range []string{"bin/tool", "missing", "pay"} {
		if _, err := tree.Lines(p, 1, 1); err == nil {
			t.Errorf("%s was read", p)
		}
	}
	if _, err := tree.Lines("README.md", 9, 1); err == nil || !strings.Contains(err.Error(), "only 1 lines") {
		t.Errorf("behind the end: %v", err)
	}
}

func TestFind(t *testing.T) {
	tree, _ := made(t)
	ctx := context.Background()
	for _, tt := range []struct{ pattern, from, want string }{
		{"*.go", "", "pay/old/retry.go pay/retry.go"},
		{"pay/*.go", "", "pay/retry.go"},
		{"**/retry.go", "", "pay/old/retry.go pay/retry.go"},
		{"pay/**", "", "pay/old/retry.go pay/retry.go"},
		{"**/**/old/*", "", "pay/old/retry.go"},
		{"*.go", "pay/old", "pay/old/retry.go"},
		{"old/*.go", "pay", "pay/old/retry.go"},
		{"*", "", "README.md bin/tool pay/old/retry.go pay/retry.go pipe"},
		{"x.js", "", ""},
		{"x.js", "node_modules", "node_modules/x/x.js"},
	} {
		got, err := tree.Glob(ctx, tt.pattern, tt.from)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%q below %q: %q, %v; want %q", tt.pattern, tt.from, got, err, tt.want)
		}
	}
	if got, err := tree.List("."); err != nil ||
		strings.Join(got, " ") != "README.md bin/ conf/ node_modules/ pay/ pipe sub/" {
		t.Errorf("list %q, %v", got, err)
	}
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{Pattern: "MaxRetries = [0-9]"},
			"pay/old/retry.go:3: const MaxRetries = 3|pay/retry.go:3: const MaxRetries = 5"},
		{Query{Pattern: "maxretries"}, ""},
		{Query{Pattern: "maxretries", IgnoreCase: true, Path: "pay/old"},
			"pay/old/retry.go:3: const MaxRetries = 3"},
		{Query{Pattern: "MaxRetries", Path: "pay/retry.go"}, "pay/retry.go:3: const MaxRetries = 5"},
		{Query{Pattern: "retries", Glob: "*.md"}, "README.md:1: retries: see pay"},
	} {
		got, err := tree.Grep(ctx, tt.q)
		if err != nil || strings.Join(got, "|") != tt.want {
			t.Errorf("%+v: %q, %v", tt.q, got, err)
		}
	}
	for _, q := range []Query{{Pattern: "("}, {Pattern: "a", Glob: "["}, {Pattern: "a", Path: ".git"},
		{Pattern: "a", Path: "none"}, {Pattern: "a", Glob: "**/a/**/b/**/c/**/d/**/e"}} {
		if got, err := tree.Grep(ctx, q); err == nil {
			t.Errorf("%+v: %q", q, got)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tree.Grep(ended, Query{Pattern: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a search whose time was up: %v", err)
	}
}

func TestSearchesEnd(t *testing.T) {
	tree, dir := made(t)
	if err := os.WriteFile(filepath.Join(dir, "many.txt"), []byte(strings.Repeat("needle\n", 10_000)),
		0o644); err != nil {
		t.Fatal(err)
	}
	got, err := tree.Grep(context.Background(), Query{Pattern: "needle"})
	if err != nil || len(got) != maxMatches+1 || !strings.Contains(got[maxMatches], "more") {
		t.Errorf("%d lines, %v", len(got), err)
	}
	if names := cut(make([]string, 5000)); len(names) != maxNames+1 || names[maxNames] != "(and 4000 more)" {
		t.Errorf("%d names", len(names))
	}
}

func TestWrite(t *testing.T) {
	tree, dir := made(t)
	linked := filepath.Join(t.TempDir(), "linked")
	if err := errors.Join(os.Link(filepath.Join(dir, "README.md"), linked),
		os.Chmod(filepath.Join(dir, "pay/retry.go"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"README.md", "pay/retry.go", "new/deep/file.txt"} {
		if err := tree.WriteFile(p, []byte("new")); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", p, text, err)
		}
	}
	if text, err := os.ReadFile(linked); err != nil || string(text) == "new" {
		t.Errorf("a hard link elsewhere was written through: %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "pay/retry.go")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, p := range []string{".git/hooks/pre-commit", "sub/.git/x", ".env", "out", "inside", "agents/x",
		"../x", "/etc/x", "pay", "pipe", "README.md/x"} {
		if err := tree.WriteFile(p, []byte("new")); err == nil {
			t.Errorf("%s was written", p)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*/.tri-*"))
	more, _ := filepath.Glob(filepath.Join(dir, ".tri-*"))
	if err != nil || len(left)+len(more) > 0 {
		t.Errorf("left behind: %q %q, %v", left, more, err)
	}
}

// Whatever a path looks like, it names something below the folder that may be seen.
func FuzzName(f *testing.F) {
	tree, dir := made(f)
	for _, p := range []string{".", "pay/retry.go", "../x", ".git/x", dir + "/pay", "//etc", "a/../../b",
		".Env", "x\x00", "agents/note.md"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		name, err := tree.Name(p)
		if err != nil {
			return
		}
		parts := strings.Split(strings.ToLower(name), "/")
		if !filepath.IsLocal(name) || name != filepath.Clean(name) || slices.Contains(parts, ".git") ||
			slices.Contains(parts, ".agents") || slices.Contains(parts, ".env") {
			t.Errorf("%q became %q", p, name)
		}
	})
}

// A pattern of many stars must not take for ever.
func FuzzMatcher(f *testing.F) {
	f.Add("**/a/**/a/**/a/**/b", strings.Repeat("a/", 40)+"a")
	f.Add("*a*a*a*a*b", strings.Repeat("a", 60))
	f.Add("[a-z]*/?", "ab/c")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(name) > 300 || len(pattern) > 300 {
			return
		}
		if match, err := matcher(pattern); err == nil {
			match(name)
		}
	})
}

package cmd_test

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// floors are the folders of lib from the ground up (ARCHITECTURE.md, The rooms). A
// package may import its own floor, with the exceptions of beside, and those below
// it. chat and agent share a height: neither may import the other.
var floors = map[string]int{"base": 1, "record": 2, "judge": 3, "chat": 4, "agent": 4, "flow": 5, "report": 6}

// top is the height of programs.
const top = 7

// floor returns the floor of a package of this module and its height; -1 if the package is on none.
func floor(pkg string) (name string, height int) {
	rel := strings.TrimPrefix(pkg, "tri/")
	if rel, ok := strings.CutPrefix(rel, "lib/"); ok {
		name, _, _ = strings.Cut(rel, "/")
		if height, ok := floors[name]; ok {
			return name, height
		}
		return name, -1
	}
	switch name, _, _ = strings.Cut(rel, "/"); name {
	case "schemas", "examples":
		return name, 0
	case "cmd":
		return name, top
	}
	return name, -1
}

// TestLayers checks that imports point down; the path of a package determines its floor.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Fields(line)
		imports[f[0]] = f[1:]
	}
	for pkg, imps := range imports {
		from, height := floor(pkg)
		if height < 0 {
			t.Errorf("%s lies on no floor", pkg)
		}
		for _, imp := range imps {
			if !strings.HasPrefix(imp, "tri/") {
				continue
			}
			to, below := floor(imp)
			aside := below == height && from != to
			if below > height || aside || from == to && !beside(from, pkg, imp) {
				t.Errorf("%s must not import %s", pkg, imp)
			}
		}
	}
	checkOwners(t, imports)
}

// shared are the packages that their own floor may import: the common parts of adapters, and the
// packages by which reports read a home.
var shared = map[string][]string{
	"chat": {"tri/lib/chat", "tri/lib/chat/session", "tri/lib/chat/sink", "tri/lib/chat/cache",
		"tri/lib/chat/webhook",
		"tri/lib/chat/emoji"},
	"agent": {"tri/lib/agent", "tri/lib/agent/proc", "tri/lib/agent/program", "tri/lib/agent/rpc",
		"tri/lib/agent/toolserver"},
	"report": {"tri/lib/report/history", "tri/lib/report/plot"},
}

// beside reports whether pkg may import imp, which is on the same floor. Base, record and judge are
// libraries, whose packages may import each other. Adapters, flow and reports may not: exceptions
// are the lists of adapters, tests, and packages inside or around a package.
func beside(floor, pkg, imp string) bool {
	switch {
	case floor == "base", floor == "record", floor == "judge", floor == "cmd":
		return true
	case strings.HasPrefix(imp, pkg+"/"), strings.HasPrefix(pkg, imp+"/") && strings.Count(imp, "/") > 2:
		return true
	case slices.Contains(shared[floor], imp), strings.HasSuffix(imp, "test"), strings.HasSuffix(pkg, "test"):
		return true
	case strings.HasPrefix(imp, "tri/lib/chat/chattest/"):
		return true
	}
	return pkg == "tri/lib/agent/all" || pkg == "tri/lib/chat/sources" || pkg == "tri/lib/chat/sinks"
}

// checkOwners checks that restricted imports are used only by their owner.
func checkOwners(t *testing.T, imports map[string][]string) {
	for pkg, imps := range imports {
		for _, imp := range imps {
			if (imp == "flag" || imp == "os/signal" || strings.HasPrefix(imp, "github.com/urfave")) &&
				pkg != "tri/lib/base/cli" {
				t.Errorf("%s imports %s: that is lib/base/cli's", pkg, imp)
			}
			if (imp == "tri/lib/base/broker" || imp == "tri/lib/flow/worker") && pkg != "tri/cmd/tri-nats" &&
				pkg != "tri/lib/flow/worker" && imp+"/brokertest" != pkg ||
				strings.HasPrefix(imp, "github.com/nats-io") && pkg != "tri/lib/base/broker" {
				t.Errorf("%s imports %s: only tri-nats connects to NATS", pkg, imp)
			}
			if (imp == "tri/lib/flow/reply" || imp == "tri/lib/chat/sinks") && pkg != "tri/cmd/tri-reply" {
				t.Errorf("%s imports %s: only tri-reply posts", pkg, imp)
			}
		}
	}
}

// TestOnlyReplyPosts: no program but tri-reply contains code that can post: the linker leaves out
// the methods of a sink that is never constructed.
func TestOnlyReplyPosts(t *testing.T) {
	reply, err := exec.LookPath("tri-reply")
	if err != nil {
		t.Fatal(err)
	}
	post := regexp.MustCompile(`tri/lib/chat/\w+\.\(\*Sink\)\.(Post|React|Typing|Edit|PostCard|UpdateCard)\b`)
	programs, err := filepath.Glob(filepath.Join(filepath.Dir(reply), "tri*"))
	if err != nil || len(programs) < 10 {
		t.Fatal(programs, err)
	}
	for _, program := range programs {
		code, err := os.ReadFile(program) // its table of functions names each, also without symbols
		if err != nil {
			t.Fatal(err)
		}
		posts, name := post.Find(code), filepath.Base(program)
		if (posts != nil) != (name == "tri-reply") {
			t.Errorf("%s holds %q: only tri-reply posts, and it does", name, posts)
		}
	}
}

var exits = regexp.MustCompile(`\bos\.Exit\(|\blog\.Fatal|\bfmt\.Print(ln|f)?\(|\bos\.(Stdout|Stderr|Args)\b`)

// TestOnlyCliTalks: no other package exits, prints errors or reads the command line.
func TestOnlyCliTalks(t *testing.T) {
	var files []string
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		found, err := filepath.Glob("../lib/" + depth + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "../lib/base/cli/") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if code, _, _ := strings.Cut(line, "//"); exits.MatchString(code) {
				t.Errorf("%s:%d: %s: that is lib/base/cli's", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// TestMainsAreThin checks that each program is one short file.
func TestMainsAreThin(t *testing.T) {
	for _, dir := range programs(t) {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) != 1 {
			t.Errorf("%s has %d files, want one (%v)", dir, len(files), err)
			continue
		}
		src, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(src), "\n"); n > 140 {
			t.Errorf("%s is %d lines long; move what it knows into lib", files[0], n)
		}
		if !regexp.MustCompile(`(?m)^func main\(\) \{ cli\.Main\(.*\) \}$`).Match(src) {
			t.Errorf("%s: main must be one line: func main() { cli.Main(…) }", files[0])
		}
	}
}

func programs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("tri*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no programs", err)
	}
	return slices.DeleteFunc(dirs, func(d string) bool {
		info, err := os.Stat(d)
		return err != nil || !info.IsDir()
	})
}

// TestWidth: no line of Go is wider than 110 columns, a tab taken as 4. String literals are not
// counted, nor tables, records and addresses in comments.
func TestWidth(t *testing.T) {
	free := regexp.MustCompile(`^\s*//(\t| \{|go:|.*https?://)`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(withoutLiterals(src), "\n") {
			width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if width > 110 && !free.MatchString(line) {
				t.Errorf("%s:%d: %d columns", path, i+1, width)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withoutLiterals returns source code without the text of its string literals.
func withoutLiterals(src []byte) string {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	code := slices.Clone(src)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return strings.ReplaceAll(string(code), "\x00", "")
		}
		for i := range len(text) {
			if at := file.Offset(pos) + i; tok == token.STRING && code[at] != '\n' {
				code[at] = 0
			}
		}
	}
}

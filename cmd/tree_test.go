package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// levels are the rooms from the top down (design, Rooms). A package may import
// only what stands below it.
var levels = []struct {
	name     string
	packages []string
}{
	{"program", []string{"tri/cmd/", "tri/scripts/"}},
	{"frame", []string{"tri/lib/base/cli"}},
	{"face", []string{"tri/lib/flow/approve/tui", "tri/lib/flow/approve/web", "tri/lib/flow/approve/card"}},
	{"work", []string{"tri/lib/judge/classify", "tri/lib/judge/conversation", "tri/lib/flow/dispatch", "tri/lib/flow/longrun", "tri/lib/flow/investigate", "tri/lib/flow/validate", "tri/lib/flow/approve",
		"tri/lib/report", "tri/lib/report/fsck", "tri/lib/report/sample", "tri/lib/flow/watch", "tri/lib/flow/reply", "tri/lib/report/health", "tri/lib/report/faults", "tri/lib/flow/setup", "tri/lib/flow/demo", "tri/lib/flow/box", "tri/lib/base/subcommand", "tri/lib/flow/supervise", "tri/lib/report/backup"}},
	{"supervisor", []string{"tri/lib/agent/supervise"}},
	{"adapter list", []string{"tri/lib/agent/all", "tri/lib/chat/sources", "tri/lib/chat/sinks"}},
	{"adapter", []string{"tri/lib/agent/", "tri/lib/chat/", "tri/lib/base/forge"}},
	{"port", []string{"tri/lib/agent", "tri/lib/chat"}},
	{"noun", []string{"tri/lib/base/stats", "tri/lib/judge/autoreply", "tri/lib/report/history", "tri/lib/record/event", "tri/lib/record/thread", "tri/lib/judge/evidence", "tri/lib/record/draft", "tri/lib/record/verdict",
		"tri/lib/record/decision", "tri/lib/record/outbox", "tri/lib/record/run", "tri/lib/base/git", "tri/lib/record/budget", "tri/lib/judge/questiontype", "tri/lib/judge/codebase", "tri/lib/record/notify"}},
	{"base", []string{"tri/lib/base/lazyregexp", "tri/lib/base/ndjson", "tri/lib/base/stream", "tri/lib/base/durable", "tri/lib/base/config", "tri/lib/base/query",
		"tri/lib/base/prompt", "tri/lib/judge/codesearch", "tri/lib/base/sandbox", "tri/lib/report/plot", "tri/lib/base/shape", "tri/lib/base/term", "tri/lib/base/sysexit", "tri/schemas", "tri/examples"}},
}

func level(pkg string) int {
	for i, l := range levels {
		for _, p := range l.packages {
			if pkg == strings.TrimSuffix(p, "/") && !strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(pkg, p) || strings.HasPrefix(pkg, p+"/") {
				return i
			}
		}
	}
	return -1
}

// TestLayers keeps the imports pointing down, and prints the offending chain.
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
		if level(pkg) < 0 && pkg != "tri/cmd" {
			t.Errorf("%s stands in no room: name it in levels", pkg)
		}
		for _, imp := range imps {
			if !strings.HasPrefix(imp, "tri/") {
				continue
			}
			from, to := levels[max(level(pkg), 0)].name, levels[max(level(imp), 0)].name
			up := level(imp) < level(pkg)
			work := from == "work" && to == "work" && imp != pkg
			aside := from == "adapter" && to == "adapter" && !sharedBelow(pkg, imp)
			if up || work || aside {
				t.Errorf("%s (%s) must not import %s (%s)", pkg, from, imp, to)
			}
		}
	}
	checkOwners(t, imports)
}

// sharedBelow allows an adapter what belongs to itself and what the agents share.
func sharedBelow(pkg, imp string) bool {
	return strings.HasPrefix(imp, pkg+"/") || strings.HasPrefix(pkg, imp+"/") ||
		imp == "tri/lib/agent/proc" || imp == "tri/lib/agent/program" || imp == "tri/lib/agent/toolserver" || imp == "tri/lib/base/httpapi" || imp == "tri/lib/chat/webhook" || imp == "tri/lib/chat/session" || imp == "tri/lib/chat/emoji" || strings.HasPrefix(imp, "tri/lib/chat/chattest/") || strings.HasSuffix(imp, "test") || strings.HasSuffix(pkg, "test")
}

// checkOwners keeps what only one room may do in that room.
func checkOwners(t *testing.T, imports map[string][]string) {
	for pkg, imps := range imports {
		for _, imp := range imps {
			if (imp == "flag" || imp == "os/signal" || strings.HasPrefix(imp, "github.com/urfave")) && pkg != "tri/lib/base/cli" && !strings.HasPrefix(pkg, "tri/scripts") {
				t.Errorf("%s imports %s: that is lib/base/cli's", pkg, imp)
			}
			if (imp == "tri/lib/flow/reply" || imp == "tri/lib/chat/sinks") && pkg != "tri/cmd/tri-reply" {
				t.Errorf("%s imports %s: only tri-reply posts", pkg, imp)
			}
		}
	}
}

// TestOnlyReplyPosts: no program but tri-reply holds code that can post: the
// linker leaves out the methods of a sink that nobody makes.
func TestOnlyReplyPosts(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	post := regexp.MustCompile(`tri/lib/chat/\w+\.\(\*Sink\)\.(Post|React|Typing|Edit|Deal|Redeal)\b`)
	programs, err := filepath.Glob(filepath.Join(dir, "tri*"))
	if err != nil || len(programs) < 10 {
		t.Fatal(programs, err)
	}
	for _, program := range programs {
		symbols, err := exec.Command("go", "tool", "nm", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		posts, name := post.Find(symbols), filepath.Base(program)
		if (posts != nil) != (name == "tri-reply") {
			t.Errorf("%s holds %q: only tri-reply posts, and it does", name, posts)
		}
	}
}

var exits = regexp.MustCompile(`\bos\.Exit\(|\blog\.Fatal|\bfmt\.Print(ln|f)?\(|\bos\.(Stdout|Stderr|Args)\b`)

// TestOnlyCliTalks: nothing else exits, prints errors or reads the command line.
func TestOnlyCliTalks(t *testing.T) {
	files, err := filepath.Glob("../lib/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../lib/*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, deeper...) {
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

// TestMainsAreThin keeps each program one file that reads at a glance.
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
		if n := strings.Count(string(src), "\n"); n > 100 {
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

package cmd_test

import (
	"bytes"
	"fmt"
	"go/doc"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// floorNames are the folders of lib from the top down, each with what it may import.
var floorNames = [][2]string{
	{"report", "reads a home and writes nothing"},
	{"flow", "moves records: one room for each stage"},
	{"agent", "the port to agent programs, and their adapters"},
	{"chat", "the port to chat platforms, and their adapters"},
	{"judge", "text and code in, an opinion with reasons out; does no I/O but reading code"},
	{"record", "the lines of every log: type, schema, fold"},
	{"base", "knows no chat"},
}

// TestRooms keeps lib/README.md equal to the package comments; -update rewrites it.
func TestRooms(t *testing.T) {
	format := `{{.ImportPath}}{{"\t"}}{{.Name}}{{"\t"}}{{.Doc}}`
	out, err := exec.Command("go", "list", "-f", format, "../lib/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	floors := map[string]*strings.Builder{}
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		path := strings.TrimPrefix(f[0], "tri/lib/")
		floor, _, _ := strings.Cut(path, "/")
		if floors[floor] == nil {
			floors[floor] = &strings.Builder{}
		}
		sentence := new(doc.Package).Synopsis(f[2])
		about, ok := strings.CutPrefix(sentence, "Package "+f[1]+" ")
		if !ok {
			t.Errorf("%s: the comment must begin with %q and say what the package offers", f[0],
				"Package "+f[1])
		}
		fmt.Fprintf(floors[floor], "| [%s](%s) | %s |\n", path, path, strings.ReplaceAll(about, "|", `\|`))
	}
	var want bytes.Buffer
	want.WriteString("# The packages, from the top floor down\n\n" +
		"Imports point down. Made from the package comments by `go test ./cmd -run TestRooms -update`.\n")
	for _, floor := range floorNames {
		if floors[floor[0]] == nil {
			t.Errorf("there is no lib/%s", floor[0])
			continue
		}
		fmt.Fprintf(&want, "\n## %s: %s\n\n| package | |\n|---|---|\n%s", floor[0], floor[1],
			floors[floor[0]])
	}
	const file = "../lib/README.md"
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("lib/README.md is not what the package comments say: go test ./cmd -run TestRooms -update (%v)", err)
	}
}

var (
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	pathLike = regexp.MustCompile(`^(lib|cmd|scripts|schemas|man|examples|presence|\.ci)(/[\w.*{},-]+)*$`)
	testName = regexp.MustCompile(`\b(Test|Fuzz|Example)[A-Z]\w+`)
)

// TestDocumentsNameWhatIsThere: every path and every test named in a document for developers
// exists.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	tests := declaredTests(t)
	for file, most := range map[string]int{"ARCHITECTURE.md": 150, "CONTRIBUTING.md": 80, "README.md": 150} {
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s: %d lines, at most %d", file, n, most)
		}
		paths := 0
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			name, _, _ := strings.Cut(m[1], " ")
			if !pathLike.MatchString(name) {
				continue
			}
			for _, path := range braces(name) {
				paths++
				if found, err := filepath.Glob("../" + path); err != nil || len(found) == 0 {
					t.Errorf("%s names %s: there is no such path", file, path)
				}
			}
		}
		for _, name := range testName.FindAllString(string(text), -1) {
			if !tests[name] {
				t.Errorf("%s names %s: there is no such test", file, name)
			}
		}
		if paths == 0 {
			t.Errorf("%s: no path was looked at", file)
		}
	}
}

// braces expands a/{b,c} into a/b and a/c.
func braces(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{name}
	}
	var all []string
	for part := range strings.SplitSeq(inner, ",") {
		all = append(all, braces(before+part+after)...)
	}
	return all
}

// declaredTests returns the names of all tests, fuzz targets and examples.
func declaredTests(t *testing.T) map[string]bool {
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w+)`)
	tests := map[string]bool{}
	for _, root := range []string{".", "../lib", "../schemas", "../scripts", "../presence"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(src, -1) {
				tests[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tests
}

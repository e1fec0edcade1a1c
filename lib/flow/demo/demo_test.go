package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tri/examples"
	"tri/lib/agent"
	"tri/lib/agent/search"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

func showing(t *testing.T) *demo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo")
	return &demo{Options: Options{Dir: dir, Codebase: t.TempDir(), Out: io.Discard, Err: io.Discard}}
}

// TestQuote: the command shown is the command that a shell would run.
func TestQuote(t *testing.T) {
	for _, arg := range []string{"", "plain-1.go:3", "two words", "it's", `a"b\c`, "$(touch x)", "`x`",
		"a\nb", "*", "~", "#", "日本", "-n"} {
		out, err := exec.Command("bash", "-c", "printf '%s' "+"x"+text.Quote(arg)).Output()
		if err != nil || string(out) != "x"+arg {
			t.Errorf("%q is shown as %s, which is %q to a shell (%v)", arg, text.Quote(arg), out, err)
		}
	}
}

// TestClear: an earlier demo is made anew; anything else is not touched.
func TestClear(t *testing.T) {
	d := showing(t)
	for range 2 {
		if err := d.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.path("old"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.path("old")); err == nil {
		t.Error("an earlier demo's file is still there")
	}
	for _, foreign := range []string{"thesis.txt", "CACHEDIR.TAG"} {
		d := showing(t)
		if err := os.MkdirAll(d.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.path(foreign), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := d.prepare()
		if status, _ := sysexit.Of(err); status != sysexit.Usage {
			t.Errorf("a folder with %s: %v", foreign, err)
		}
		if text, err := os.ReadFile(d.path(foreign)); string(text) != "mine" {
			t.Errorf("%s is gone: %v", foreign, err)
		}
		if entries, _ := os.ReadDir(d.Dir); len(entries) != 1 {
			t.Errorf("the folder with %s now has %v", foreign, entries)
		}
	}
}

// TestPipe runs pipelines of programs that every system has.
func TestPipe(t *testing.T) {
	d := showing(t)
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	p := pipe{steps: [][]string{{"printf", "b\na\nc\n"}, {"sort"}, {"tr", "a-z", "A-Z"}, {"tail", "-n", "2"}}}
	out, err := d.run(t.Context(), p)
	if string(out) != "B\nC\n" || err != nil {
		t.Errorf("printed %q, %v", out, err)
	}
	p.into = d.path("out")
	if _, err := d.run(t.Context(), p); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(p.into); string(text) != "B\nC\n" {
		t.Errorf("wrote %q, %v", text, err)
	}
	fails := pipe{steps: [][]string{{"bash", "-c", "echo because >&2; exit 7"}, {"cat"}}}
	if _, err := d.run(t.Context(), fails); err == nil || !strings.Contains(err.Error(), "because") {
		t.Errorf("a failing step: %v", err)
	}
	fails.ok = []int{7}
	if _, err := d.run(t.Context(), fails); err != nil {
		t.Errorf("a status that is an answer: %v", err)
	}
	_, err = d.run(t.Context(), pipe{steps: [][]string{{"cat"}, {"no-such-program"}}})
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable || len(sysexit.Hints(err)) == 0 {
		t.Errorf("a program that is not there: %v", err)
	}
	d.Bin = t.TempDir()
	if _, err := d.run(t.Context(), p); err == nil {
		t.Error("a program was taken from PATH though Bin names another folder")
	}
}

// TestOwnHome: nothing of the caller's settings reaches the programs.
func TestOwnHome(t *testing.T) {
	t.Setenv("TRI_HOME", "/someone/elses")
	t.Setenv("TRI_USER", "someone")
	d := showing(t)
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	out, err := d.quiet(t.Context(), pipe{steps: [][]string{{"env"}}})
	if err != nil || bytes.Contains(out, []byte("someone")) ||
		!bytes.Contains(out, []byte("TRI_USER=operator\n")) ||
		!bytes.Contains(out, []byte("TRI_HOME="+d.home+"\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPaint(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		no       string
		want     string
	}{{false, "", "x"}, {true, "", "\x1b[31mx\x1b[0m"}, {true, "1", "x"}} {
		t.Setenv("NO_COLOR", c.no)
		d := &demo{Options: Options{Terminal: c.terminal}}
		if got := d.paint(red, "x"); got != c.want {
			t.Errorf("terminal %v, NO_COLOR %q: %q", c.terminal, c.no, got)
		}
	}
	var out bytes.Buffer
	d := &demo{Options: Options{Out: &out}}
	d.block(faint, "a\x1b[2Jb\u202ec")
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("shown raw: %q", out.String())
	}
}

// TestQuestions: each question of the room is answered from the file of this repository that has the
// answer.
func TestQuestions(t *testing.T) {
	answers := map[string]string{
		"torn tail":      "lib/base/durable/log.go",
		"exit status":    "lib/base/sysexit/sysexit.go",
		"Key made safe":  "lib/record/event/key.go",
		"Fence":          "lib/base/prompt/fence.go",
		"MaxDraftWords":  "lib/record/draft/return.go",
		"investigations": "lib/base/config/config.go",
	}
	text, err := examples.Files.ReadFile("demo/dev.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	said, err := decode[message]("dev.ndjson", text)
	if err != nil {
		t.Fatal(err)
	}
	client := search.New()
	asked := 0
	for words, path := range answers {
		for _, m := range said {
			if !strings.Contains(m.Text, words) {
				continue
			}
			asked++
			res, err := client.Run(context.Background(), agent.Task{Question: m.Text, Codebase: "../../.."})
			if err != nil {
				t.Errorf("%q: %v", m.Text, err)
				continue
			}
			var ret draft.Return
			if err := json.Unmarshal(res.Value, &ret); err != nil {
				t.Fatal(err)
			}
			if len(ret.EvidenceRefs) == 0 || !strings.HasPrefix(ret.EvidenceRefs[0].Ref, path) {
				t.Errorf("%q: %s is not the first of %v", m.Text, path, ret.EvidenceRefs)
			}
		}
	}
	if asked != questions {
		t.Errorf("%d questions, want %d", asked, questions)
	}
}

// TestPlant: the lie is in the planted return only.
func TestPlant(t *testing.T) {
	good := &draft.Return{EvidenceRefs: []draft.Ref{{Ref: "a.go:1", Quote: "package a",
		Receipt: &draft.Receipt{}}}}
	bad := plant(good)
	if good.EvidenceRefs[0].Quote != "package a" || good.EvidenceRefs[0].Receipt == nil {
		t.Error("the good return was changed")
	}
	if bad.EvidenceRefs[0].Quote == "package a" || bad.EvidenceRefs[0].Ref != "a.go:1" {
		t.Errorf("planted %+v", bad.EvidenceRefs[0])
	}
}

// TestCommand: a shown command fits, and can be copied: it breaks after a bar or a backslash, not in quotes.
func TestCommand(t *testing.T) {
	long := strings.Repeat("x", 40)
	for line, want := range map[string]string{
		"tri-a b": "  $ tri-a b\n",
		"tri-a " + long + " | tri-b " + long + " >f":     "  $ tri-a " + long + " |\n        tri-b " + long + " >f\n",
		"tri-a --codebase . " + long + " >" + long:       "  $ tri-a --codebase . " + long + " \\\n        >" + long + "\n",
		"tri-a '" + long + " " + long + "' c":            "  $ tri-a \\\n        '" + long + " " + long + "' \\\n        c\n",
		"a " + long + " | b " + long + " " + long + " c": "  $ a " + long + " |\n        b " + long + " \\\n        " + long + " c\n",
	} {
		var out bytes.Buffer
		(&demo{Options: Options{Out: &out}}).command(line)
		if out.String() != want {
			t.Errorf("%s\ngot\n%swant\n%s", line, out.String(), want)
		}
	}
}

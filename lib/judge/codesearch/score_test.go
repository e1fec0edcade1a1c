package codesearch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestShorts: an abbreviation matches the full words, with any ending; no word is replaced by one that is
// itself replaced.
func TestShorts(t *testing.T) {
	word := func(text string) string {
		var out []string
		new(lexer).words([]byte(text), func(w []byte, _ bool) { out = append(out, string(w)) })
		return strings.Join(out, " ")
	}
	for _, tt := range [][2]string{
		{"param", "parameters"}, {"async", "asynchronous"}, {"db", "databases"}, {"conn", "connections"},
		{"cmd", "commands"},
		{"auth", "authentication"}, {"cert", "certificates"}, {"msg", "message"}, {"len", "length"},
		{"init", "initialized"},
	} {
		if got, want := word(tt[1]), word(tt[0]); got != want {
			t.Errorf("%s is %q, %s is %q", tt[1], got, tt[0], want)
		}
	}
	for _, tt := range [][2]string{{"mode", "module"}, {"state", "statistics"}} {
		if word(tt[0]) == word(tt[1]) {
			t.Errorf("%s and %s are both %q", tt[0], tt[1], word(tt[0]))
		}
	}
	for long, short := range same {
		if other := same[string(short)]; other != nil {
			t.Errorf("%s stands for %s, and that for %s", long, short, other)
		}
	}
}

// TestCalled: where the words of a question are all of a name, that comes before a
// longer name that has them too, of a declaration as of a file; a file that stands
// for its folder has the folder's name.
func TestCalled(t *testing.T) {
	body := "\n    \"\"\"%s of a shell word.\"\"\"\n    return text\n\n\n"
	filler := strings.Repeat("def other(a):\n    return a\n\n\n", 40)
	for _, tt := range []struct {
		question, want, rival string
		wanted, other         string // their declarations
	}{
		{"how do I quote a shell word?", "zz.py", "aa.py", "def quote(text):",
			"def split_quote_fields(text):"},
		{"how do I quote a shell word?", "quote.py", "aquoted_fields_of_more.py", "def f(text):",
			"def f(text):"},
		{"how do I quote a shell word?", "quote/__init__.py", "aquote_field/fields.py", "def f(text):",
			"def f(text):"},
	} {
		dir := t.TempDir()
		write(t, dir, tt.want, tt.wanted+strings.ReplaceAll(body, "%s", "Quote")+filler)
		write(t, dir, tt.rival, tt.other+strings.ReplaceAll(body, "%s", "Quote")+filler)
		got := search(t, open(t, dir), tt.question)
		if len(got) < 2 || !strings.HasPrefix(got[0], tt.want+":") ||
			!slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, tt.rival+":") }) {
			t.Errorf("%s before %s: %v", tt.want, tt.rival, got)
		}
	}
}

// TestDeclaredName: only the name, whatever precedes and follows it.
func TestDeclaredName(t *testing.T) {
	for _, tt := range []struct{ file, line, want string }{
		{"a.go", "func (c *Conn) readFrame(ctx context.Context) error {", "readFrame"},
		{"a.go", "func Map[K comparable](m map[K]int) {", "Map"},
		{"a.go", "type Reader struct {", "Reader"},
		{"a.go", "var debug = func() bool {", "debug"},
		{"a.go", "const (", ""},
		{"a.py", "    async def wait_for(fut, timeout):", "wait_for"},
		{"a.py", "class Pool(Base):", "Pool"},
		{"a.c", "static int read_frame(struct conn *c) {", "read_frame"},
		{"a.rs", "pub fn read_frame(&self) -> Frame {", "read_frame"},
		{"a.md", "## Key values", "## Key values"},
		{"a.go", "func (", ""},
	} {
		if got := languageOf(tt.file).called([]byte(tt.line)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestSpread: of two files that answer nearly as well, the second comes before the
// further places of the first.
func TestSpread(t *testing.T) {
	dir := t.TempDir()
	gap := strings.Repeat("\nvar other = struct{ a, b int }{1, 2}\n", 30)
	write(t, dir, "a.go", "package a\n\n// flux starts the capacitor.\nfunc one() { flux(capacitor) }\n"+gap+
		"\n// flux stops the capacitor.\nfunc two() { flux(capacitor) }\n")
	write(t, dir, "b.go",
		"package a\n\n// flux is what a capacitor has, and no more.\nfunc three() { flux(capacitor) }\n")
	got := search(t, open(t, dir), "flux capacitor?")
	if len(got) != 3 || !strings.HasPrefix(got[1], "b.go:") {
		t.Errorf("found %v", got)
	}
}

// TestProse: of two equally rare words, one found only in comments has less weight.
func TestProse(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n\nfunc f() { grommet() }\n\n// A zebra is meant.\nfunc g() { h() }\n")
	x := open(t, dir)
	search(t, x, "grommet")
	q := x.query("zebra or grommet?")
	weights := map[string]float64{}
	for _, w := range q.wants {
		weights[w.options[0].word] = w.weight
	}
	if zebra, grommet := weights["zebra"], weights["grommet"]; zebra >= 0.9*grommet || zebra <= 0.5*grommet {
		t.Errorf("zebra weighs %v, grommet %v", zebra, grommet)
	}
}

// TestCallers: who asks who calls a function is shown a call before the declaration.
func TestCallers(t *testing.T) {
	x := Texts(map[string]string{
		"store/list.go": "package store\n\n// ListExpired returns the tasks whose lease has expired.\n" +
			"func ListExpired(now int) []string {\n\treturn nil\n}\n",
		"recover/loop.go": "package recover\n\nfunc again() {\n\tfor _, id := range store.ListExpired(7) {\n" +
			"\t\tretry(id)\n\t}\n}\n",
	})
	for question, want := range map[string]string{
		"who calls ListExpired?":     "recover/loop.go",
		"what does ListExpired do?":  "store/list.go",
		"what is the ListExpired of": "store/list.go",
	} {
		if got := search(t, x, question); len(got) == 0 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q: %q, want %s first", question, got, want)
		}
	}
}

// TestContractions: the halves of "haven't" and "they're" are no words of a question.
func TestContractions(t *testing.T) {
	x := Texts(map[string]string{
		"a.go": "package a\n\n// haven re ve ll\nfunc haven(re, ve, ll int) {}\n\nfunc size(limit int) {}\n",
	})
	q := x.query("what size do they've that we haven't, if they're small and we'll see?")
	if len(q.wants) != 1 || q.wants[0].options[0].word != "siz" {
		t.Errorf("words %v, want siz", q.wants)
	}
}

// TestManyOfAFile: all places of one file may be shown.
func TestManyOfAFile(t *testing.T) {
	var text strings.Builder
	text.WriteString("package a\n")
	for i := range 8 {
		fmt.Fprintf(&text, "\n// zebra%d crosses the river.\nfunc zebra%d() {\n%s}\n", i, i,
			strings.Repeat("\tnothing()\n", 30))
	}
	if got := search(t, Texts(map[string]string{"a.go": text.String()}), "zebra river crossing"); len(got) < 7 {
		t.Errorf("%d places: %q", len(got), got)
	}
}

package codesearch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOutline: a declaration goes with the comment above it and ends before the
// next; members of a class are passages, functions inside functions are not.
func TestOutline(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // from-to, and the line that declares
	}{
		{"a.go", "package a\n\n// F does.\nfunc F() {\n\tx := 1\n}\n\n// Limits.\nconst (\n\tA = 1\n)\n",
			[]string{"1-1 0", "3-6 4", "8-11 9"}},
		{"a.py", "import os\n\nLIMIT = 3\n\nclass C:\n    \"\"\"Doc.\"\"\"\n\n    def f(self):\n        def g():\n            pass\n        return g\n\n    # About h.\n    @wraps\n    def h(self):\n        pass\n\nlast = 1\n",
			[]string{"1-3 0", "5-6 5", "8-11 8", "13-16 15", "18-18 0"}},
		{"a.js", "// Adds.\nfunction add(a, b) {\n  return a + b;\n}\n\nclass Q {\n  push(x) {\n    return x;\n  }\n}\n", []string{"1-4 2", "6-6 6", "7-10 7"}},
		{"a.md", "Intro.\n\n# One\n\ntext\n\n# Two\n\nmore\n", []string{"1-1 0", "3-5 3", "7-9 7"}},
		{"a.ini", "[one]\na = 1\n\n[two]\nb = 2\n", []string{"1-2 1", "4-5 4"}},
	} {
		passages, _ := languageOf(tt.name).outline(bytes.Split([]byte(strings.TrimSuffix(tt.text, "\n")),
			[]byte{'\n'}))
		var got []string
		for _, p := range passages {
			got = append(got, fmt.Sprintf("%d-%d %d", p.from, p.to, p.decl))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzOutline: whatever a file holds, its passages are in order, inside it, apart
// from each other and not too long.
func FuzzOutline(f *testing.F) {
	for _, name := range []string{"a.go", "a.py", "a.c", "a.rb", "a.sql", "a.yaml", "a.md"} {
		f.Add(name, "// x\nfunc f() {\n\n\"\"\"\n}\n# H\n====\n@a\nclass C:\n  def f(x):\n")
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		lines := bytes.Split([]byte(text), []byte{'\n'})
		passages, kinds := languageOf(name).outline(lines)
		last := 0
		for _, p := range passages {
			if p.from <= last || p.to < p.from || p.to > len(lines) || p.to-p.from >= longest ||
				p.decl > p.to {
				t.Fatalf("%+v after line %d of %d", p, last, len(lines))
			}
			last = p.to
		}
		if len(kinds) != len(lines) {
			t.Errorf("%d kinds of %d lines", len(kinds), len(lines))
		}
		newReader().read(0, name, []byte(text))
	})
}

// TestRust: a module of tests counts as tests, and a limited visibility is no name.
func TestRust(t *testing.T) {
	code := "pub(crate) fn parse_creds(s: &str) {\n    split(s);\n}\n\n#[cfg(test)]\nmod tests {\n" +
		"    #[test]\n    fn parse_creds_fails() {\n        parse_creds(\"creds\");\n        fails();\n    }\n}\n"
	if name := braces.called([]byte("pub(crate) fn parse_creds(s: &str) {")); name != "parse_creds" {
		t.Errorf("called %q", name)
	}
	lines := bytes.Split([]byte(code), []byte{'\n'})
	passages, _ := braces.outline(lines)
	for _, p := range passages {
		if want := p.from > 3; p.tests != want || len(passages) < 2 {
			t.Errorf("%+v", passages)
		}
	}
	x := Texts(map[string]string{"src/proxy.rs": code, "src/other.rs": "pub fn fails() {\n    parse(creds);\n}\n"})
	decoded, err := decode(x.base.encode())
	if err != nil || !slices.Equal(decoded.spans, x.base.spans) {
		t.Errorf("%+v, %v", decoded, err)
	}
	found, err := x.Search(t.Context(), "when does parsing creds fail?", 3)
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Start > 3 {
		t.Errorf("%+v, %v", found.Hits, err)
	}
}

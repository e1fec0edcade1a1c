package forge

import (
	"regexp"
	"strings"
	"testing"

	"tri/lib/base/git"
)

// hostile are texts that do something on some forge, each with what must not be
// left whole.
var hostile = map[string]string{
	"hello @ana":                        "@ana",
	"hi @org/team":                      "@org",
	"fixes #12":                         "#12",
	"Closes: ##12":                      "#12",
	"closes org/repo#12":                "#12",
	"fix GH-12":                         "GH-12",
	"Resolves PAY-123":                  "PAY-123",
	"closes https://x.test/o/r/pull/1":  "https://",
	"see HTTP://evil.test/?q=secret":    "HTTP://",
	"see irc://evil.test":               "irc://",
	"see www.evil.test":                 "www.",
	"mail mailto:a@b.test":              "mailto:",
	"[x](javascript:alert(1))":          "javascript:",
	"![p](https://evil.test/p.png)":     "https://",
	"!12 and ~bug and $3 and %4 and &5": "!12",
	"done [skip ci]":                    "[skip",
	"done [CI-Skip]":                    "[CI",
	"done [no ci]":                      "[no",
	"a@b.test":                          "@b",
	"\u202egnp.exe":                     "\u202e",
	"a\x1b[31mb":                        "\x1b",
	"@\u200bana @ana":                   " @ana",
}

func TestNothingIsFound(t *testing.T) {
	for text, bad := range hostile {
		for name, made := range map[string]string{"line": Line(text), "inline": inline(text),
			"quote": Quote(text)} {
			if strings.Contains(made, bad) {
				t.Errorf("%s of %q: %q", name, text, made)
			}
		}
	}
	for text, want := range map[string]string{
		"plain words, and a.go:3": "plain words, and a.go:3", "/close": "close", "# title": "title",
		"a\n\n/merge\tb": "a /merge b", "-x": "x",
		strings.Repeat("ö", 300): strings.Repeat("ö", 100) + " …", "": "",
		"25-11-22_1430__fix__a1b2": "25-11-22_1430__fix__a1b2",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"pay/retry.go:3": "`pay/retry.go:3`", "-rf": "`-rf`", "a`b": "``a`b``", "`x`": "`` `x` ``", "": "` `",
		"fix-auth-12/x": "`fix-auth-12/x`", "a\nb": "`a b`",
	} {
		if got := inline(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzQuote: nothing that is quoted closes its fence, begins a line outside, or
// keeps a name or a link.
func FuzzQuote(f *testing.F) {
	f.Add("```\n/close\n@ana\n~~~")
	f.Add("a\r\n````\r\n![x](http://y)")
	for text := range hostile {
		f.Add(text)
	}
	found := regexp.MustCompile(`(?i)[@#!][\p{L}\p{N}_]|[a-z]://|www\.`)
	f.Fuzz(func(t *testing.T, text string) {
		q := Quote(text)
		fence, rest, _ := strings.Cut(q, "text\n")
		inside, ok := strings.CutSuffix(rest, "\n"+fence+"\n")
		if !ok || strings.Trim(fence, "`") != "" || strings.Contains(inside, fence) {
			t.Fatalf("%q: %q", text, q)
		}
		for _, made := range []string{inside, Line(text)} {
			if bad := found.FindString(made); bad != "" {
				t.Fatalf("%q: %q in %q", text, bad, made)
			}
		}
		if in := inline(text); strings.ContainsAny(in, "\n\r") || !strings.HasPrefix(in, "`") ||
			!strings.HasSuffix(in, "`") {
			t.Fatalf("%q: %q", text, in)
		}
	})
}

func TestBodyHasABound(t *testing.T) {
	s := Story{Run: "r1", Task: strings.Repeat("@a ", 50_000), Report: strings.Repeat("`", 50_000)}
	for range 1000 {
		s.Files = append(s.Files, git.Change{Path: strings.Repeat("ö", 400), Kind: git.Modified})
		s.Notes = append(s.Notes, git.Finding{Path: strings.Repeat("@", 400),
			Reason: strings.Repeat("x", 400)})
		s.Sources = append(s.Sources, strings.Repeat("#1 ", 200))
	}
	if n := len(s.Body()); n > 65_000 || n < 20_000 {
		t.Errorf("%d bytes", n)
	}
	small := Story{Run: "25-11-22_1430__fix__a1b2", Task: "fix @ana's bug",
		Files: []git.Change{{Path: "a.go", Kind: git.Added, Added: 3}}}.Body()
	for _, want := range []string{"`25-11-22_1430__fix__a1b2`", "```text\nfix @" + gap + "ana's bug\n```",
		"- `a.go` added, +3 −0"} {
		if !strings.Contains(small, want) {
			t.Errorf("lacks %q:\n%s", want, small)
		}
	}
}

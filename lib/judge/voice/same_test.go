package voice

import (
	"os"
	"strings"
	"testing"
)

type pair struct{ of, to string }

func paraphrases(t testing.TB) (all []pair) {
	t.Helper()
	b, err := os.ReadFile("testdata/paraphrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "- "):
			all = append(all, pair{of: line[2:]})
		case strings.HasPrefix(line, "+ "):
			all[len(all)-1].to = line[2:]
		}
	}
	return all
}

// Of sixty honest paraphrases at least 60% are kept, also of the half that was not read while the rules
// were tuned.
func TestHonest(t *testing.T) {
	all := paraphrases(t)
	half := len(all) / 2
	for name, pairs := range map[string][]pair{"tuned": all[:half], "untouched": all[half:]} {
		kept := 0
		for i, p := range pairs {
			why := Same(p.of, p.to)
			if why == "" {
				kept++
			} else if name == "tuned" {
				t.Logf("%s %d: %s\n\t%s", name, i, why, p.to)
			}
		}
		t.Logf("%s: %d of %d kept", name, kept, len(pairs))
		if kept*10 < len(pairs)*6 {
			t.Errorf("%s: %d of %d kept, want 60%%", name, kept, len(pairs))
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct{ name, of, to, want string }{
		{"the same", "It is 3.", "It is 3.", ""},
		{"contractions", "It does not retry, and it cannot.", "It doesn't retry; it can't.", ""},
		{"typographic apostrophe", "It doesn't.", "It doesn’t.", ""},
		{"number", "It is 3.", "It is 4.", `"3" became "4"`},
		{"number as a word", "It is 3.", "It's three.", ""},
		{"unit", "It takes 3 seconds.", "It takes 3 minutes.", `"seconds" became "minutes"`},
		{"negation added", "It retries.", "It does not retry.", `"retries" became "not"`},
		{"negation removed", "It never retries.", "It retries.", `"never" became "retries"`},
		{"hedge", "It probably retries.", "It retries.", "became"},
		{"question", "It retries.", "It retries?", "question mark was added"},
		{"operands", "`a` - `b`", "`b` - `a`", "became"},
		{"minus", "5 - 3", "5 3", "became"},
		{"of and in", "5 of 10", "5 in 10", `"of" became "in"`},
		{"case of an identifier", "Call parseAll first.", "Call ParseAll first.", "became"},
		{"case of a name", "Ask Redis about it.", "Ask redis about it.", "became"},
		{"case where a sentence begins", "Requests wait.", "So requests wait.", ""},
		{"case of a name of the code", "Parse waits.", "So parse waits.", "became"},
		{"code", "Run `a -x`.", "Run `a -y`.", "became"},
		{"link", "See https://a.example/x.", "See https://a.example/y.", "became"},
		{"quotation", `It says "not now".`, `It says "now".`, "became"},
		{"has and is", "`A` has `B`.", "`A` is `B`.", "became"},
		{"will", "It will be removed.", "It is removed.", "became"},
		{"missing", "It waits, and then it posts.", "It waits.", `word is missing: "posts"`},
		{"name with underscores", "Call __init__ first.", "Call init first.", "became"},
		{"power", "It is 2**10 bytes.", "It is 2 10 bytes.", "became"},
		{"minus of a name", "It returns n - 5.", "It returns n 5.", "became"},
		{"minus of names", "It returns count - offset.", "It returns count offset.", "became"},
		{"minus of code", "`a` - `b`", "`a` `b`", "became"},
		{"times", "It is n * 2.", "It is n 2.", "became"},
		{"joined names", "Set A__B.", "Set A B.", "became"},
		{"pattern", "See src/**/x.go.", "See src/ /x.go.", "became"},
		{"range", "It is on lines 5 – 7.", "It is on lines 5 7.", "became"},
		{"emphasis", "It is **never `x` here** and **not** **5**.", "It is never `x` here and not 5.", ""},
		{"dash", "It waits – then it posts.", "It waits, then it posts.", ""},
		{"list to prose", "- one thing\n- another", "One thing, another", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Same(c.of, c.to, "func Parse(s string)")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever the texts are, Same ends, and a text is the same as itself.
func FuzzSame(f *testing.F) {
	for _, p := range paraphrases(f) {
		f.Add(p.of, p.to)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if why := Same(a, a); why != "" {
			t.Errorf("%q is not the same as itself: %s", a, why)
		}
		if (Same(a, b) == "") != (Same(b, a) == "") {
			t.Errorf("%q and %q: not symmetric", a, b)
		}
	})
}

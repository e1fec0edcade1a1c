package codesearch

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func searched(t *testing.T, texts map[string]string, question string) []Hit {
	t.Helper()
	found, err := Texts(texts).Search(context.Background(), question, 8)
	if err != nil {
		t.Fatal(err)
	}
	return found.Hits
}

// TestDefinedFirst: a question that names a thing gets its definition before what speaks more of its words.
func TestDefinedFirst(t *testing.T) {
	texts := map[string]string{
		"box/fence.go":      "package box\n\nfunc openAll() {}\n\n// fenceText closes.\nfunc fenceText(s string) string { return s }\n",
		"box/caller.go":     "package box\n\n// callers of fenceText want the closing mark of a long text: fenceText, fenceText.\nfunc closingMark() { fenceText(\"mark of a long text\") }\n",
		"box/fence_test.go": "package box\n\nfunc fenceText2() { fenceText(\"\") }\n",
	}
	hits := searched(t, texts, "why does fenceText lose the closing mark of a long text?")
	if len(hits) == 0 || hits[0].Path != "box/fence.go" || hits[0].Start > 6 || hits[0].End < 6 ||
		!strings.Contains(strings.Join(hits[0].Best(), "\n"), "func fenceText") {
		t.Errorf("%+v", hits)
	}
}

// TestDeclaredAs: a name of one word is one if the question says its kind, and is found as it is written;
// a field of that name comes behind.
func TestDeclaredAs(t *testing.T) {
	texts := map[string]string{
		"box/fence.go": "package box\n\n// Fence marks.\nfunc Fence(s string) string { return fence(s) }\n\nfunc fence(s string) string { return s }\n\ntype wall struct{ Fence string }\n",
		"box/text.go":  "package box\n\n// quote closes the fence of a text, so that no text can close the fence.\nfunc quote(s string) string { return \"fence\" }\n",
	}
	hits := searched(t, texts, "what does func Fence do so that no text can close the fence")
	if len(hits) == 0 || hits[0].Path != "box/fence.go" || hits[0].Start > 4 || hits[0].End < 4 {
		t.Errorf("%+v", hits)
	}
}

// TestNamed: a name is made of all words of a question, at least two, and of no others but those of limits.
func TestNamed(t *testing.T) {
	x := Texts(map[string]string{"a.go": "package a\n\nconst (\n\tMaxDraftWords = 300\n\tDraftWordCase = 1\n\tlines = 4\n)\n"})
	for question, want := range map[string]string{
		"how many words may a draft have?": "[MaxDraftWords]", "how many words may a reply have?": "[]",
		"how many lines are allowed?": "[]", "which case do words of a draft have": "[DraftWordCase]",
	} {
		if got := fmt.Sprint(x.Named(question, []Hit{{Path: "a.go"}, {Path: "gone.go"}})); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
}

// TestPhrase: words that each say nothing are found one behind the other, and what is named after them.
func TestPhrase(t *testing.T) {
	texts := map[string]string{
		"a.go":      "package a\n\nconst didYouMeanText = \"Did you mean %q?\"\n",
		"b.go":      "package a\n\nfunc near(w string) string { return fmt.Sprintf(didYouMeanText, w) }\n",
		"a_test.go": "package a\n\nvar x = \"did you mean\"\n",
	}
	hits := searched(t, texts, "did you mean?")
	if len(hits) != 2 || hits[0].Path != "a.go" || hits[1].Path != "b.go" ||
		hits[0].Words[0] != "Did you mean" {
		t.Errorf("%+v", hits)
	}
	if hits := searched(t, texts, "what is it?"); len(hits) > 0 {
		t.Errorf("%+v", hits)
	}
}

// TestWholeStatements: a quote ends behind the brackets that it opens.
func TestWholeStatements(t *testing.T) {
	text := "package a\n\nfunc run() {\n" + strings.Repeat("\tother()\n", 30) +
		"\tzebra := striped(\n\t\tone,\n\t\ttwo,\n\t\tthree,\n\t)\n" +
		strings.Repeat("\tother()\n", 30) + "}\n"
	hits := searched(t, map[string]string{"a.go": text}, "where is the striped zebra made?")
	if len(hits) == 0 {
		t.Fatal("nothing")
	}
	if best := strings.Join(hits[0].Best(), "\n"); strings.Count(best, "(") != strings.Count(best, ")") ||
		!strings.Contains(best, "three") {
		t.Errorf("%s", best)
	}
}

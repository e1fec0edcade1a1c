package codesearch

import (
	"context"
	"fmt"
	"runtime"
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

// TestMeant: a description means the declaration whose name, owner and comment have its words, and not one
// whose name has none of them or only other words.
func TestMeant(t *testing.T) {
	x := Texts(map[string]string{"pool/pool.go": "package pool\n\nconst (\n\tMaxDraftWords = 300\n\tDraftWordCase = 1\n\tlines = 4\n)\n" +
		"\n// Limits of words in a draft.\ntype Limits struct{ Rest int }\n"})
	if _, err := x.Search(context.Background(), "words", 8); err != nil {
		t.Fatal(err)
	}
	all := x.Described("how many words may a draft have", func(Definition) bool { return true })
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	if got := fmt.Sprint(names); got != "[MaxDraftWords DraftWordCase]" || all[0].Score < 0.99 || all[1].Score > 0.95 {
		t.Errorf("%s: %+v", got, all)
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

// TestDefinitionsOfShortenedWords: a name that is a word with an abbreviation is found, also in files that
// come behind many that only use it.
func TestDefinitionsOfShortenedWords(t *testing.T) {
	texts := map[string]string{"z.go": "package a\n\ntype Command struct{}\n\nfunc Index() {}\n\nfunc Retry() {}\n"}
	for i := range maxUsing - 1 {
		texts[fmt.Sprintf("a%d.go", i)] = "package a\n\nfunc a() { x := Retry(); Index(); x(Command{}) }\n"
	}
	x := Texts(texts)
	for _, name := range []string{"Command", "Index", "Retry"} {
		if all := x.Definitions(name); len(all) != 1 || all[0].Path != "z.go" {
			t.Errorf("%s: %d definitions", name, len(all))
		}
		if all := x.Uses(name); len(all) != maxUsing-1 {
			t.Errorf("%s: %d uses", name, len(all))
		}
	}
}

// TestLongComment: a definition below a comment longer than a hit is shown with its name.
func TestLongComment(t *testing.T) {
	text := "package a\n\n" + strings.Repeat("// All this.\n", 60) + "func RetryQueue() int {\n\treturn 1\n}\n"
	x := Texts(map[string]string{"z.go": text,
		"retry_queue.go": "package a\n\n// RetryQueue\nvar x = RetryQueue(RetryQueue, RetryQueue)\n"})
	found, err := x.Search(context.Background(), "what does RetryQueue do", 1)
	if err != nil || len(found.Hits) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if best := strings.Join(found.Hits[0].Best(), "\n"); !strings.Contains(best, "func RetryQueue") {
		t.Errorf("%q", best)
	}
}

// TestKelvin: letters whose lower case is shorter do not lead beyond the end of a line.
func TestKelvin(t *testing.T) {
	texts := map[string]string{"b.js": "x = 1\ns = \"look like this\"\n"}
	hits := searched(t, texts, "loo\u212a li\u212ae this")
	if len(hits) != 1 || hits[0].Words[0] != "look like this" {
		t.Errorf("%+v", hits)
	}
}

// TestLongLines: no line of a hit is longer than maxLine, also not to end a statement.
func TestLongLines(t *testing.T) {
	remarks := strings.Repeat("// a\n", 60)
	hits := searched(t, map[string]string{"b.js": remarks + "const retryQueue = call(\n\"" +
		strings.Repeat("a b", 3000) + "\")\n" + remarks}, "what is retryQueue")
	if len(hits) == 0 {
		t.Fatal("nothing")
	}
	for _, line := range hits[0].Lines {
		if len(line) > maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// TestHostileFiles: one long name, or one name on every line, takes memory and time in proportion to a file.
func TestHostileFiles(t *testing.T) {
	class := "class " + strings.Repeat("Ab", 20_000) + "\n" + strings.Repeat("  def f\n    x\n", 3000)
	named := "const ThisOfThings = \"this of things\"\n" + strings.Repeat("f(ThisOfThings)\n", 3000)
	for name, text := range map[string]string{"a.rb": class, "a.js": named} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		searched(t, map[string]string{name: text}, "this of things")
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 60<<20 {
			t.Errorf("%s: %d bytes for %d", name, got, len(text))
		}
	}
}

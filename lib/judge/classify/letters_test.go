package classify

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const letterRows = "testdata/letters"

// TestLetters: what each character is to the rules, in ranges of those that are the
// same; -update as in TestJudgements.
func TestLetters(t *testing.T) {
	lex := classifier(t, Options{}).lex
	var got bytes.Buffer
	from, last := rune(1), ""
	for r := rune(1); r <= 0x30000; r++ {
		what := ""
		if r < 0x30000 {
			what = letterIs(lex, r)
		}
		if r > 1 && what != last {
			fmt.Fprintf(&got, "%04X-%04X%s\n", from, r-1, last)
			from = r
		}
		last = what
	}
	if *update {
		if err := os.WriteFile(letterRows, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(letterRows)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Split(string(want), "\n")
	for i, row := range strings.Split(got.String(), "\n") {
		if i >= len(old) || row != old[i] {
			t.Fatalf("row %d is %q, was %q", i+1, row, old[min(i, len(old)-1)])
		}
	}
}

func letterIs(lex *lexicon, r rune) (is string) {
	if r < utf8.RuneSelf {
		is += fmt.Sprint(" class", classes[r])
	}
	if s := scriptOf(r); s != latin {
		is += fmt.Sprint(" script", s)
	}
	for _, f := range []struct {
		name string
		is   func(rune) bool
	}{{"shape", isOtherShape}, {"dense", isDense}, {"leans", leans}, {"leansOn", leansOn}} {
		if f.is(r) {
			is += " " + f.name
		}
	}
	if n := longName(r); n != 4 {
		is += fmt.Sprint(" name", n)
	}
	if !utf8.ValidRune(r) {
		return is
	}
	if r >= utf8.RuneSelf {
		if f := foldRune(r); f != unicode.ToLower(r) {
			is += fmt.Sprintf(" folds%X", f)
		}
		if plain, ok := bare("x" + string(r)); ok || plain != "x"+string(r) {
			is += fmt.Sprintf(" bare%q", plain[1:])
		}
	}
	var s scripts
	s.letter(lex, r)
	if s.foreign || s.russian || s.told != 0 {
		is += fmt.Sprintf(" tells%t,%t,%x", s.foreign, s.russian, s.told)
	}
	return is
}

// TestHanAlone: Chinese letters that only one language's phrases have tell it; else
// a few could be Japanese as well.
func TestHanAlone(t *testing.T) {
	lex := classifier(t, Options{}).lex
	for _, tt := range []struct {
		ja, zh, han uint16
		want        string
	}{{0, 0, 4, ""}, {0, 0, 5, "zh"}, {0, 1, 1, "zh"}, {1, 0, 5, "ja"}, {1, 1, 1, "zh"}, {2, 1, 5, "ja"},
		{1, 2, 5, "zh"}} {
		var x reading
		x.scripts.count[han] = tt.han
		x.scripts.wide = true
		for i, lang := range lex.langs {
			switch lang {
			case "ja":
				x.scripts.telling[i] = tt.ja
			case "zh":
				x.scripts.telling[i] = tt.zh
			}
		}
		if got := x.lang(lex); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

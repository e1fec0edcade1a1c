package term

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestColumns(t *testing.T) {
	rows := [][]string{{"a", "最新の", "one two three"}, {"bcd", "x", "日本語のテキスト"}, {"e", "", ""}}
	for width, want := range map[int]string{
		0:  "a    最新の  one two three\nbcd  x       日本語のテキスト\ne\n",
		17: "a    最新の  one…\nbcd  x       日…\ne\n",
		1:  "…\n…\ne\n",
	} {
		var b strings.Builder
		if err := Columns(&b, rows, width); err != nil || b.String() != want {
			t.Errorf("%d: %v\n%s\nwant\n%s", width, err, b.String(), want)
		}
		for line := range strings.Lines(b.String()) {
			if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("%d: %q is %d wide", width, line, n)
			}
		}
	}
}

func TestCut(t *testing.T) {
	for want, width := range map[string]int{
		"where is the suggestion made": 28, "where is the…": 14, "where is…": 11, "where is the sugg…": 18,
	} {
		if got := Cut("where is the suggestion made", width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

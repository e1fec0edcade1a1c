package text

import (
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		n     int
		want  string
		bytes string
	}{
		{"abcdef", 6, "abcdef", "abcdef"}, {"abcdef", 4, "abc…", "abcd"}, {"äöü", 3, "äöü", "ä"},
		{"äöüß", 3, "äö…", "ä"}, {"", 0, "", ""}, {"ab", 1, "…", "a"},
	} {
		if got := Cut(c.in, c.n); got != c.want || utf8.RuneCountInString(got) > max(c.n, 1) {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
		if got := CutBytes(c.in, c.n); got != c.bytes {
			t.Errorf("CutBytes(%q, %d) = %q, want %q", c.in, c.n, got, c.bytes)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := Line(" a\tb\n\x1b[2Jc  d", 14), "a b <U+001B>[…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Line("a  b", 0); got != "a b" {
		t.Errorf("%q", got)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		word, id string
		want     bool
	}{
		{"3f9", "3f9a2c41", true}, {"3f9a2c41", "3f9a2c41", true}, {"3f", "3f9a2c41", false}, {"", "", false},
		{"", "3f9a", false},
		{"3f8", "3f9a2c41", false}, {"3f9a2c41b", "3f9a2c41", false}, {"7", "7", true},
	} {
		if got := Names(tt.word, tt.id); got != tt.want {
			t.Errorf("Names(%q, %q) = %v", tt.word, tt.id, got)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package term

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a b c", 10, []string{"a b c"}},
		{"one two three", 8, []string{"one two", "  three"}},
		{"a seventeen", 9, []string{"a sevente", "  en"}},
		{"some seventeen", 11, []string{"some", "  seventeen"}},
		{"  │ one two three", 11, []string{"  │ one two", "  │ three"}},
		{"  12 │ one two three", 14, []string{"  12 │ one two", "     │ three"}},
		{"  12 │ twenty-seven", 14, []string{"  12 │ twenty-", "     │ seven"}},
		{"  - one two", 8, []string{"  - one", "  two"}},
		{"abcdefghij", 4, []string{"abcd", "  ef", "  gh", "  ij"}},
		{"漢字漢字", 5, []string{"漢字", "  漢", "  字"}},
		{"漢字漢", 3, []string{"漢", "字", "漢"}},
		{"ab cd ef", 1, []string{"a", "b", "c", "d", "e", "f"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
	} {
		got := Wrap(tt.text, tt.width)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

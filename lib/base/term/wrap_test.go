package term

import (
	"fmt"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a b c", 10, []string{"a b c"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"  │ one two three", 11, []string{"  │ one two", "  │ three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
	} {
		got := Wrap(tt.text, tt.width)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

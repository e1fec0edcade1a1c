package decision

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0},
		{"It is 5.", "It is 7.", 1}, {"kitten", "sitting", 3}, {"öde", "ode", 1}, {"答えは5", "答えは6です", 3},
		{"a", strings.Repeat("a", 9000), 8999}, {strings.Repeat("x", 9000), strings.Repeat("y", 9000), 9000},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%.20q, %.20q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

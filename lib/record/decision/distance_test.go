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
		{"ab", "a", 1}, {"ab", "b", 1},
		// Up to 8000 characters are compared; of more the longer text's length is said.
		{"p" + strings.Repeat("x", maxDistance-2) + "p", "qxq", maxDistance - 1},
		{"qxq", "p" + strings.Repeat("x", maxDistance-2) + "p", maxDistance - 1},
		{"p" + strings.Repeat("x", maxDistance-1) + "p", "qxq", maxDistance + 1},
		{"qxq", "p" + strings.Repeat("x", maxDistance-1) + "p", maxDistance + 1},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%.20q, %.20q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestDistanceOfAll compares with the definition, for all texts of two letters.
func TestDistanceOfAll(t *testing.T) {
	texts := []string{""}
	for i := 0; i < len(texts) && len(texts[i]) < 4; i++ {
		texts = append(texts, texts[i]+"a", texts[i]+"b")
	}
	for _, a := range texts {
		for _, b := range texts {
			if got, want := Distance(a, b), defined(a, b); got != want {
				t.Errorf("Distance(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func defined(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return defined(a[1:], b[1:])
	}
	return 1 + min(defined(a[1:], b), defined(a, b[1:]), defined(a[1:], b[1:]))
}

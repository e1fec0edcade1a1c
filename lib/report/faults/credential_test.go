package faults

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestDrawMatches: what is drawn for a credential is in its format.
func TestDrawMatches(t *testing.T) {
	s := &subject{rng: rand.New(rand.NewPCG(1, 1))}
	if len(lists["credential"]) < 40 {
		t.Errorf("%d formats of credentials", len(lists["credential"]))
	}
	for _, line := range lists["credential"] {
		name, expr, _ := strings.Cut(line, ": ")
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := s.draw(re)
		if strings.Contains(expr, "64>") {
			continue // encoded, it matches no more
		}
		if !regexp.MustCompile(`^(?:` + expr + `)$`).MatchString(out) {
			t.Errorf("%s: %q", name, out)
		}
		if regexp.MustCompile(`\\w|0-9`).MatchString(expr) && !strings.ContainsAny(out, "0123456789") {
			t.Errorf("%s: %q has no digit", name, out)
		}
	}
}

package evidence

import "testing"

func TestCitationsKeepLeadingDot(t *testing.T) {
	for text, want := range map[string]string{
		"see .ci/run:2-4":         ".ci/run:2-4",
		"see ./lib/a.go:3":        "lib/a.go:3",
		"(.github/x.yml:10) says": ".github/x.yml:10",
		"lib/a.go:3.":             "lib/a.go:3",
	} {
		got := Citations(text)
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

package report

import (
	"slices"
	"testing"

	"tri/lib/record/verdict"
)

// TestChecked: consecutive checks with the same result and note are one line, and no other ones are.
func TestChecked(t *testing.T) {
	ok := func(name, note string) verdict.Check {
		return verdict.Check{Name: name, Result: verdict.OK, By: verdict.ByCode, Note: note}
	}
	got := checked([]verdict.Check{ok("ref 1", "found"), ok("ref 2", "found"), ok("ref 3", "other"),
		ok("safety", ""), ok("tone", ""), ok("ref 4", "")})
	want := []string{"ref 1, 2 ok by code: found", "ref 3 ok by code: other", "safety, tone, ref 4 ok by code"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

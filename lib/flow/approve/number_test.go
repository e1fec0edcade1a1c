package approve

import (
	"fmt"
	"testing"

	"tri/lib/record/decision"
)

// TestIDsOfMany: among thousands of items, of which several have names that begin alike, no two have one ID.
func TestIDsOfMany(t *testing.T) {
	// Two names that have n digits in common, by a search; from keeps two pairs apart.
	alike := func(from string, n int) (a, b *Item) {
		seen := map[string]string{}
		for i := 0; ; i++ {
			key := fmt.Sprint(from, i)
			name := decision.Name(key, 1, "", "")
			if other, ok := seen[name[:n]]; ok && decision.Name(other, 1, "", "")[n] != name[n] {
				return &Item{Key: other, Cycle: 1}, &Item{Key: key, Cycle: 1}
			}
			seen[name[:n]] = key
		}
	}
	a, d := alike("long", idLength+1)
	b, c := alike("short", idLength)
	for i, it := range []*Item{a, b, c, d} {
		it.Kind, it.Since = Draft, fmt.Sprintf("2026-11-23T10:00:0%dZ", i)
	}
	ids := map[string]bool{}
	for _, it := range number([]*Item{a, b, c, d}) {
		ids[it.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("4 items have the IDs %v", ids)
	}
}

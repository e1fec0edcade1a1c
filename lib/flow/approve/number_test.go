package approve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/thread"
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

// A gate with a room lists that room alone, with the numbers and IDs of the whole list, and damaged files.
func TestRoom(t *testing.T) {
	g := newGate(t, "ana")
	put(t, g, "1", "first?", "one")
	key := put(t, g, "2", "second?", "two")
	th, err := thread.Load(g.Home, key)
	if err != nil {
		t.Fatal(err)
	}
	th.ChatName = "#Lab"
	if err := th.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	if err := g.Home.Replace("open/local.dev.3.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	whole := map[string]int{}
	all, err := g.Items()
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		whole[it.ID] = it.Number
	}
	g.Room = "lab"
	items, err := g.Items()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, it := range items {
		kinds = append(kinds, it.Kind+" "+it.ChatName)
		if whole[it.ID] != it.Number {
			t.Errorf("%s has number %d in its room, %d in the whole list", it.ID, it.Number, whole[it.ID])
		}
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, ", "); got != "damaged , draft #Lab" {
		t.Errorf("the room shows %q", got)
	}
}

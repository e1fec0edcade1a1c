package approve

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
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
	for _, it := range order([]*Item{a, b, c, d}) {
		ids[it.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("4 items have the IDs %v", ids)
	}
}

// A gate with a room lists that room alone, with the IDs of the whole list, and damaged files.
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
	whole := map[string]bool{}
	all, err := g.Items()
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		whole[it.ID] = true
	}
	g.Room = "lab"
	items, err := g.Items()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, it := range items {
		kinds = append(kinds, it.Kind+" "+it.ChatName)
		if !whole[it.ID] {
			t.Errorf("%s has another ID in its room", it.ID)
		}
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, ", "); got != "damaged , draft #Lab" {
		t.Errorf("the room shows %q", got)
	}
}

// TestWhatNeedsReadingFirst: the list begins with what waits for a word, then drafts with a fault, then those
// that the checks do not cover, whatever their age; the rest by age. An ID names the same item throughout.
func TestWhatNeedsReadingFirst(t *testing.T) {
	sure := &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Covered,
		Sentences: []verdict.Sentence{{State: verdict.About}}}
	partly := &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes,
		Sentences: []verdict.Sentence{{State: verdict.About}, {State: verdict.Unbacked, Text: "It waits."}}}
	negated := &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Covered,
		Sentences: []verdict.Sentence{{State: verdict.About, Undecided: []string{"negation"}}}}
	wrong := &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes,
		Sentences: []verdict.Sentence{{State: verdict.Contradicted, Text: "It never ends."}}}
	low := &draft.Return{Confidence: draft.Low}
	all := []struct {
		id string
		t  thread.Thread
	}{
		{"a-sure-old", thread.Thread{ValidatorReturn: sure}},
		{"b-failed", thread.Thread{}},
		{"c-sure-new", thread.Thread{ValidatorReturn: sure}},
		{"d-partly", thread.Thread{ValidatorReturn: partly}},
		{"e-low", thread.Thread{ValidatorReturn: sure, InvestigatorReturn: low}},
		{"f-negated", thread.Thread{ValidatorReturn: negated}},
		{"g-left-out", thread.Thread{ValidatorReturn: sure, NotAnswered: []string{"g-left-out"}}},
		{"h-wrong", thread.Thread{ValidatorReturn: wrong}},
		{"i-asks", thread.Thread{Asked: "which one?"}},
	}
	g := newGate(t, "ana")
	known := map[string]string{}
	for i, c := range all {
		key := put(t, g, c.id, "q", "x"+c.id)
		th, err := thread.Load(g.Home, key)
		if err != nil {
			t.Fatal(err)
		}
		th.ValidatorReturn, th.Asked, th.NotAnswered = c.t.ValidatorReturn, c.t.Asked, c.t.NotAnswered
		th.StartedAt = noon.Add(time.Duration(i-20) * time.Minute).Format(time.RFC3339)
		if c.t.InvestigatorReturn != nil {
			th.InvestigatorReturn = c.t.InvestigatorReturn
		}
		if c.id == "b-failed" || th.Asked != "" {
			th.DraftPending, th.DraftSHA256 = nil, ""
		}
		if err := th.Save(g.Home); err != nil {
			t.Fatal(err)
		}
		items, err := g.Items()
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if id, ok := known[it.Key]; ok && id != it.ID {
				t.Errorf("%s is called %s, then %s", it.Key, id, it.ID)
			}
			known[it.Key] = it.ID
		}
	}
	items, err := g.Items()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		got = append(got, strings.TrimPrefix(it.Key, "local.dev."))
	}
	want := "i-asks g-left-out h-wrong d-partly e-low f-negated a-sure-old c-sure-new b-failed"
	if strings.Join(got, " ") != want {
		t.Errorf("the list is\n%s, want\n%s", strings.Join(got, " "), want)
	}
	var b bytes.Buffer
	for _, it := range items[1:4] {
		if err := g.View(it).Print(&b, noon); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"! not answered: q\n\nQuestion", "confidence high\n! contradicted: It never ends.",
		"! backed by nothing cited: It waits.\n\nQuestion"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not at the top of\n%s", line, b.String())
		}
	}
}

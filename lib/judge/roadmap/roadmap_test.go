package roadmap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/base/durable"
	"tri/lib/base/forge"
)

const sample = `# Roadmap

Prose, and - [ ] no item.

## Retries
- [x] count them
- [ ] limit them
  * [ ] by chat

## Empty

## Later
1. [X] one
2. [ ] two
`

func TestShown(t *testing.T) {
	all := parse(sample)
	for _, c := range [][2]string{
		{digest(all), "Retries: 1 of 3 done\n- limit them\n- by chat\nLater: 1 of 2 done\n- two"},
		{summary(all), "2 of 5 done\n- Retries: limit them\n- Retries: by chat\n- Later: two"},
	} {
		if c[0] != c[1] {
			t.Errorf("got  %q\nwant %q", c[0], c[1])
		}
	}
	if digest(nil)+summary(nil) != "" {
		t.Error("nothing is shown as something")
	}
}

func TestLimits(t *testing.T) {
	body := "## A\n"
	for i := range 500 {
		body += fmt.Sprintf("- [ ] item %d, to be done some day\n", i)
	}
	all := parse(body)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := map[int]string{MaxDigest: digest(all), MaxSummary: summary(all), MaxRaw: Raw(dir)}
	for most, got := range texts {
		if n := utf8.RuneCountInString(got); n > most || n < most/4 || strings.HasSuffix(got, "\n") {
			t.Errorf("%d characters, at most %d", n, most)
		}
	}
	if n := strings.Count(summary(all), "\n"); n != maxPending {
		t.Errorf("%d pending", n)
	}
}

func TestLeads(t *testing.T) {
	for role, want := range map[string]bool{"Tech Lead / Architect": true, "PM": true, "product-owner": true,
		"Leading QA": false, "PMO": false, "Template": false, "Equipment": false, "QA Engineer": false} {
		if Leads(role) != want {
			t.Errorf("%q is %v", role, !want)
		}
	}
}

func TestFor(t *testing.T) {
	dir := t.TempDir()
	if got := For(nil, dir, "PM") + For(nil, dir+"/none", "PM"); got != "" {
		t.Errorf("no file: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	if lead, other := For(nil, dir, "Tech Lead"), For(nil, dir, "QA"); lead != digest(parse(sample)) ||
		other != summary(parse(sample)) {
		t.Errorf("%q, %q", lead, other)
	}
}

// TestKeep: milestones follow what the file has, of their codebase alone, until the forge has none any more;
// a title makes no second line.
func TestKeep(t *testing.T) {
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dir := t.TempDir()
	if err := Keep(h, dir, nil); err != nil || h.Exists("roadmaps") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, Name), []byte("# Now\n- [ ] a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := []forge.Issue{{Number: 4, Title: "b\n- [ ] forged", Milestone: "v1", Due: "2026-12-01T08:00:00Z"},
		{Number: 5, Title: "c", Milestone: "v1", Closed: true}, {Number: 6, Title: "d", Milestone: "v\x1b2"}}
	for range 2 {
		if err := Keep(h, dir, plan); err != nil {
			t.Fatal(err)
		}
	}
	want := "Now: 0 of 1 done\n- a\nMilestone v1, due 2026-12-01: 1 of 2 done\n- #4 b - [ ] forged\n" +
		"Milestone v<U+001B>2: 0 of 1 done\n- #6 d"
	if got := For(h, dir, "Tech Lead"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := For(h, t.TempDir(), "Tech Lead"); got != "" {
		t.Errorf("of another codebase: %q", got)
	}
	if err := Keep(h, dir, nil); err != nil {
		t.Fatal(err)
	}
	if got := For(h, dir, "QA"); got != "0 of 1 done\n- Now: a" {
		t.Errorf("%q", got)
	}
}

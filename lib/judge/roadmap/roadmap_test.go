package roadmap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
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

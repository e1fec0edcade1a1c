package investigate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/base/durable"
	"tri/lib/judge/roadmap"
)

// TestRoadmap: an investigation is shown the summary of a roadmap, within its bound, and nothing without one.
func TestRoadmap(t *testing.T) {
	dir := t.TempDir()
	code := []byte("package a\n\nconst Limit = 5\n")
	if err := os.WriteFile(filepath.Join(dir, "a.go"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	plan := func() string {
		for _, h := range (&Investigator{Search: true, Home: home.Dir()}).searched(t.Context(), dir, "what is Limit?") {
			if strings.Contains(h.Source, "roadmap") {
				return h.Text
			}
		}
		return ""
	}
	if got := plan(); got != "" {
		t.Error(got)
	}
	body := strings.Repeat("## Later\n- [ ] roadwork\n", 200)
	if err := os.WriteFile(filepath.Join(dir, "ROADMAP.md"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := plan(); !strings.Contains(got, "roadwork") || utf8.RuneCountInString(got) > 600 {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(got), got)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "ROADMAP.md")),
		home.Replace(roadmap.Kept(dir), []byte("## Milestone v1\n- [ ] #4 faster\n"))); err != nil {
		t.Fatal(err)
	}
	if got := plan(); got != "0 of 1 done\n- Milestone v1: #4 faster" {
		t.Errorf("%q", got)
	}
}

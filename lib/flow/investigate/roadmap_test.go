package investigate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRoadmap: an investigation is shown the summary of a roadmap, within its bound, and nothing without one.
func TestRoadmap(t *testing.T) {
	dir := t.TempDir()
	code := []byte("package a\n\nconst Limit = 5\n")
	if err := os.WriteFile(filepath.Join(dir, "a.go"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func() string {
		for _, h := range (&Investigator{Search: true}).searched(t.Context(), dir, "what is Limit?") {
			if strings.Contains(h.Source, "ROADMAP.md") {
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
}

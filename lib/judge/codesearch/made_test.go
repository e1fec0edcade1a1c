package codesearch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestMade: what a program marks as made again at any time is no code of the
// team; a file of that name that says nothing marks nothing.
func TestMade(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/a.go":           "package a // zebra",
		"out/b.go":           "package b // zebra",
		"out/CACHEDIR.TAG":   cacheTag + "\n# made by a demo\n",
		"other/c.go":         "package c // zebra",
		"other/CACHEDIR.TAG": "nothing of the kind",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	found, err := x.Search(context.Background(), "zebra", 8)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, h := range found.Hits {
		got[h.Path] = true
	}
	if !got["src/a.go"] || !got["other/c.go"] || got["out/b.go"] {
		t.Errorf("found %v", got)
	}
}

package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTrees(t *testing.T) {
	r, base := checkout(t, nil)
	trees := filepath.Join(r.Root, ".agents/trees")
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := r.Create(t.Context(), filepath.Join(trees, name), base); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, filepath.Join(trees, "a"), "status", "--porcelain"); got != "" {
		t.Errorf("the agent's git says %q", got)
	}
	if err := r.Create(t.Context(), filepath.Join(trees, "a"), base); err == nil {
		t.Error("made twice")
	}
	if err := r.Create(t.Context(), filepath.Join(trees, "x"), strings.Repeat("0", 40)); err == nil {
		t.Error("made of nothing")
	}
	own := filepath.Join(t.TempDir(), "own") // a user's own worktree, whose folder is missing for now
	run(t, r.Root, "worktree", "add", "-q", "--detach", own)
	os.RemoveAll(own)
	write(t, trees, map[string]string{"b": "-", "c/.git": "gitdir: /nowhere\n", "half/x": "x"})
	os.RemoveAll(filepath.Join(r.common, "worktrees/d"))
	list, err := r.List(trees)
	var got []string
	for _, l := range list {
		got = append(got, fmt.Sprintf("%s %v %v %v", filepath.Base(l.Dir), l.Present, l.Known,
			l.Commit == base))
	}
	want := []string{"a true true true", "b false true true", "c true true true", "d true false false",
		"half true false false"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	gone, err := r.Prune(trees, func(name string) bool { return name == "a" })
	if err != nil || len(gone) != 4 {
		t.Errorf("pruned %q, %v", gone, err)
	}
	if list, err := r.List(trees); err != nil || len(list) != 1 || !list[0].Known {
		t.Errorf("left %+v, %v", list, err)
	}
	if got := run(t, r.Root, "worktree", "list"); strings.Count(got, "\n") != 2 {
		t.Errorf("git knows %s", got)
	}
	if err := errors.Join(r.Remove(filepath.Join(trees, "a")),
		r.Remove(filepath.Join(trees, "a"))); err != nil {
		t.Error(err)
	}
	if r.Remove(r.Root) == nil || r.Remove(filepath.Dir(r.Root)) == nil {
		t.Error("the checkout itself was removed")
	}
}

// TestHalfMadeScratch: a scratch repository whose maker was killed before it had a
// lock is removed, once no maker can be at it any more.
func TestHalfMadeScratch(t *testing.T) {
	r, _ := checkout(t, nil)
	r.scratch = t.TempDir()
	old, fresh := filepath.Join(r.scratch, "tri-git-old"), filepath.Join(r.scratch, "tri-git-fresh")
	if err := errors.Join(os.MkdirAll(filepath.Join(old, "objects"), 0o700),
		os.Mkdir(fresh, 0o700)); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Prune(t.TempDir(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); err == nil {
		t.Error("the old one is still there")
	}
	if _, err := os.Lstat(fresh); err != nil {
		t.Errorf("the one that is being made: %v", err)
	}
}

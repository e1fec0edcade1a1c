package box

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

func TestFixAndMerge(t *testing.T) {
	b := newBench(t)
	before := b.tree()
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if !task.Write || slices.Contains(task.Tools, "Edit") || !strings.HasPrefix(task.Codebase, filepath.Join(b.dir, Folder, "trees")+"/") {
			t.Errorf("the agent works in %q, write %t, tools %q", task.Codebase, task.Write, task.Tools)
		}
		return change(ctx, task)
	}
	r := b.start(Fix, "make it six")
	if r.State.Status != run.Review || b.tree() != before || b.git("status", "--porcelain") != "" {
		t.Fatalf("%s; the checkout:\n%s", r.State.Status, b.tree())
	}
	if want := []string{"Read", "Grep", "Glob", "Edit", "Write"}; !slices.Equal(r.Meta.Tools, want) {
		t.Errorf("meta.yaml has tools %q, want %q", r.Meta.Tools, want)
	}
	patch := b.read(".agents/latest/changes.patch")
	if !strings.Contains(patch, "+const MaxRetries = 6") || !strings.Contains(patch, "b/new.go") || strings.Contains(patch, ".claude") {
		t.Errorf("patch:\n%s", patch)
	}
	ctx := context.Background()
	if err := b.open().Merge(ctx, "latest", Merge{}); status(err) != sysexit.Usage || b.git("status", "--porcelain") != "" {
		t.Errorf("merged with nobody to ask: %v", err)
	}
	b.write("retry.go", "package pay // mine\n")
	if err := b.open().Merge(ctx, "latest", Merge{Yes: true}); status(err) != sysexit.No || b.read("retry.go") != "package pay // mine\n" {
		t.Errorf("merged over a change: %v", err)
	}
	b.git("checkout", "-q", ".")
	if err := b.open().Merge(ctx, "latest", Merge{Yes: true}); err != nil {
		t.Fatal(err)
	}
	if got := b.git("status", "--porcelain"); got != " M retry.go\n?? new.go\n" {
		t.Errorf("after the merge: %q", got)
	}
	if s, err := b.open().State(r.Meta.RunName); err != nil || s.Status != run.Merged {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.open().Merge(ctx, "latest", Merge{Yes: true}); status(err) != sysexit.No {
		t.Errorf("merged twice: %v", err)
	}
	if trees := b.git("worktree", "list", "--porcelain"); strings.Count(trees, "worktree ") != 1 {
		t.Errorf("worktrees:\n%s", trees)
	}
}

func TestMergeBranch(t *testing.T) {
	b := newBench(t)
	b.agent.play = change
	r := b.start(Fix, "Make it SIX: ../../etc; $(x)")
	if err := b.open().Merge(context.Background(), r.Meta.RunName[:20], Merge{Yes: true, Branch: true}); err != nil {
		t.Fatal(err)
	}
	branch := "tri/make-it-six-etc-x-" + idOf(r.Meta.RunName)
	if got := b.git("show", "--stat", "--format=%B", branch); !strings.Contains(got, "Make it SIX") || !strings.Contains(got, r.Meta.RunName) || !strings.Contains(got, "2 files changed") {
		t.Errorf("%s", got)
	}
	if b.git("status", "--porcelain") != "" {
		t.Error("the checkout was touched")
	}
}

func TestUnsafePatchIsRefused(t *testing.T) {
	b := newBench(t)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if err := os.Symlink("/etc/passwd", filepath.Join(task.Codebase, "link")); err != nil {
			t.Error(err)
		}
		return says("done")(ctx, task)
	}
	b.start(Fix, "link it")
	if err := b.open().Merge(context.Background(), "latest", Merge{Yes: true}); status(err) != sysexit.NoPerm || b.git("status", "--porcelain") != "" {
		t.Errorf("%v", err)
	}
}

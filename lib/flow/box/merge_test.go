package box

import (
	"context"
	"errors"
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
		if !task.Write || slices.Contains(task.Tools, "Edit") ||
			!strings.HasPrefix(task.Codebase, filepath.Join(b.dir, Folder, "trees")+"/") {
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
	if !strings.Contains(patch, "+const MaxRetries = 6") || !strings.Contains(patch, "b/new.go") ||
		strings.Contains(patch, ".claude") {
		t.Errorf("patch:\n%s", patch)
	}
	ctx := context.Background()
	if err := b.open().Merge(ctx, "latest", Merge{}); status(err) != sysexit.Usage ||
		b.git("status", "--porcelain") != "" {
		t.Errorf("merged with nobody to ask: %v", err)
	}
	b.write("retry.go", "package pay // mine\n")
	if err := b.open().Merge(ctx, "latest", Merge{Yes: true}); status(err) != sysexit.No ||
		b.read("retry.go") != "package pay // mine\n" {
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
	if err := b.open().Merge(context.Background(), r.Meta.RunName[:20],
		Merge{Yes: true, Branch: true}); err != nil {
		t.Fatal(err)
	}
	branch := "tri/make-it-six-etc-x-" + idOf(r.Meta.RunName)
	if got := b.git("show", "--stat", "--format=%B", branch); !strings.Contains(got, "Make it SIX") ||
		!strings.Contains(got, r.Meta.RunName) || !strings.Contains(got, "2 files changed") {
		t.Errorf("%s", got)
	}
	if b.git("status", "--porcelain") != "" {
		t.Error("the checkout was touched")
	}
	// What a reviewer said makes another attempt, in the same worktree, on a branch of
	// its own.
	if s, err := b.open().State(r.Meta.RunName); err != nil || s.Status != run.Proposed ||
		s.Phase != run.Waiting {
		t.Errorf("%+v, %v", s, err)
	}
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if text, err := os.ReadFile(filepath.Join(task.Codebase, "retry.go")); err != nil ||
			!strings.Contains(string(text), "= 6") {
			t.Errorf("its worktree: %s, %v", text, err)
		}
		res, err := says("done")(ctx, task)
		return res, errors.Join(err, os.WriteFile(filepath.Join(task.Codebase, "retry.go"),
			[]byte("package pay\n\nconst MaxRetries = 7\n"), 0o644))
	}
	if again, err := b.open().Resume(context.Background(), r.Meta.RunName, "seven, please"); err != nil ||
		again.State.Status != run.Review {
		t.Fatalf("%+v, %v", again, err)
	}
	if err := b.open().Merge(context.Background(), r.Meta.RunName,
		Merge{Yes: true, Branch: true}); err != nil {
		t.Fatal(err)
	}
	if six, seven := b.git("show", branch+":retry.go"),
		b.git("show", branch+"-2:retry.go"); !strings.Contains(six, "= 6") ||
		!strings.Contains(seven, "= 7") {
		t.Errorf("%s\n%s", six, seven)
	}
	if err := b.open().Merge(context.Background(), r.Meta.RunName, Merge{Yes: true}); err != nil ||
		!strings.Contains(b.read("retry.go"), "= 7") {
		t.Errorf("the files after all: %v", err)
	}
}

// TestMergeLatest: latest is the newest whose patch waits, not a question asked since.
func TestMergeLatest(t *testing.T) {
	b := newBench(t)
	b.agent.play = change
	b.start(Fix, "make it six")
	b.agent.play = says("It is 5.")
	b.start(Scout, "how many?")
	if err := b.open().Merge(context.Background(), "latest", Merge{Yes: true}); err != nil ||
		!strings.Contains(b.read("retry.go"), "= 6") {
		t.Error(err)
	}
}

// TestSecretsAreNotMerged: neither the value of a variable that gives access nor what
// has the form of a key leaves in a patch or in a report.
func TestSecretsAreNotMerged(t *testing.T) {
	value := strings.Repeat("k3y-", 2) + "0f-the-m0del"
	t.Setenv("SOME_MODEL_API_KEY", value)
	pat := "gh" + "p_" + "9a8B7c6D5e4F3g2H1i0JkLmNoPqRsTuVwXyZ"
	for name, tt := range map[string]struct{ file, report, says string }{
		"variable in the patch": {"package pay // " + value, "done",
			"retry.go: holds the value of SOME_MODEL_API_KEY"},
		"token in the patch": {"package pay // " + pat, "done",
			"retry.go: holds what looks like a secret"},
		"after two signs": {"++ " + pat, "done", "retry.go: holds what looks like a secret"},
		"variable in a report": {"package pay // 6", "it is " + value,
			"report.md: holds the value of SOME_MODEL_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
				res, err := says(tt.report)(ctx, task)
				return res, errors.Join(err,
					os.WriteFile(filepath.Join(task.Codebase, "retry.go"), []byte(tt.file+"\n"), 0o644))
			}
			b.start(Fix, "x")
			for _, how := range []Merge{{Check: true}, {Yes: true}, {Yes: true, Branch: true}} {
				b.out.Reset()
				if err := b.open().Merge(context.Background(), "latest",
					how); status(err) != sysexit.NoPerm ||
					!strings.Contains(b.out.String(), "refused: "+tt.says) {
					t.Errorf("%+v: %v\n%s", how, err, b.out.String())
				}
			}
			if b.git("status", "--porcelain") != "" || b.git("branch", "--list", "tri/*") != "" {
				t.Error("something was changed")
			}
			if err := b.open().Merge(context.Background(), "latest",
				Merge{Yes: true, Secrets: true}); err != nil {
				t.Errorf("a person said that it is none: %v", err)
			}
		})
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
	if err := b.open().Merge(context.Background(), "latest",
		Merge{Yes: true}); status(err) != sysexit.NoPerm || b.git("status", "--porcelain") != "" {
		t.Errorf("%v", err)
	}
}

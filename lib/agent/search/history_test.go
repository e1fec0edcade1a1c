package search

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
			"commit.gpgsign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestCommits: a question for the past is also answered from the messages of
// commits, each a reference that code can check; another question is not.
func TestCommits(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, shop)
	git(t, dir, "add", "pay")
	git(t, dir, "commit", "-q", "-m",
		"pay: try a charge five times\n\nThe bank drops one connection in three at night, so two tries were too few.")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "web: forget nothing")
	c := New()
	ret, err := ask(t, c, dir, "why is a charge tried five times?")
	if err != nil {
		t.Fatal(err)
	}
	last := ret.EvidenceRefs[len(ret.EvidenceRefs)-1]
	if last.Kind != draft.KindGitCommit || !strings.Contains(last.Quote, "try a charge five times") ||
		!strings.Contains(ret.DraftReply, last.Ref[:12]) {
		t.Fatalf("%+v\n%s", ret.EvidenceRefs, ret.DraftReply)
	}
	if ret.EvidenceRefs[0].Kind != draft.KindFile {
		t.Errorf("the code comes first: %+v", ret.EvidenceRefs)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	refs := evidence.Stamp(root, repo, ret.EvidenceRefs, time.Now())
	for _, ref := range refs {
		if f := evidence.Resolve(root, repo, ref); f.Result != evidence.Supports {
			t.Errorf("%s: %s: %s", ref.Ref, f.Result, f.Note)
		}
	}
	if refs := c.commits(context.Background(), dir, "how often is a charge tried?"); refs != nil {
		t.Errorf("history for a question that asks for none: %v", refs)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m",
		"pay: undo the nightly pause of refunds\n\nRefunds wait for nobody.")
	if refs := c.commits(context.Background(), dir,
		"why did we undo the pause of refunds?"); len(refs) == 0 ||
		!strings.Contains(refs[0].Quote, "nightly pause") {
		t.Errorf("a new commit is not found: %v", refs)
	}
}

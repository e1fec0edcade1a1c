package probe

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/sandbox/sandboxtest"
)

// TestNothingGetsThrough tries everything as the user who runs the tests.
func TestNothingGetsThrough(t *testing.T) {
	helper := filepath.Join(sandboxtest.Path(t), "tri-sandbox")
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	o, err := Run(ctx, helper)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Rows) < 40 || o.Skipped > 0 {
		t.Errorf("%d probes, %d of them skipped", len(o.Rows), o.Skipped)
	}
	names := map[string]bool{}
	for _, row := range o.Rows {
		if names[row.Name] {
			t.Errorf("two probes are called %q", row.Name)
		}
		names[row.Name] = true
		if row.Through[0] {
			t.Errorf("a program could %s", row.Name)
		}
		// A probe that fails without walls proves nothing.
		if bare := len(columns) - 1; row.Anybody && !row.Through[bare] {
			t.Errorf("without walls a program could not %s: %s", row.Name, row.Said[bare])
		}
	}
	outer, inner := o.Through(1), o.Through(2)
	if bare := o.Through(3); outer >= bare || inner >= bare || outer == 0 || inner == 0 {
		t.Errorf("through without walls %d, with the outer %d, with the inner %d: each ought to hold a part",
			bare, outer, inner)
	}
	t.Logf("through: %d of %d; with bubblewrap alone %d, with Landlock and the filter alone %d, without walls %d; limits: %s",
		o.Through(0), len(o.Rows), outer, inner, o.Through(3), o.Limits)
}

// TestNothingGetsThroughForNobody tries everything as a user with no rights at
// all, who can make no control groups.
func TestNothingGetsThroughForNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become nobody; the other test was run as a user")
	}
	helper := filepath.Join(sandboxtest.Path(t), "tri-sandbox")
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, helper, "--probe")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.SysProcAttr = asNobody()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 skipped; through  ") {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "limits: rlimits") {
		t.Errorf("nobody could make control groups?\n%s", out)
	}
}

func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

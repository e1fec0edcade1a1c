package cmd_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTorture kills the pipeline, and tri-box with the agents that it supervises, at random. The rounds
// wait more than they work, so they run beside each other.
func TestTorture(t *testing.T) {
	t.Parallel()
	torture := filepath.Join(t.TempDir(), "torture")
	if out, err := exec.Command("go", "build", "-C", "../scripts", "-o", torture,
		"./torture").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	classify, err := exec.LookPath("tri-classify")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"local":      {"kill", "-chat", "local", "-rounds", "40", "-messages", "40"},
		"mattermost": {"kill", "-chat", "mattermost", "-rounds", "40", "-messages", "40"},
		"box":        {"box", "-rounds", "20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(torture, append(args, "-bin", filepath.Dir(classify))...).CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

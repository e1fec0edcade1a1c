package cmd_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTorture kills every stage at random, for some seconds, with each chat. make torture does it
// for longer, and at every system call.
func TestTorture(t *testing.T) {
	torture := filepath.Join(t.TempDir(), "torture")
	if out, err := exec.Command("go", "build", "-C", "../scripts", "-o", torture,
		"./torture").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	classify, err := exec.LookPath("tri-classify")
	if err != nil {
		t.Fatal(err)
	}
	for _, chat := range []string{"local", "mattermost"} {
		t.Run(chat, func(t *testing.T) {
			out, err := exec.Command(torture, "kill", "-bin", filepath.Dir(classify), "-chat", chat,
				"-rounds", "40", "-messages", "40").CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTortureBox kills tri-box and the agents that it supervises at random.
func TestTortureBox(t *testing.T) {
	torture := filepath.Join(t.TempDir(), "torture")
	if out, err := exec.Command("go", "build", "-C", "../scripts", "-o", torture,
		"./torture").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	box, err := exec.LookPath("tri-box")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(torture, "box", "-bin", filepath.Dir(box), "-rounds", "20").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEarlierHome: the programs read and continue a home of the version whose journal had whole
// copies. It has an answered thread in which a second person asked, a withdrawn question, and an
// approved draft that was not yet posted.
func TestEarlierHome(t *testing.T) {
	open := func(t *testing.T) (run func(string) string) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/earlier")); err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(dir, "home")
		if err := os.Chmod(home, 0o700); err != nil {
			t.Fatal(err)
		}
		return func(command string) string {
			t.Helper()
			c := exec.Command("bash", "-o", "pipefail", "-c", command)
			c.Dir, c.Env = dir, append(os.Environ(), "TRI_HOME="+home)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			return string(out)
		}
	}
	const dispatch, posts = "tri-dispatch --once home/events-classified.ndjson", "grep -c '^tri >' chat/dev"
	rebuilt := func(t *testing.T, run func(string) string) {
		t.Helper()
		if got := run("tri-dispatch --rebuild"); !strings.Contains(got,
			": 3 threads, 0 rewritten, 0 unknown removed") {
			t.Error(got)
		}
		run("tri-report verify")
	}
	t.Run("goes on", func(t *testing.T) {
		run := open(t)
		run("tri-report verify")
		if got := run(dispatch); strings.Contains(got, `"to":"investigating"`) {
			t.Errorf("asked anew:\n%s", got)
		}
		rebuilt(t, run)
		run("tri-reply --once --local chat && " + dispatch)
		if got := run(posts); got != "2\n" {
			t.Errorf("%s posts, want the one before and the one approved", got)
		}
		run("tri-reply --once --local chat")
		if got := run("cat home/events-classified.ndjson | tri-dispatch --once"); got != "" {
			t.Errorf("read again from a pipe:\n%s", got)
		}
		if got := run(posts); got != "2\n" {
			t.Errorf("%s posts after another look", got)
		}
		rebuilt(t, run)
	})
	t.Run("its badges", func(t *testing.T) { // as a17b434 has them; they are read in today's words
		run := open(t)
		run(`sed -i 's/"badge": "disagreement"/"badge": "✓ validated"/' home/open/* home/closed/*/*`)
		run(dispatch + " && tri-report verify")
		rebuilt(t, run)
	})
	t.Run("rebuilt at once", func(t *testing.T) {
		run := open(t)
		before := run("cat home/open/* home/closed/*/*")
		rebuilt(t, run)
		if after := run("cat home/open/* home/closed/*/*"); after != before {
			t.Error("the threads are not what they were")
		}
	})
}

package api

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/judge/codebase"
	"tri/lib/judge/evidence"
)

// TestGitLog checks that history is listed by path and lines, bounded, and not of hidden or outer files.
func TestGitLog(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Mira", "GIT_AUTHOR_EMAIL=m@example.org", "GIT_COMMITTER_NAME=Mira",
			"GIT_COMMITTER_EMAIL=m@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(text, subject string) {
		t.Helper()
		for _, name := range []string{"retry.go", "keys.pem"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-q", "-m", subject)
	}
	git("init", "-q")
	commit("one\ntwo\nthree\n", "Begin")
	commit("one\n2\nthree\n", "Change two\x1b[31m "+strings.Repeat("long ", 200))
	commit("one\n2\n3\n", "Change three")
	tree, err := codebase.Open(dir, []string{"keys.pem"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	repo, err := evidence.OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ input, want, fault string }{
		{`{}`, "three two Begin", ""},
		{`{"path":"retry.go"}`, "three two Begin", ""},
		{`{"path":"retry.go","from":2}`, "two Begin", ""},
		{`{"path":"retry.go","from":2,"to":3}`, "three two Begin", ""},
		{`{"path":"retry.go","from":3,"to":2}`, "", "not before it"},
		{`{"path":"retry.go","from":99}`, "", "history of retry.go"},
		{`{"path":"keys.pem"}`, "", "not to be seen"},
		{`{"path":"../x"}`, "", "outside the codebase"},
		{`{"path":"--output=x"}`, "", ""},
	} {
		text, err := logTool(tree, repo).call(t.Context(), json.RawMessage(tt.input))
		var got []string
		for word := range strings.FieldsSeq(text) {
			if word == "Begin" || word == "two" || word == "three" {
				got = append(got, word)
			} else if strings.HasPrefix(word, "two") {
				got = append(got, "two")
			}
		}
		if fault := err != nil; strings.Join(got, " ") != tt.want || fault != (tt.fault != "") ||
			fault && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %q, %v", tt.input, text, err)
		}
		if strings.ContainsRune(text, 0x1b) || len(text) > 600 {
			t.Errorf("%s: %d bytes: %q", tt.input, len(text), text)
		}
	}
}

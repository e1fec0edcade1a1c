package longrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/event"
	"tri/lib/record/run"
)

// TestNames: keys that tmux or a file system would confuse have sessions of their
// own, in our own alphabet, and no text of a chat is in a command line.
func TestNames(t *testing.T) {
	keys := []string{}
	for i := range 1 << 12 { // every text of 6 of these, twice
		var b strings.Builder
		for n := i; b.Len() < 6; n /= 4 {
			b.WriteByte(".:_-"[n%4])
		}
		keys = append(keys, b.String())
	}
	texts, err := os.ReadFile("../../../../shared/data/hostile/text/blns.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("left out: the hostile texts are not here")
		texts, err = []byte("[]"), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var hostile []string
	if err := json.Unmarshal(texts, &hostile); err != nil {
		t.Fatal(err)
	}
	hostile = append(hostile, "../../../tmp/canary", "$(touch canary)", "`touch canary`", "; touch canary",
		"a;", "=x", "-L", "{}", "#{pane_pid}")
	seen := map[string]string{}
	for _, name := range append(keys, hostile...) {
		id := attempt(event.Key("local", "dev", name), 1)
		if other, taken := seen[id]; taken && other != name || !run.IsID(id) {
			t.Errorf("%q and %q share %s", name, other, id)
		}
		seen[id] = name
	}
	if len(seen) < 1<<12+9 || len(hostile) > 100 && len(seen) < 1<<12+400 {
		t.Errorf("%d names", len(seen))
	}
}

// TestArguments: neither the subject of a run nor the environment is in a command line.
func TestArguments(t *testing.T) {
	d := manager(t, config.Tmux)
	r := ask("$(touch canary);", "wait for $(touch canary)")
	begin(t, d, r)
	p := runner(t, d, r.RunID)
	out, err := exec.Command("tmux", "-L", d.server(), "display-message", "-p", "-t", "="+r.RunID+":",
		"#{pid} #{pane_pid} #{session_name}").Output()
	if err != nil {
		t.Fatal(err)
	}
	var server, pane int
	var session string
	if _, err := fmt.Sscan(string(out), &server, &pane, &session); err != nil || pane != p.PID ||
		session != r.RunID {
		t.Errorf("%q: tmux runs %d, the runner is %d", out, pane, p.PID)
	}
	for _, pid := range []int{server, pane} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			t.Skip(err)
		}
		if bytes.Contains(line, []byte("canary")) || bytes.Contains(line, []byte("s3cret")) ||
			bytes.Contains(line, []byte("sh\x00-c")) {
			t.Errorf("%d: %q", pid, line)
		}
	}
}

func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "a;": `a\;`, ";": `\;`, "a;b": "a;b"} {
		if got := literal(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

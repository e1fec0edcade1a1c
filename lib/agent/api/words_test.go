package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	record "tri/lib/record/run"
)

// TestWords: a word is in the next request, and one that comes with the answer in one more.
func TestWords(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{tool: "list", input: `{}`}, say{tool: "answer", input: good},
			say{tool: "answer", input: good})
		words := make(chan agent.Word, 2)
		var ears []string
		b.task.Words = words
		b.task.Heard = func(id, how string) { ears = append(ears, id+" "+how) }
		told := b.task.Watch
		n := 0
		b.task.Watch = func(e agent.Event) {
			if told != nil {
				told(e)
			}
			if e.Kind == agent.Tool {
				words <- agent.Word{ID: "w-1", Kind: record.Append, Text: "only the auth service"}
			}
		}
		check := b.task.Check
		b.task.Check = func(v []byte) error {
			if n++; n == 1 {
				words <- agent.Word{ID: "w-2", Kind: record.Append, Text: "and v2"}
			}
			return check(v)
		}
		res, err := b.run()
		if err != nil || string(res.Value) != good || len(b.heard) != 3 {
			t.Fatalf("%q, %d requests, %v", res.Value, len(b.heard), err)
		}
		if strings.Contains(b.heard[0], "auth service") || !strings.Contains(b.heard[1], "auth service") ||
			strings.Contains(b.heard[1], "and v2") || !strings.Contains(b.heard[2], "and v2") {
			t.Errorf("%q", b.heard)
		}
		if got := strings.Join(ears, ", "); got != "w-1 sent, w-1 taken, w-2 sent, w-2 taken" {
			t.Errorf("%q", got)
		}
	})
}

// TestFork: a fork has the history of its origin, which stays as it is.
func TestFork(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{tool: "answer", input: good})
		runs := t.TempDir()
		b.task.Dir = filepath.Join(runs, "one")
		first := b.task
		for _, dir := range []string{"one", "two"} {
			if err := mkdir(filepath.Join(runs, dir)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
		before := read(t, filepath.Join(runs, "one", sessionFile))
		b.task.Dir, b.task.SessionID, b.task.Prompt = filepath.Join(runs, "two"), "another-session",
			"did it go through?"
		b.task.Fork, b.task.From = true, &record.Checkpoint{RunID: "one", SessionID: first.SessionID}
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
		if last := b.heard[len(b.heard)-1]; !strings.Contains(last, "did it go through") ||
			!strings.Contains(last, "taken") {
			t.Errorf("%q", last)
		}
		if after := read(t, filepath.Join(runs, "one", sessionFile)); after != before {
			t.Errorf("the origin's session was changed: %q", after)
		}
		b.task.From = &record.Checkpoint{RunID: "../one", SessionID: "x"}
		if _, err := b.run(); err == nil {
			t.Error("a session that is not there was gone on from")
		}
	})
}

func mkdir(dir string) error { return os.MkdirAll(dir, 0o700) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

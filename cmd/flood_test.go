package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFlood: ten thousand mentions, or two thousand with -short, start no more runs than the budget allows
// and notify the operator once, and none is lost; with new budget they are processed without intervention.
func TestFlood(t *testing.T) {
	mentions := 10_000
	if testing.Short() {
		mentions = 2000
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	code := filepath.Join(dir, "code")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("code/retry.go", "package retry\n\n// Limit is how often a request is retried.\nconst Limit = 5\n")
	asked := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339) // an old question opens no thread
	var events bytes.Buffer
	for i := range mentions {
		fmt.Fprintf(&events,
			`{"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d","create_time":"%s","msg_type":"text","content":"what is retry Limit %d for?","sender":{"id":"p%d","name":"","type":"user"},"mentions":[],"is_bot_mention":true,"classification":"actionable","is_question":true}`+"\n", i, asked, i, i%2000)
	}
	file := write("events.ndjson", events.String())
	flood := func(budget int) (said string, peak int64) {
		t.Helper()
		config := write("config.yaml",
			fmt.Sprintf("budget: {investigations_per_day: %d, investigations_per_person_per_day: 0}\ngate: {chat: {platform: local, chat_id: ops}}\n", budget))
		c := exec.Command("tri-dispatch", "--once", "--codebase", code, "--config", config, file)
		c.Env = append(os.Environ(), "TRI_HOME="+home)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		begun := time.Now()
		if err := c.Run(); err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		peak = c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("a budget of %d: %v, %d MB", budget, time.Since(begun).Round(time.Millisecond), peak)
		return stderr.String(), peak
	}
	said, peak := flood(5)
	if n := strings.Count(said, "budget spent"); n != 1 || strings.Count(said, "\n") != 1 {
		t.Errorf("said %d times:\n%.2000s", n, said)
	}
	if peak > 200 {
		t.Errorf("it took %d MB", peak)
	}
	if n := len(list(t, filepath.Join(home, "runs", "i-*"))); n != 5 {
		t.Errorf("%d investigations of 5", n)
	}
	if n := len(list(t, filepath.Join(home, "open", "*"))); n != mentions {
		t.Errorf("%d threads of %d", n, mentions)
	}
	if n := linesOf(t, filepath.Join(home, "signals.ndjson")); n != 1 {
		t.Errorf("%d cards", n)
	}
	if n := badges(t, home)["budget spent"]; n != mentions-5 {
		t.Errorf("%d threads wait for budget", n)
	}
	flood(20)
	if runs, waiting := len(list(t, filepath.Join(home, "runs", "i-*"))),
		badges(t, home)["budget spent"]; runs != 20 || waiting != mentions-20 {
		t.Errorf("with a larger budget: %d investigations, %d threads wait", runs, waiting)
	}
	rebuild := exec.Command("tri-dispatch", "--rebuild", "--home", home)
	if out, err := rebuild.CombinedOutput(); err != nil ||
		!strings.Contains(string(out), fmt.Sprint(mentions, " threads, 0 rewritten, 0 unknown")) {
		t.Errorf("%v: %s", err, out)
	}
}

func list(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func linesOf(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		n++
	}
	return n
}

// badges counts the open threads by their badge.
func badges(t *testing.T, home string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, name := range list(t, filepath.Join(home, "open", "*")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var thread struct{ Badge string }
		if err := json.Unmarshal(text, &thread); err != nil {
			t.Fatal(err)
		}
		n[thread.Badge]++
	}
	return n
}

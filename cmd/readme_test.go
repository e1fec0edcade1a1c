package cmd_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

// TestReadme runs the first example of the README and compares its output with the README, in any
// order, since stderr is not synchronized with stdout.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n```\n$ ")
	block, _, _ = strings.Cut("$ "+block, "\n```")
	for _, part := range strings.Split(block, "$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		run := exec.Command("bash", "-c", command)
		run.Dir = ".."
		got, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if w, g := lines(want), lines(string(got)); !slices.Equal(w, g) {
			t.Errorf("%s\nprints\n%s\nnot\n%s", command, got, want)
		}
	}
	for _, row := range sysexit.Table {
		if !strings.Contains(string(text), row.Meaning+" |") {
			t.Errorf("the table of statuses lacks %d, %s", row.Status, row.Meaning)
		}
	}
	if n := strings.Count(string(text), "\n"); n > 150 {
		t.Errorf("%d lines, at most 150", n)
	}
}

func lines(s string) []string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	slices.Sort(all)
	return all
}

package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

// TestReadme runs every command of the README as a reader would type it: in a fresh folder with a
// checkout's examples and code, the programs on PATH, and a home of its own. Where the README shows
// output, it is compared in any order, since stderr is not synchronized with stdout.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"examples", "lib/base", "lib/record"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(string(page),
		-1) {
		ran += runBlock(t, dir, block[1])
	}
	if ran < 11 {
		t.Errorf("%d commands were run", ran)
	}
	for _, row := range sysexit.Table {
		if !strings.Contains(string(page), row.Meaning+" |") {
			t.Errorf("the table of statuses lacks %d, %s", row.Status, row.Meaning)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("..", link[1])); err != nil {
			t.Errorf("the README links to %s: %v", link[1], err)
		}
	}
	if n := strings.Count(string(page), "\n"); n > 150 {
		t.Errorf("%d lines, at most 150", n)
	}
}

// notHere matches commands that build, that need a terminal, or that are a line of a crontab.
var notHere = regexp.MustCompile(`^(make|export PATH|tri-approve tui|0 8 )`)

// runBlock runs the commands of a block one after the other in one shell session's environment, and
// returns how many. A block with prompts shows output.
func runBlock(t *testing.T, dir, block string) (ran int) {
	env := ""
	shows := strings.HasPrefix(block, "$ ")
	parts := strings.Split(strings.TrimPrefix(block, "$ "), "\n$ ")
	if !shows {
		parts = strings.Split(strings.ReplaceAll(block, "|\n    ", "| "), "\n")
	}
	for _, part := range parts {
		command, want, _ := strings.Cut(part, "\n")
		if command == "" || command[0] == '#' || notHere.MatchString(command) {
			continue
		}
		ran++
		checkCalls(t, "README.md", command)
		if strings.HasPrefix(command, "export ") {
			env += command + "\n"
			continue
		}
		out, err := bash(t, dir, "set -o pipefail\n"+env+command)
		exit, _ := err.(*exec.ExitError)
		if err != nil && (exit == nil || exit.ExitCode() != 1) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if strings.Contains(string(out), "no place for bad_path") {
			t.Errorf("%s: no false citation was planted\n%s", command, out)
		}
		if w, g := lines(want), lines(string(out)); want != "" && !slices.Equal(w, g) {
			t.Errorf("%s\nprints\n%s\nnot\n%s", command, out, want)
		}
	}
	return ran
}

func lines(s string) []string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	slices.Sort(all)
	return all
}

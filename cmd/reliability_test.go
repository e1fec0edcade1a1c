package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTrackRecord: each test that tri-reliability(7) names as the reproducer of a bug exists, and
// so does each command of torture.
func TestTrackRecord(t *testing.T) {
	page, err := os.ReadFile("../man/tri-reliability.7")
	if err != nil {
		t.Fatal(err)
	}
	promises, record, _ := strings.Cut(string(page), "\n.Sh TRACK RECORD\n")
	if n := strings.Count(string(page), "\n"); n > 140 {
		t.Errorf("%d lines; a page has at most 140", n)
	}
	bugs := regexp.MustCompile(`(?m)^\.It [0-9a-f]{7} \([0-9a-f]{7}\) Pa (\S+) : (\w+)( ; .+)?\n[^.].+\.$`).FindAllStringSubmatch(record, -1)
	if n := strings.Count(record, "\n.It "); n < 12 || n != len(bugs) {
		t.Errorf("%d bugs, %d reproducers", n, len(bugs))
	}
	for _, m := range bugs {
		if !declares(t, "../"+m[1]+"/*_test.go", "func "+m[2]+"(") {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^torture ([a-z, ]+?)  `).FindAllStringSubmatch(promises, -1) {
		for _, name := range strings.Split(m[1], ", ") {
			if !declares(t, "../scripts/torture/*.go", `{"`+name+`", "`) {
				t.Errorf("there is no torture %s", name)
			}
		}
	}
}

// declares reports whether one of the files that match a pattern contains text.
func declares(t *testing.T, pattern, text string) bool {
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

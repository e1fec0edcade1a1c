package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/base/cli"
)

// TestPage: -h and the page have the same sentence and options, and -h fits 80 columns. The page's first
// sentence is the risk.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("tri-presence.1")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.Contains(page, "\n.Nd "+program.Usage+"\n") {
		t.Errorf(".Nd is not %q", program.Usage)
	}
	_, first, _ := strings.Cut(page, "\n.Sh DESCRIPTION\n")
	if first, _, _ = strings.Cut(first, "\n.Pp\n"); !strings.Contains(first, "ban an account") {
		t.Errorf("the page begins with %q", first)
	}
	option := regexp.MustCompile(`--([a-z]+)`)
	for _, args := range [][]string{{"-h"}, {"login", "-h"}, {"run", "-h"}} {
		var out, errs bytes.Buffer
		if n := cli.Run(program, append([]string{"tri-presence"}, args...), nil, &out, &errs); n != 0 {
			t.Fatal(n, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%v: wider than 80 columns: %q", args, line)
			}
		}
		for _, m := range option.FindAllStringSubmatch(out.String(), -1) {
			if !strings.Contains(page, "Fl -"+m[1]) {
				t.Errorf("the page lacks --%s", m[1])
			}
		}
	}
}

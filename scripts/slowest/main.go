// Slowest reads what make check prints with TESTFLAGS=-json, shows it as go test
// alone would, and then the packages and tests that took longest.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

const shown = 10

func main() {
	if err := summarize(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "slowest: %v\n", err)
		os.Exit(1)
	}
}

// An entry is one line of go tool test2json.
type entry struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// summarize copies lines that are not entries, what the packages say, and what a
// test that failed said; then it tells what took longest.
func summarize(in io.Reader, out io.Writer) error {
	said := map[string]string{} // by test that runs
	var packages, tests []entry
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			fmt.Fprint(out, line)
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			if e.Test != "" {
				said[name] += e.Output
			} else if e.Output != "PASS\n" { // "ok" follows
				fmt.Fprint(out, e.Output)
			}
		case "fail":
			fmt.Fprint(out, said[name])
		}
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			delete(said, name)
			if e.Test == "" {
				packages = append(packages, e)
			} else if !strings.Contains(e.Test, "/") || strings.HasPrefix(e.Test, "TestScripts/") {
				tests = append(tests, e)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprint(out, said[name]) // it was running when all ended
	}
	longest(out, "packages", packages)
	longest(out, "tests", tests)
	return nil
}

func longest(out io.Writer, what string, entries []entry) {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	if len(entries) > 0 {
		fmt.Fprintf(out, "\nthe slowest %s, in seconds:\n", what)
	}
	for _, e := range entries[:min(shown, len(entries))] {
		fmt.Fprintf(out, "%8.1f  %s\n", e.Elapsed, strings.TrimSpace(e.Package+" "+e.Test))
	}
}

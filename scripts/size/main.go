// Size prints how many lines of Go each floor of lib links into the programs, and how
// many bytes each program has, beside the budgets in scripts/size/budgets:
//
//	size [-bin DIR] [-set]
//
// It ends with status 1 when a budget is exceeded. -set makes today's sizes the
// budgets, for a commit that lowers them.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

const budgetFile = "scripts/size/budgets"

func main() {
	bin := flag.String("bin", "", "measure the programs in `DIR`, too")
	set := flag.Bool("set", false, "write the budgets anew")
	flag.Parse()
	over, err := run(os.Stdout, ".", *bin, *set)
	if err != nil {
		fmt.Fprintf(os.Stderr, "size: %v\n", err)
		os.Exit(70)
	}
	if len(over) > 0 {
		fmt.Fprintf(os.Stderr, "size: over budget: %s\n", strings.Join(over, ", "))
		os.Exit(1)
	}
}

// A size is a measured number: of lines or of bytes.
type size struct {
	unit, name string
	n          int64
}

// budget is n rounded up: to 50 lines, to 100 kB with 10 kB left, since the version is part of a program.
func (s size) budget() int64 {
	if s.unit == "lines" {
		return (s.n + 49) / 50 * 50
	}
	return (s.n + 109_999) / 100_000 * 100_000
}

func (s size) key() string { return s.unit + " " + s.name }

// run measures the checkout at root, prints a table, and returns what is over budget.
func run(w io.Writer, root, bin string, set bool) (over []string, err error) {
	sizes, err := linked(root)
	if err != nil {
		return nil, err
	}
	if bin != "" {
		programs, err := binaries(bin)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, programs...)
	}
	file := filepath.Join(root, budgetFile)
	if set {
		var b strings.Builder
		for _, s := range sizes {
			fmt.Fprintln(&b, s.key(), s.budget())
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			return nil, err
		}
	}
	budgets, err := readBudgets(file)
	if err != nil {
		return nil, err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tnow\tbudget\t")
	for _, s := range sizes {
		budget, ok := budgets[s.key()]
		mark := ""
		if !ok || s.n > budget {
			over, mark = append(over, s.key()), " OVER"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", s.key(), s.n, budget, mark)
	}
	return over, t.Flush()
}

// linked counts the lines of the Go files that the programs link, by floor.
func linked(root string) ([]size, error) {
	c := exec.Command("go", "list", "-deps", "-f",
		`{{with .Module}}{{if .Main}}{{$.ImportPath}}{{range $.GoFiles}} {{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`,
		"./cmd/...")
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	floors := []size{}
	for _, name := range []string{"base", "record", "judge", "chat", "agent", "flow", "report",
		"cmd", "all"} {
		floors = append(floors, size{unit: "lines", name: name})
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f[0], "tri/"), "lib/"), "/")
		for _, file := range f[1:] {
			src, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for i := range floors {
				if floors[i].name == name || floors[i].name == "all" {
					floors[i].n += int64(bytes.Count(src, []byte("\n")))
				}
			}
		}
	}
	return floors, nil
}

// binaries measures the programs in a folder.
func binaries(dir string) ([]size, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "tri*"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no programs in %s (%v)", dir, err)
	}
	var sizes []size
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size{"bytes", filepath.Base(path), info.Size()})
	}
	return sizes, nil
}

// readBudgets reads lines of unit, name and number.
func readBudgets(file string) (map[string]int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	budgets := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var s size
		if _, err := fmt.Sscan(line, &s.unit, &s.name, &s.n); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, line, err)
		}
		budgets[s.key()] = s.n
	}
	return budgets, nil
}

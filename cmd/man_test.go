package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"tri/lib/base/sysexit"
)

var sections = []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}

// TestMan compares each program's page with the program's own help.
func TestMan(t *testing.T) {
	for _, name := range programs(t) {
		t.Run(name, func(t *testing.T) {
			help, err := exec.Command(name, "-h").Output()
			if err != nil {
				t.Fatal(err)
			}
			page, err := os.ReadFile("../man/" + name + ".1")
			if err != nil {
				t.Fatal(err)
			}
			// A program of several commands has a page for all of them.
			most := 140 + 6*strings.Count(string(page), "\n.It Cm ")
			if n := strings.Count(string(page), "\n"); n > most {
				t.Errorf("%d lines; a page like this has at most %d", n, most)
			}
			checkWidth(t, name, string(help))
			checkFlags(t, name, string(help), string(page))
			checkNames(t, name, string(help), string(page))
			checkStatuses(t, string(page))
			checkSections(t, string(page))
		})
	}
}

var (
	helpFlag = regexp.MustCompile(`--([a-z][a-z-]*)`)
	itFlags  = regexp.MustCompile(`Fl -([a-z][a-z-]*)`)
	command  = regexp.MustCompile(`(?m)^  ([a-z]+)\s`)
)

// checkWidth: -h fits a terminal of 80 columns.
func checkWidth(t *testing.T, of, help string) {
	for line := range strings.Lines(help) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%s -h has %d columns: %s", of, n, line)
		}
	}
}

// checkFlags: the page documents exactly the options that -h lists, of the program and of its
// commands.
func checkFlags(t *testing.T, name, help, page string) {
	want := optionsOf(help)
	if _, list, ok := strings.Cut(help, "\nCommands:\n"); ok {
		list, _, _ = strings.Cut(list, "\n\n")
		for _, m := range command.FindAllStringSubmatch(list+"\n", -1) {
			out, err := exec.Command(name, m[1], "-h").Output()
			if err != nil {
				t.Errorf("%s %s -h: %v", name, m[1], err)
			}
			checkWidth(t, name+" "+m[1], string(out))
			want = append(want, optionsOf(string(out))...)
		}
	}
	var got []string
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, ".It Fl") {
			for _, m := range itFlags.FindAllStringSubmatch(line, -1) {
				got = append(got, m[1])
			}
		}
	}
	want, got = tidy(want), tidy(got)
	if !slices.Equal(want, got) {
		t.Errorf("options of -h:  %v\noptions of man: %v", want, got)
	}
}

func optionsOf(help string) []string {
	_, list, _ := strings.Cut(help, "\nOptions:\n")
	var names []string
	for _, line := range strings.Split(list, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "\t")
		for _, m := range helpFlag.FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func tidy(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// checkNames: -h, the page's NAME and tri(7) have the same sentence.
func checkNames(t *testing.T, name, help, page string) {
	usage, rest, _ := strings.Cut(help, "\n")
	if !strings.HasPrefix(usage, "usage: "+name) {
		t.Errorf("-h begins with %q", usage)
	}
	says, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	nd := regexp.MustCompile(`(?m)^\.Nd (.*)$`).FindStringSubmatch(page)
	if nd == nil || nd[1]+"." != says {
		t.Errorf("page's .Nd %q, -h says %q", nd, says)
	}
	if name != "tri" {
		front, err := os.ReadFile("../man/tri.7")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(front), name) {
			t.Errorf("tri.7 does not name %s", name)
		}
	}
}

// checkStatuses: the numbers under EXIT STATUS are those of lib/base/sysexit.
func checkStatuses(t *testing.T, page string) {
	_, text, _ := strings.Cut(page, "\n.Sh EXIT STATUS\n")
	text, _, _ = strings.Cut(text, "\n.Sh ")
	found := regexp.MustCompile(`(?m)^\.It (\d+)`).FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		t.Error("no statuses under EXIT STATUS")
	}
	for _, m := range found {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(sysexit.Table, func(row struct {
			Status  int
			Meaning string
		}) bool {
			return row.Status == n
		}) {
			t.Errorf("status %d is none of lib/base/sysexit", n)
		}
	}
}

func checkSections(t *testing.T, page string) {
	at := -1
	for _, sh := range sections {
		i := strings.Index(page, "\n.Sh "+sh+"\n")
		if i < 0 {
			t.Errorf("no section %s", sh)
		} else if i < at {
			t.Errorf("section %s stands too early", sh)
		}
		at = i
	}
	for _, m := range regexp.MustCompile(`(?m)^\.Xr (tri\S*) (\d)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../man/" + m[1] + "." + m[2]); err != nil {
			t.Errorf("see also %s(%s): no such page", m[1], m[2])
		}
	}
}

// TestManLint: mandoc reports nothing.
func TestManLint(t *testing.T) {
	pages, err := filepath.Glob("../man/*.[1-9]")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, page := range pages {
		if out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning",
			page).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", page, err, out)
		}
		program := strings.TrimSuffix(filepath.Base(page), ".1")
		if strings.HasSuffix(page, ".1") && !slices.Contains(programs(t), program) {
			t.Errorf("%s: no such program", page)
		}
	}
}

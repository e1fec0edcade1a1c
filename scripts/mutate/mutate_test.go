package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const subjectCode = `package p

import "errors"

// Clamp keeps n between 0 and most.
func Clamp(n, most int) (int, error) {
	if most < 0 {
		return 0, errors.New("no room")
	}
	for n > most && most > -1 {
		n--
	}
	if n < 0 {
		n = 0
		calls++
	}
	return n, nil
}

var calls int

func sum(all []int) (s int) {
	for _, n := range all {
		if n == 7 {
			continue
		}
		s += 2 * n
	}
	return s
}

func unused(b bool) string {
	switch {
	case !b:
		return "no"
	}
	return "yes"
}
`

const subjectTest = `package p

import (
	"os"
	"testing"
)

func TestClamp(t *testing.T) {
	if err := os.WriteFile("left behind", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][3]int{{-1, 5, 0}, {3, 5, 3}, {9, 5, 5}, {1, 0, 0}} {
		if got, err := Clamp(tt[0], tt[1]); got != tt[2] || err != nil {
			t.Error(got, err)
		}
	}
	if _, err := Clamp(0, -1); err == nil {
		t.Error("no error")
	}
}

func TestSum(t *testing.T) {
	if got := sum([]int{1, 7, 2}); got != 6 {
		t.Error(got)
	}
}
`

// fates are all mutants of the code above, and what its tests make of them.
const fates = `
killed     p Clamp: if most < 0 => if true
killed     p Clamp: if most < 0 => if false
killed     p Clamp: if most < 0 => if most <= 0
killed     p Clamp: most < 0 => most < 1
killed     p Clamp: return 0, errors.New("no room") => return 0, nil
killed     p Clamp: for n > most && most > -1 => for false
survived   p Clamp: for n > most && most > -1 => for n > most
timed out  p Clamp: for n > most && most > -1 => for most > -1
killed     p Clamp: n > most => n >= most
survived   p Clamp: most > -1 => most >= -1
killed     p Clamp: most > -1 => most > 0
survived   p Clamp: most > -1 => most > -2
timed out  p Clamp: n-- => (nothing)
killed     p Clamp: if n < 0 => if true
killed     p Clamp: if n < 0 => if false
survived   p Clamp: if n < 0 => if n <= 0
survived   p Clamp: n < 0 => n < 1
killed     p Clamp: n = 0 => (nothing)
killed     p Clamp: n = 0 => n = 1
survived   p Clamp: calls++ => (nothing)
killed     p Clamp: return n, nil => return 0, nil
killed     p sum: if n == 7 => if true
killed     p sum: if n == 7 => if false
killed     p sum: n == 7 => n == 8
killed     p sum: n == 7 => n == 6
killed     p sum: continue => break
killed     p sum: s += 2 * n => (nothing)
killed     p sum: s += 2 * n => s -= 2 * n
killed     p sum: 2 * n => 2 / n
killed     p sum: 2 * n => 3 * n
killed     p sum: 2 * n => 1 * n
killed     p sum: return s => return 0
not reached p unused: case !b => case true
not reached p unused: case !b => case false
not reached p unused: return "no" => return ""
not reached p unused: return "no" => (nothing)
not reached p unused: return "yes" => return ""
`

func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func TestFates(t *testing.T) {
	module(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/p.go": subjectCode,
		"p/p_test.go": subjectTest})
	c, err := load("p")
	if err != nil {
		t.Fatal(err)
	}
	p := find(c)
	tmp := t.TempDir()
	binaries, err := p.build(tmp, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := measure(binaries, tmp, len(p.mutants)+1)
	if err != nil {
		t.Fatal(err)
	}
	runAll(t.Context(), options{jobs: 2}, p.mutants, tests, tmp)
	var got []string
	for _, m := range p.mutants {
		got = append(got, m.Fate+" "+m.Name)
	}
	var want []string
	for _, line := range strings.Split(strings.TrimSpace(fates), "\n") {
		fate, name, _ := strings.Cut(line, "p ")
		want = append(want, strings.TrimSpace(fate)+" p "+name)
	}
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	r := new(row)
	r.add(append(p.mutants, &mutant{Name: "there was no time for it"}))
	if r.mutants != len(want) || r.killed+r.timedOut+r.survived+r.notReached != len(want) ||
		r.timedOut != 2 || r.notReached != 5 || len(r.survivors) != r.survived+5 {
		t.Errorf("counted %+v", r)
	}
	if left, _ := filepath.Glob("p/*"); len(left) != 2 {
		t.Errorf("the folder has %q now", left)
	}
	if text, _ := os.ReadFile("p/p.go"); string(text) != subjectCode {
		t.Error("the code was changed")
	}
}

func TestReasons(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "survivors")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# a comment\nspeed: what is read at once\n  p f: a => b\n\n  p g: whole\nequivalent: the same\n\tp f: a => c\n")
	r, err := readReasons(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*mutant
	for _, name := range []string{"p f: a => b", "p g: whole => x", "p g: whole => y", "p f: a => c",
		"p f: a => d"} {
		all = append(all, &mutant{Name: name})
	}
	if got := strings.Join(strings.Fields(r.count(all)), " "); got != "3 speed 1 equivalent 1 no reason" {
		t.Errorf("counted %s", got)
	}
	if got := r.stale("p", all[:1]); len(got) != 2 || got[0] != "p f: a => c" || got[1] != "p g: whole" ||
		r.stale("q", nil) != nil {
		t.Errorf("stale: %q", got)
	}
	for name, text := range map[string]string{"no reason yet": "  p f: a => b\n",
		"no kind": "because\n  p f: a => b\n"} {
		write(text)
		if _, err := readReasons(file); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if r, err := readReasons(filepath.Join(dir, "none")); err != nil || len(r.of) != 0 {
		t.Errorf("no file: %v", err)
	}
}

// TestEvery: the parts of a sample are all there is, each mutant in one.
func TestEvery(t *testing.T) {
	var all []*mutant
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p") {
		all = append(all, &mutant{Name: name})
	}
	var got []string
	for seed := range uint64(4) {
		keep, err := choice(options{every: 4, seed: seed, only: regexp.MustCompile("")})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if keep(m) {
				got = append(got, m.Name)
			}
		}
	}
	slices.Sort(got)
	if strings.Join(got, " ") != "a b c d e f g h i j k l m n o p" {
		t.Errorf("got %v", got)
	}
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// reasons are why mutants may survive. The file has one reason a line, as in
// "speed: what is read at once", and below each, indented, the mutants that it
// holds for, by name. A name may leave out "=> after": it is then all changes of
// that text.
type reasons struct {
	list []string
	of   map[string]string
}

func readReasons(file string) (*reasons, error) {
	r := &reasons{of: map[string]string{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(b), "\n") {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(line, "#"):
		case name == line:
			kind, why, ok := strings.Cut(line, ": ")
			if !ok || kind == "" || why == "" {
				return nil, fmt.Errorf("%s:%d: a reason is KIND: SENTENCE", file, i+1)
			}
			r.list = append(r.list, line)
		case len(r.list) == 0:
			return nil, fmt.Errorf("%s:%d: a mutant before any reason", file, i+1)
		default:
			r.of[name] = r.list[len(r.list)-1]
		}
	}
	return r, nil
}

// reason is why a mutant may live, "" when nothing says so.
func (r *reasons) reason(m *mutant) string {
	if why := r.of[m.Name]; why != "" {
		return why
	}
	before, _, _ := strings.Cut(m.Name, " => ")
	return r.of[before]
}

// stale are the names in the file that no mutant of a package has any more.
func (r *reasons) stale(dir string, all []*mutant) (names []string) {
	there := map[string]bool{}
	for _, m := range all {
		before, _, _ := strings.Cut(m.Name, " => ")
		there[m.Name], there[before] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if strings.HasPrefix(name, dir+" ") && !there[name] {
			names = append(names, name)
		}
	}
	return names
}

// count fills in the reasons, and says how many survivors each kind has.
func (r *reasons) count(all []*mutant) string {
	kinds, order := map[string]int{}, []string{}
	for _, m := range all {
		m.Reason = r.reason(m)
		kind, _, _ := strings.Cut(m.Reason, ":")
		if kind == "" {
			kind = "no reason"
		}
		if kinds[kind]++; kinds[kind] == 1 {
			order = append(order, kind)
		}
	}
	var b strings.Builder
	for _, kind := range order {
		fmt.Fprintf(&b, "%6d %s\n", kinds[kind], kind)
	}
	return b.String()
}

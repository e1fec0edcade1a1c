package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
)

// Command is a tool that runs a program with Argv, never through a shell. The agent fills in the holes.
type Command struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"` // for the agent
	Argv        []string `yaml:"argv"`
	Holes       []Hole   `yaml:"holes"`
	TimeoutSec  int      `yaml:"timeout_sec" default:"60"`
}

// Hole is an argument {name} or --flag={name} of a Command. Without Values and Pattern, any text fits
// that toolserver does not refuse.
type Hole struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Values      []string `yaml:"values"`  // the only ones
	Pattern     string   `yaml:"pattern"` // RE2, of the whole value
}

var (
	holeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	holeArg  = regexp.MustCompile(`^(--?[A-Za-z0-9][A-Za-z0-9_.-]*=)?\{([a-z][a-z0-9_]*)\}$`)
	holeIn   = regexp.MustCompile(`\{[a-z][a-z0-9_]*\}`)
)

// SplitHole returns the parts of an argument that has a hole: --flag= or "", and the hole's name.
func SplitHole(arg string) (flag, name string, ok bool) {
	if m := holeArg.FindStringSubmatch(arg); m != nil {
		return m[1], m[2], true
	}
	return "", "", false
}

// Regexp returns the compiled Pattern.
func (h Hole) Regexp() (*regexp.Regexp, error) {
	if _, err := regexp.Compile(h.Pattern); err != nil { // it may be complete only between our parentheses
		return nil, err
	}
	return regexp.Compile(`\A(?:` + h.Pattern + `)\z`)
}

// shells run text, on this or another machine.
var shells = []string{"ash", "bash", "busybox", "csh", "dash", "env", "fish", "ksh", "mksh", "sh", "ssh",
	"sudo", "tcsh", "xargs", "zsh"}

// compile reports, with line numbers, errors that the schema cannot express.
func (c Command) compile(f *faults, at func(...any) []any) {
	f.add(readTool(c.Name), at("name")...)
	if len(c.Argv) == 0 {
		f.add(errors.New("needs argv: the program and its arguments"), at("name")...)
		return
	}
	if name := filepath.Base(c.Argv[0]); len(c.Holes) > 0 && slices.Contains(shells, name) {
		f.add(fmt.Errorf("%q executes text: name the program itself, or a script", name), at("argv", 0)...)
	}
	used := map[string]bool{}
	for i, arg := range c.Argv {
		_, name, ok := SplitHole(arg)
		switch {
		case !ok && holeIn.MatchString(arg), ok && i == 0:
			f.add(fmt.Errorf("%q: a hole is a whole argument, or --flag={name}", arg), at("argv", i)...)
		case ok && !slices.ContainsFunc(c.Holes, func(h Hole) bool { return h.Name == name }):
			f.add(fmt.Errorf("no hole is called %q", name), at("argv", i)...)
		}
		used[name] = true
	}
	for i, h := range c.Holes {
		var err error
		switch {
		case !holeName.MatchString(h.Name):
			err = fmt.Errorf("%q: want small letters, digits and _", h.Name)
		case !used[h.Name]:
			err = fmt.Errorf("no argument is {%s}", h.Name)
		case h.Pattern != "" && len(h.Values) > 0:
			err = errors.New("has values and a pattern: want one of them")
		case slices.ContainsFunc(c.Holes[:i], func(o Hole) bool { return o.Name == h.Name }):
			err = fmt.Errorf("two holes are called %q", h.Name)
		default:
			_, err = h.Regexp()
		}
		f.add(err, at("holes", i, "name")...)
	}
}

package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"tri/lib/base/sysexit"
)

// wantCommand returns the error of a program that has only commands, called with none or with an
// unknown word. It lists the commands.
func wantCommand(p Program, word string) error {
	var names, lines []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
		lines = append(lines, fmt.Sprintf("  %-10s  %s", c.Name, c.Usage))
	}
	if word == "" {
		list := wrapHelp("Commands:\n" + strings.Join(lines, "\n"))
		return sysexit.Hint(Usagef("a command is missing; there are:%s", strings.TrimPrefix(list, "Commands:")),
			fmt.Sprintf("%s COMMAND -h shows how one is used", p.Name))
	}
	err := Usagef("unknown command %q", word)
	if near := sysexit.Nearest(word, names); near != "" {
		return sysexit.Hint(err, fmt.Sprintf("did you mean %q?", p.Name+" "+near))
	}
	return sysexit.Hint(err, p.Name+" -h lists the commands")
}

// flagNames returns the names of flags of one letter or more.
func flagNames(lists ...[]Flag) []string {
	names := []string{"help", "version"}
	for _, flags := range lists {
		for _, f := range flags {
			names = append(names, f.Names()...)
		}
	}
	return names
}

// usageError words the errors of package flag, and says what was probably meant. where is the
// program with its command, known are its flags.
func usageError(p Program, where string, known []string) cli.OnUsageErrorFunc {
	within := ""
	if sub, ok := strings.CutPrefix(where, p.Name+" "); ok {
		within = sub + ": "
	}
	return func(_ *cli.Context, err error, _ bool) error {
		body := err.Error()
		if name, ok := strings.CutPrefix(body, "flag provided but not defined: -"); ok {
			return sysexit.Hint(Usagef("%sunknown option --%s", within, name),
				elsewhere(p, where, name, known))
		}
		if name, ok := strings.CutPrefix(body, "flag needs an argument: -"); ok {
			return Usagef("option --%s: its value is missing", name)
		}
		return sysexit.With(sysexit.Usage, err)
	}
}

// elsewhere says what to type in place of an unknown flag.
func elsewhere(p Program, where, name string, known []string) string {
	if near := sysexit.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean --%s?", near)
	}
	var have []string
	for _, c := range p.Commands {
		for _, n := range flagNames(c.Flags)[2:] {
			if n == name && where == p.Name {
				have = append(have, fmt.Sprintf("%s %s --%s", p.Name, c.Name, name))
			}
		}
	}
	if len(have) > 0 {
		return "options follow the command: " + strings.Join(have, ", ")
	}
	return where + " -h lists the options"
}

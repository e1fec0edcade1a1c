package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"tri/lib/base/sysexit"
)

// String returns a flag with a text; `NAME` in usage is what -h calls its value.
func String(name, usage string) *StringFlag { return &StringFlag{Name: name, Usage: usage} }

// StringOr returns a flag with a text that has a default.
func StringOr(name, usage, value string) *StringFlag {
	return &StringFlag{Name: name, Usage: usage, Value: value}
}

// Strings returns a flag that may be repeated.
func Strings(name, usage string) *StringSliceFlag { return &StringSliceFlag{Name: name, Usage: usage} }

// Int returns a flag with a number that has a default.
func Int(name, usage string, value int) *IntFlag {
	return &IntFlag{Name: name, Usage: usage, Value: value}
}

// Bool returns a switch, which is off by default.
func Bool(name, usage string) *BoolFlag { return &BoolFlag{Name: name, Usage: usage} }

// Home returns --home; use says what the program does in the folder: "read the logs in".
func Home(use string) *StringFlag {
	return String("home", use+" `DIR` (default $TRI_HOME or ~/.tri)")
}

// Config returns --config.
func Config() *StringFlag { return String("config", "read `FILE` instead of the home's config.yaml") }

// As returns --as, the name of the person who acts; use says how: "decide as".
func As(use string) *StringFlag {
	f := String("as", use+" `NAME`")
	f.EnvVars = []string{"TRI_USER", "USER"}
	return f
}

// OptionalFlag returns a switch that also takes a value, only as --name=VALUE. otherwise is its
// value if none is given. A part of usage in back quotes is shown after the name: `[=SECONDS]`.
func OptionalFlag(name, usage, otherwise string) Flag {
	return &optionalFlag{&cli.GenericFlag{Name: name, Usage: usage, Value: &optional{otherwise: otherwise}}}
}

// optionalFlag is the flag as the parser and the help text see it.
type optionalFlag struct{ *cli.GenericFlag }

// optional is its value. Package flag treats it as a switch, and passes "true" if no value was
// given.
type optional struct{ value, otherwise string }

func (o *optional) IsBoolFlag() bool { return true }
func (o *optional) String() string   { return o.value }

func (o *optional) Set(s string) error {
	if o.value = s; s == "true" {
		o.value = o.otherwise
	}
	return nil
}

// Optional returns the value of an OptionalFlag, "" if the flag was not given.
func (c *Call) Optional(name string) string {
	o, ok := c.c.Generic(name).(*optional)
	if !ok {
		return ""
	}
	return o.value
}

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

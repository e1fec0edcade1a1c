package cli

import "github.com/urfave/cli/v2"

// OptionalFlag is a switch that takes a value too, only as --name=VALUE; otherwise
// is its value where none is given. What stands in back quotes in usage is shown
// behind the name: `[=SECONDS]`.
func OptionalFlag(name, usage, otherwise string) Flag {
	return &optionalFlag{&cli.GenericFlag{Name: name, Usage: usage, Value: &optional{otherwise: otherwise}}}
}

// optionalFlag is the flag, as the parser and the help text see it.
type optionalFlag struct{ *cli.GenericFlag }

// optional is its value: a switch to package flag, which then gives it "true"
// where nothing was said.
type optional struct{ value, otherwise string }

func (o *optional) IsBoolFlag() bool { return true }
func (o *optional) String() string   { return o.value }

func (o *optional) Set(s string) error {
	if o.value = s; s == "true" {
		o.value = o.otherwise
	}
	return nil
}

// Optional is the value of an OptionalFlag, "" where it was not given.
func (c *Call) Optional(name string) string {
	o, ok := c.c.Generic(name).(*optional)
	if !ok {
		return ""
	}
	return o.value
}

package cli

import "github.com/urfave/cli/v2"

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

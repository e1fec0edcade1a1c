package cli

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

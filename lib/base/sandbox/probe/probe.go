// Package probe tries to escape the sandbox: it attempts what an injected instruction could ask
// for, with both walls, with either one, and with none. A probe reports whether it got through.
// One that fails even without walls proves nothing, so probes that should work there are required
// to.
//
// Every probe is harmless if it gets through: what it reads, changes, dials and kills was set up
// for it (Stage).
package probe

import (
	"fmt"
	"io"
	"text/tabwriter"

	"tri/lib/base/sysexit"
)

// Arg is the first argument of the program that tries. The names of the probes follow: all those
// that can share a sandbox.
const Arg = ":probe"

// Probe is one attempt.
type Probe struct {
	Name string
	// Anybody says that it must get through without walls. For others that depends on what the
	// machine allows this user.
	Anybody bool
	Write   bool // it is tried in a run that may change its folder
	Alone   bool // it may end its sandbox
	// try makes the attempt: nil means that it got through.
	try func(*Stage) error
	// seen checks the effect from outside. Nil: the result of try counts.
	seen func(*Stage) bool
}

// columns are the sets of walls that the probes are tried against.
var columns = []string{"both walls", "bubblewrap", "Landlock", "no walls"}

// Row is the result of a probe: per column, whether it got through.
type Row struct {
	Name    string   `json:"name"`
	Through []bool   `json:"through"`
	Said    []string `json:"said"` // why not
	Anybody bool     `json:"-"`
}

// Outcome is the result of all probes.
type Outcome struct {
	Rows    []Row
	Limits  string // the mechanism of limits in force
	Skipped int    // probes that did not complete
}

// Through counts the probes that got through in a column.
func (o Outcome) Through(column int) (n int) {
	for _, row := range o.Rows {
		if row.Through[column] {
			n++
		}
	}
	return n
}

// Print writes the results as a table.
func Print(w io.Writer, o Outcome) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tab, "a program that obeys tries to")
	for _, c := range columns {
		fmt.Fprintf(tab, "\t%s", c)
	}
	fmt.Fprintln(tab)
	for _, row := range o.Rows {
		fmt.Fprint(tab, row.Name)
		for _, through := range row.Through {
			word := "held"
			if through {
				word = "THROUGH"
			}
			fmt.Fprintf(tab, "\t%s", word)
		}
		fmt.Fprintln(tab)
	}
	fmt.Fprintf(tab, "%d probes, %d skipped; through", len(o.Rows), o.Skipped)
	for i := range columns {
		fmt.Fprintf(tab, "\t%d", o.Through(i))
	}
	fmt.Fprintf(tab, "\nlimits: %s\n", o.Limits)
	if err := tab.Flush(); err != nil {
		return sysexit.Errorf(sysexit.IO, "write probes: %w", err)
	}
	return nil
}

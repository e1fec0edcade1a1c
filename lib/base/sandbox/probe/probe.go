// Package probe tries to escape the sandbox: it attempts what an injected instruction
// could ask for, with both walls, with either one, and with none. A probe that gets
// through says so; one that no walls keep back tells nothing, so what ought to work
// without them is held to do so.
//
// Every probe is harmless where it does get through: what it reads, changes, dials
// and kills was laid out for it (Stage).
package probe

import (
	"fmt"
	"io"
	"text/tabwriter"

	"tri/lib/base/sysexit"
)

// Arg is the first argument of the program that tries; what follows are names of
// probes, all that can share a sandbox where there is none.
const Arg = ":probe"

// Probe is one thing to try.
type Probe struct {
	Name string
	// Anybody can do it where there are no walls. Of others, what the machine allows
	// to this user decides.
	Anybody bool
	Write   bool // it is tried in a run that may change its folder
	Alone   bool // it may end the sandbox that it is tried in
	// Confine is what it says of itself: nil is that it got through.
	try func(*Stage) error
	// seen is what can be seen of that from outside. Nil: its word is taken.
	seen func(*Stage) bool
}

// Columns are the walls that the probes are tried against.
var Columns = []string{"both walls", "bubblewrap", "Landlock", "no walls"}

// Row is what became of a probe: per column, whether it got through.
type Row struct {
	Name    string   `json:"name"`
	Through []bool   `json:"through"`
	Said    []string `json:"said"` // why not
	Anybody bool     `json:"-"`
}

// Outcome is what all of them came to.
type Outcome struct {
	Rows    []Row
	Limits  string // which mechanism of limits was in force
	Skipped int    // probes that were not tried to their end
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

// Print writes the table for a person.
func Print(w io.Writer, o Outcome) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tab, "a program that obeys tries to")
	for _, c := range Columns {
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
	for i := range Columns {
		fmt.Fprintf(tab, "\t%d", o.Through(i))
	}
	fmt.Fprintf(tab, "\nlimits: %s\n", o.Limits)
	if err := tab.Flush(); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write probes: %w", err))
	}
	return nil
}

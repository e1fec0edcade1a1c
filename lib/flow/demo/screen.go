package demo

import (
	"fmt"
	"os"
	"strings"
	"tri/lib/base/text"
)

// Colours, of the eight that every terminal has.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// paint colours s on a terminal whose owner has not said no (no-color.org).
func (d *demo) paint(colour, s string) string {
	if !d.Terminal || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// title begins a part.
func (d *demo) title(format string, args ...any) {
	fmt.Fprintf(d.Out, "\n%s\n", d.paint(bold, fmt.Sprintf(format, args...)))
}

// say prints a sentence of ours.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "%s\n", fmt.Sprintf(format, args...))
}

// command shows what a person would type.
func (d *demo) command(line string) { fmt.Fprintf(d.Out, "  %s\n", d.paint(cyan, "$ "+line)) }

// block shows lines of somebody else's, which may hold anything, set in.
func (d *demo) block(colour, body string) {
	for _, line := range strings.Split(strings.TrimRight(text.Visible(body), "\n"), "\n") {
		fmt.Fprintf(d.Out, "    %s\n", d.paint(colour, line))
	}
}

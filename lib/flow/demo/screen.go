package demo

import (
	"fmt"
	"os"
	"strings"
	"tri/lib/base/text"
)

// Colours, of the eight of every terminal.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// paint colours s on a terminal, unless NO_COLOR is set (no-color.org).
func (d *demo) paint(colour, s string) string {
	if !d.Terminal || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// title prints the heading of a part.
func (d *demo) title(format string, args ...any) {
	fmt.Fprintf(d.Out, "\n%s\n", d.paint(bold, fmt.Sprintf(format, args...)))
}

// say prints a sentence of the demo.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "%s\n", fmt.Sprintf(format, args...))
}

// command shows a shell command.
func (d *demo) command(line string) { fmt.Fprintf(d.Out, "  %s\n", d.paint(cyan, "$ "+line)) }

// block shows outside text, escaped and indented.
func (d *demo) block(colour, body string) {
	for _, line := range strings.Split(strings.TrimRight(text.Visible(body), "\n"), "\n") {
		fmt.Fprintf(d.Out, "    %s\n", d.paint(colour, line))
	}
}

package demo

import (
	"fmt"
	"os"
	"strings"

	"tri/lib/record/draft"
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
func (d *demo) block(colour, text string) {
	for _, line := range strings.Split(strings.TrimRight(draft.Visible(text), "\n"), "\n") {
		fmt.Fprintf(d.Out, "    %s\n", d.paint(colour, line))
	}
}

// clip keeps one line of somebody's text, short.
func clip(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if rs := []rune(text); len(rs) > most {
		text = string(rs[:most-1]) + "…"
	}
	return draft.Visible(text)
}

package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap breaks a text into lines of at most width columns, at spaces where possible; continuation lines
// keep the indent.
func Wrap(text string, width int) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		line = strings.TrimRight(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " │"))]
		if uniseg.StringWidth(indent) > width/2 {
			indent = ""
		}
		for uniseg.StringWidth(line) > width {
			head, rest := breakAt(line, width)
			if len(head) <= len(indent) {
				break
			}
			lines = append(lines, head)
			line = indent + strings.TrimLeft(rest, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// breakAt splits a line so that head is at most width columns wide.
func breakAt(line string, width int) (head, rest string) {
	n, space, at := 0, 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		if n+g.Width() > width {
			break
		}
		n += g.Width()
		from, to := g.Positions()
		if at = to; g.Str() == " " && from > 0 {
			space = from
		}
	}
	if space > at/2 && !strings.HasPrefix(line[at:], " ") {
		at = space
	}
	return line[:at], line[at:]
}

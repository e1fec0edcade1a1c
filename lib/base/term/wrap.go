package term

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Print writes a text, on a terminal in lines that fit its width (see Wrap).
func Print(w io.Writer, text string) error {
	if Is(w) {
		text = strings.Join(Wrap(text, Width(w)), "\n") + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Wrap breaks a text into lines of at most width columns, at spaces: only a word longer than a line is
// broken. Continuation lines keep the indent, and a bar with a line number before it; where there is none,
// they are indented, so that they do not look like lines of their own.
func Wrap(text string, width int) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		line = strings.TrimRight(line, "\n")
		from, indent := margin(line)
		if uniseg.StringWidth(indent) > width/2 {
			indent = ""
		}
		for uniseg.StringWidth(line) > width {
			head, rest := breakAt(line, from, width, width-uniseg.StringWidth(indent))
			if len(head) <= from {
				break
			}
			lines = append(lines, strings.TrimRight(head, " "))
			line, from = indent+strings.TrimLeft(rest, " "), len(indent)
		}
		lines = append(lines, line)
	}
	return lines
}

// margin returns how many bytes of a line precede its text, and what its continuations begin with.
func margin(line string) (from int, indent string) {
	if before, _, ok := strings.Cut(line, "│"); ok && strings.Trim(before, " 0123456789") == "" {
		return len(before) + len("│"), strings.Repeat(" ", len(before)) + "│ "
	}
	if from = len(line) - len(strings.TrimLeft(line, " ")); from > 0 {
		return from, line[:from]
	}
	return 0, "  "
}

// breakAt splits a line behind from so that head is at most width columns wide, within a word only if that
// has more than most columns.
func breakAt(line string, from, width, most int) (head, rest string) {
	n, at := 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		if n += g.Width(); n > width {
			break
		}
		_, at = g.Positions()
	}
	space := strings.LastIndexByte(line[:at], ' ')
	if space <= from || strings.HasPrefix(line[at:], " ") {
		return line[:at], line[at:]
	}
	if word, _, _ := strings.Cut(line[space+1:], " "); uniseg.StringWidth(word) > most {
		return line[:at], line[at:]
	}
	return line[:space], line[space:]
}

package term

import (
	"bytes"
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

// Columns writes rows with aligned columns. It uses display widths, since some characters are two columns
// wide. A row is cut to width columns, unless width is 0.
func Columns(w io.Writer, rows [][]string, width int) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var all strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+2))
			}
		}
		all.WriteString(Cut(strings.TrimRight(line.String(), " "), width))
		all.WriteByte('\n')
	}
	_, err := io.WriteString(w, all.String())
	return err
}

// Cut returns s if it is at most width columns wide, else its start and an ellipsis, after a whole word if
// one ends in the last quarter; 0 cuts nothing.
func Cut(s string, width int) string {
	if width <= 0 || uniseg.StringWidth(s) <= width {
		return s
	}
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		from, _ := g.Positions()
		if used += g.Width(); used > width-1 {
			if end := strings.LastIndexByte(s[:from], ' '); end > from*3/4 && s[from] != ' ' {
				from = end
			}
			return strings.TrimRight(s[:from], " ") + "…"
		}
	}
	return s
}

// Lines returns a writer that shows each record written to out, which is a terminal, as the line that show
// makes of it, cut to the terminal's width; a record for which show returns nothing is left out. Where out
// is not a terminal, it returns out.
func Lines(out io.Writer, show func(record []byte) string) io.Writer {
	if !Is(out) {
		return out
	}
	return &lines{out: out, show: show}
}

type lines struct {
	out  io.Writer
	show func([]byte) string
	rest []byte // of a record whose end has not been written yet
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	var shown []byte
	width := Width(l.out)
	for {
		record, rest, found := bytes.Cut(l.rest, []byte{'\n'})
		if !found {
			break
		}
		if line := l.show(record); line != "" {
			shown = append(append(shown, Cut(line, width)...), '\n')
		}
		l.rest = rest
	}
	if len(shown) > 0 {
		if _, err := l.out.Write(shown); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

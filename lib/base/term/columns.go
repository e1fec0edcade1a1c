package term

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

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

package approve

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"tri/lib/base/term"
	"tri/lib/base/text"
)

// PrintList writes a line for each item, in columns.
func PrintList(w io.Writer, items []*Item, now time.Time) error {
	var rows [][]string
	for _, it := range items {
		number := "-"
		if it.Number > 0 {
			number = fmt.Sprint(it.Number)
		}
		badge := it.Badge
		if !it.Waits() {
			badge = it.Kind + ": " + it.Note
		}
		if it.Kind == Shadow {
			badge += " (not offered)"
		}
		rows = append(rows, []string{number, it.ID, term.Age(instant(it.Since), now),
			text.Line(it.ChatName, 20), text.Line(it.Who, 20), text.Line(badge, 48), text.Line(it.Question, 80)})
	}
	return columns(w, rows)
}

// columns writes rows with aligned columns. It uses display widths, since some characters are two columns
// wide.
func columns(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			text.WriteString(cell)
			if i < len(row)-1 {
				text.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+2))
			}
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// flat makes outside text one line.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(text.Visible(s))
}

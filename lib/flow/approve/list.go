package approve

import (
	"fmt"
	"io"
	"strings"
	"time"

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
			text.Line(it.ChatName, 20), text.Line(it.Who, 20), text.Line(badge, 48),
			text.Line(it.Question, 80)})
	}
	return term.Columns(w, rows, 0)
}

// flat makes outside text one line.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(text.Visible(s))
}

package approve

import (
	"cmp"
	"io"
	"strings"
	"time"

	"tri/lib/base/term"
	"tri/lib/base/text"
)

// printList writes a line for each item, in columns that fit a terminal.
func printList(w io.Writer, items []*Item, now time.Time) error {
	width, name, mark, most := 0, 20, 80, 80
	if term.Is(w) {
		width = term.Width(w)
		name, mark, most = min(name, width/6), min(mark, width/3), width // room for the question
	}
	var rows [][]string
	for _, it := range items {
		badge := it.Badge
		if !it.Waits() {
			badge = it.Kind + ": " + it.Note
		}
		if it.Kind == Shadow {
			badge += " (not offered)"
		}
		rows = append(rows, []string{it.ID, term.Age(text.ParseTime(it.Since), now),
			text.Line(it.ChatName, name), text.Line(it.Who, name), cmp.Or(it.Confidence, "-"),
			text.Line(badge, mark), text.Line(it.Question, most)})
	}
	return term.Columns(w, rows, width)
}

// flat makes outside text one line.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(text.Visible(s))
}

package approve

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"tri/lib/base/term"
	"tri/lib/base/text"
)

// leastQuestion is how many columns of a terminal the question has at least, beside the rest of its item.
const leastQuestion = 40

// printList writes each item: on a terminal cut to its width, with the question on a line of its own where
// it would have too little room beside the rest.
func printList(w io.Writer, items []*Item, now time.Time) error {
	width, widest, mark := 0, 0, 80
	if term.Is(w) {
		width = term.Width(w)
	}
	if width >= 120 {
		mark = min(mark, width/3)
	}
	var heads [][]string
	for _, it := range items {
		badge := it.Badge
		if !it.Waits() {
			badge = it.Kind + ": " + it.Note
		}
		if it.Kind == Shadow {
			badge += " (not offered)"
		}
		heads = append(heads, []string{it.ID, term.Age(text.ParseTime(it.Since), now),
			text.Line(it.ChatName, 20), text.Line(it.Who, 20), cmp.Or(it.Confidence, "-"),
			text.Line(badge, mark)})
	}
	var b strings.Builder
	if err := term.Columns(&b, heads, width); err != nil {
		return err
	}
	rows := make([][]string, len(items))
	for i, head := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		rows[i] = []string{head, text.Line(items[i].Question, max(width, 80))}
		widest = max(widest, uniseg.StringWidth(head))
	}
	if width == 0 || width-widest-2 >= leastQuestion {
		return term.Columns(w, rows, width)
	}
	var lines [][]string
	for _, row := range rows {
		lines = append(lines, row[:1], []string{strings.Repeat(" ", idLength+2) + row[1]})
	}
	return term.Columns(w, lines, width)
}

// flat makes outside text one line.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(text.Visible(s))
}

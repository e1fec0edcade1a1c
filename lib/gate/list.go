package gate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"tri/lib/draft"
	"tri/lib/term"
)

// PrintList writes a line for each item.
func PrintList(w io.Writer, items []*Item, now time.Time) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
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
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", number, it.ID, term.Age(instant(it.Since), now),
			oneLine(it.ChatName, 20), oneLine(it.Who, 20), oneLine(badge, 40), oneLine(it.Question, 80))
	}
	return tab.Flush()
}

// oneLine makes outside text fit for a cell of at most so many characters.
func oneLine(s string, most int) string {
	return cut(strings.Join(strings.Fields(draft.Visible(s)), " "), most)
}

// flat keeps outside text from beginning a line of its own.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(draft.Visible(s))
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

package gate

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"tri/lib/draft"
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
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", number, it.ID, age(it.Since, now),
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

// age is how long ago a time was, in one unit.
func age(since string, now time.Time) string {
	d := now.Sub(instant(since))
	switch {
	case instant(since).IsZero():
		return "?"
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

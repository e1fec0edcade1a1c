package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// Limits of a printed brief, so that it fits on one screen and into an agent session of an
// operator.
const (
	maxWaiting  = 7
	maxAnswered = 3
	maxFailed   = 2
	maxParked   = 2
	maxLong     = 1
	maxAlerts   = 2
	maxText     = 60 // characters of quoted text in a line
)

// expired returns the line about drafts that were not decided in time.
func (b *Brief) expired() string {
	if b.Expired == 0 {
		return ""
	}
	return fmt.Sprintf(", %d expired: tri-approve undo brings one back", b.Expired)
}

// shadow returns the part of the line about drafts that nobody can post.
func (b *Brief) shadow() string {
	if b.Shadow == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d in shadow: tri-report trial)", b.Shadow)
}

// Print writes the brief as text: at most 25 lines.
func (b *Brief) Print(w io.Writer) error {
	now := text.ParseTime(b.At)
	out := new(strings.Builder)
	fmt.Fprintf(out, "%s UTC, since %s: %s, %d asking, %d answered\n", clock(b.At), clock(b.Since),
		text.Count(b.Messages, "message"), b.Actionable, len(b.Answered))
	fmt.Fprintf(out, "%d waiting for you%s, %d approved and not posted, %d being worked on; %d became ready since%s\n", len(b.Waiting), b.shadow(), b.Approved, b.Moving, b.Ready, b.expired())
	list(out, b.Waiting, maxWaiting, "tri-approve list", func(it Item) string {
		return fmt.Sprintf("  %-4s %s  %s: %s  [%s]", term.Age(text.ParseTime(it.At), now), text.Line(it.Chat, 16),
			text.Line(it.Who, 16), text.Line(it.Text, maxText), text.Line(it.Note, 48))
	})
	list(out, b.Parked, maxParked, "tri-approve list", func(it Item) string {
		return fmt.Sprintf("parked: tri-approve settle %s posted|retry|drop: %s", text.Line(it.Key, 60),
			text.Line(it.Note, maxText))
	})
	list(out, b.Long, maxLong, "tri-escalate list", func(it Item) string {
		return fmt.Sprintf("long look ended %s ago: %s  [%s] %s", term.Age(text.ParseTime(it.At), now),
			text.Line(it.Key, 40), text.Line(it.Note, 20), text.Line(it.Text, 30))
	})
	list(out, last(b.Alerts, maxAlerts), maxAlerts, "", func(it Item) string {
		return fmt.Sprintf("  %-4s %s  %s (tri-report why %s)", term.Age(text.ParseTime(it.At), now),
			text.Line(it.Chat, 16), text.Line(it.Text, maxText), text.Line(it.Key, 60))
	})
	if len(b.Failed) > 0 {
		fmt.Fprintf(out, "%d failed\n", len(b.Failed))
	}
	list(out, last(b.Failed, maxFailed), maxFailed, "", func(it Item) string {
		return fmt.Sprintf("  %-4s %s  %s: %s", term.Age(text.ParseTime(it.At), now), text.Line(it.Key, 40),
			text.Line(it.Note, 30), text.Line(it.Text, maxText))
	})
	if len(b.Answered) > 0 {
		automatic := ""
		if b.Automatic > 0 {
			automatic = fmt.Sprintf(", %d of them automatically", b.Automatic)
		}
		fmt.Fprintf(out, "%d answered%s\n", len(b.Answered), automatic)
	}
	list(out, last(b.Answered, maxAnswered), maxAnswered, "", func(it Item) string {
		return fmt.Sprintf("  %-4s %s  %s  (%s)", term.Age(text.ParseTime(it.At), now), text.Line(it.Chat, 16),
			text.Line(cmp.Or(it.Question, it.Text), maxText), text.Line(it.Note, 30))
	})
	b.sums(out)
	return sysexit.With(sysexit.IO, term.Print(w, out.String()))
}

func (b *Brief) sums(out *strings.Builder) {
	if len(b.Dropped) > 0 {
		fmt.Fprintf(out, "dropped: %s\n", dropped(b.Dropped))
	}
	limit := ""
	if b.Spend.Limit > 0 {
		limit = fmt.Sprintf(" of %d", b.Spend.Limit)
	}
	fmt.Fprintf(out, "spent today: %d%s investigations, $%.2f", b.Spend.Investigations, limit,
		b.Spend.CostUSD)
	if b.Spend.Unknown > 0 {
		fmt.Fprintf(out, " and %d of unknown cost", b.Spend.Unknown)
	}
	if b.Spend.Tokens > 0 {
		fmt.Fprintf(out, ", %s tokens", thousands(b.Spend.Tokens))
	}
	if b.Refused > 0 {
		fmt.Fprintf(out, "; %d runs had to wait for budget", b.Refused)
	}
	troubles := slices.Clone(b.Troubles)
	if n := len(b.Missed); n > 0 {
		missed := fmt.Sprintf("the validator let %s of planted faults pass, the last %s (tri-report trust)",
			text.Count(n, "kind"), text.Line(b.Missed[n-1].Text, 20))
		troubles = slices.Insert(troubles, 0, missed)
	}
	out.WriteString("\n")
	if len(troubles) > 0 {
		fmt.Fprintf(out, "trouble: %s\n", text.Line(join(troubles), 200))
	}
}

// dropped returns the six most frequent reasons; the others are summed.
func dropped(counts map[string]int) string {
	reasons := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		if counts[x] != counts[y] {
			return counts[y] - counts[x]
		}
		return strings.Compare(x, y)
	})
	var parts []string
	rest := 0
	for i, r := range reasons {
		if i < 6 {
			parts = append(parts, fmt.Sprintf("%s %d", text.Line(r, 30), counts[r]))
		} else {
			rest += counts[r]
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("other %d", rest))
	}
	return strings.Join(parts, ", ")
}

func list(out *strings.Builder, items []Item, most int, where string, show func(Item) string) {
	for i, it := range items {
		if i == most {
			fmt.Fprintf(out, "  and %d more: %s\n", len(items)-most, where)
			return
		}
		out.WriteString(show(it) + "\n")
	}
}

func last(items []Item, n int) []Item { return items[max(0, len(items)-n):] }

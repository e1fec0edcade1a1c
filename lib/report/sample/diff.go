package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// Change is one message that two rule sets classify differently.
type Change struct {
	Platform  string   `json:"platform"`
	ChatID    string   `json:"chat_id"`
	ChatName  string   `json:"chat_name"`
	MessageID string   `json:"message_id"`
	At        string   `json:"create_time"` // RFC 3339
	Sender    string   `json:"sender"`
	Content   string   `json:"content"`
	Before    string   `json:"before"` // actionable, ambient or ack
	After     string   `json:"after"`
	WhyBefore []string `json:"reasons_before"`
	WhyAfter  []string `json:"reasons_after"`
}

// Diff is the effect of another rule set on a history.
type Diff struct {
	Messages int
	Counts   map[string]int // number of changes by kind: "ambient→actionable"
	Before   int            // actionable
	After    int
	Changes  []Change // newest last; at most the limit
	words    func(string) string
}

// compare runs two rule sets over a history. It keeps the newest limit changes; 0 means all. words
// translates a reason for people.
func compare(ctx context.Context, in stream.Input, before, after Rules, limit int,
	words func(string) string) (*Diff, error) {
	d := &Diff{Counts: map[string]int{}, words: words}
	var was sayings
	if err := each(ctx, before, in, func(line []byte) error { was.add(line); return nil }); err != nil {
		return nil, err
	}
	in.Say = nil // invalid records were reported in the first pass
	var is sayings
	err := each(ctx, after, in, func(line []byte) error {
		now := is.add(line)
		is.list = is.list[:0]
		if d.Messages == len(was.list) || was.list[d.Messages].of != now.of {
			return sysexit.With(sysexit.TempFail, errors.New("compare: the history changed meanwhile"))
		}
		old := was.list[d.Messages]
		d.Messages++
		return d.add(line, old, now, limit)
	})
	return d, err
}

func (d *Diff) add(line []byte, old, now said, limit int) error {
	if old.class == event.Actionable {
		d.Before++
	}
	if now.class == event.Actionable {
		d.After++
	}
	if old.class == now.class {
		return nil
	}
	d.Counts[old.class+"→"+now.class]++
	e, err := event.Parse(line)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if limit > 0 && len(d.Changes) == limit {
		d.Changes = slices.Delete(d.Changes, 0, 1)
	}
	d.Changes = append(d.Changes, Change{
		Platform: e.Platform, ChatID: e.ChatID, ChatName: e.ChatName, MessageID: e.MessageID,
		At: e.CreateTime, Sender: who(e), Content: e.Content,
		Before: old.class, After: now.class, WhyBefore: split(old.reasons), WhyAfter: split(now.reasons),
	})
	return nil
}

func who(e *event.Classified) string {
	if e.Sender.Name != "" {
		return e.Sender.Name
	}
	return e.Sender.ID
}

func split(reasons string) []string {
	if reasons == "" {
		return []string{}
	}
	return strings.Split(reasons, "; ")
}

// Changed returns how many messages differ.
func (d *Diff) Changed() (n int) {
	for _, k := range d.Counts {
		n += k
	}
	return n
}

// Print writes the counts and then the changes, newest first.
func (d *Diff) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d messages change; actionable %d → %d (%s → %s of 100)\n", d.Changed(),
		d.Messages, d.Before, d.After, percent(d.Before, d.Messages), percent(d.After, d.Messages))
	for _, k := range slices.SortedFunc(maps.Keys(d.Counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(d.Counts[y], d.Counts[x]), strings.Compare(x, y))
	}) {
		fmt.Fprintf(&b, "%6d  %s\n", d.Counts[k], k)
	}
	for _, c := range slices.Backward(d.Changes) {
		e := &event.Classified{Event: event.Event{Platform: c.Platform, ChatID: c.ChatID,
			MessageID: c.MessageID}}
		fmt.Fprintf(&b, "\n%s → %s  %s  %s\n  %s\n", c.Before, c.After, text.Line(e.FullName(), 0),
			text.Line(c.Sender, 0), text.Line(c.Content, 300))
		fmt.Fprintf(&b, "  before: %s\n  after:  %s\n", d.say(c.WhyBefore), d.say(c.WhyAfter))
	}
	if rest := d.Changed() - len(d.Changes); rest > 0 {
		fmt.Fprintf(&b, "\nand %d older; --limit 0 shows all\n", rest)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	return d.status()
}

// status returns a negative exit status if there are changes, like diff(1), without a message.
func (d *Diff) status() error {
	if d.Changed() > 0 {
		return sysexit.With(sysexit.No, errors.New(""))
	}
	return nil
}

func (d *Diff) say(reasons []string) string {
	var all []string
	for _, r := range reasons {
		all = append(all, d.words(r))
	}
	if len(all) == 0 {
		return "no rule fired"
	}
	return text.Line(strings.Join(all, "; "), 0)
}

// WriteJSON writes one record per change, newest first.
func (d *Diff) WriteJSON(w io.Writer) error {
	newest := slices.Clone(d.Changes)
	slices.Reverse(newest)
	if err := ndjson.Write(w, newest...); err != nil {
		return err
	}
	return d.status()
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(of))
}

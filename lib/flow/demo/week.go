package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// week filters a team's week of chat, by rules alone.
func (d *demo) week(ctx context.Context) error {
	d.title("1. A team's week of chat: what of it is work?")
	d.say("A Slack export, as anyone can make of their own history, goes through the free filter.")
	classified := d.path("week.ndjson")
	if _, err := d.run(ctx, pipe{steps: [][]string{{"tri-watch", "export", d.path("week")}, {"tri-classify"}},
		into: classified}); err != nil {
		return err
	}
	events, err := read[event.Classified](classified)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return sysexit.With(sysexit.Software, fmt.Errorf("%s: no events", classified))
	}
	d.count(events)
	d.say("Five of them, and why:")
	return d.samples(ctx, events)
}

// count prints how many messages need work.
func (d *demo) count(events []event.Classified) {
	type row struct{ all, actionable, ambient, ack int }
	rooms, total, people := map[string]*row{}, &row{}, map[string]bool{}
	for _, e := range events {
		if e.Sender.Type == "user" {
			people[e.Sender.ID] = true
		}
		if rooms[e.ChatName] == nil {
			rooms[e.ChatName] = &row{}
		}
		for _, r := range []*row{rooms[e.ChatName], total} {
			r.all++
			switch e.Classification {
			case event.Actionable:
				r.actionable++
			case event.Ack:
				r.ack++
			default:
				r.ambient++
			}
		}
	}
	d.say("    %-10s %8s %10s %8s %6s", "room", "messages", "actionable", "ambient", "ack")
	line := func(name string, r *row) {
		d.say("    %-10s %8d %10d %8d %6d", name, r.all, r.actionable, r.ambient, r.ack)
	}
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		line(text.Line(name, 10), rooms[name])
	}
	line("together", total)
	d.say("%s of %d people ask for something: %s need no answer; finding that out cost nothing.",
		d.paint(bold, fmt.Sprintf("%d of %d messages", total.actionable, total.all)), len(people),
		d.paint(green, fmt.Sprintf("%.0f%%", 100*float64(total.all-total.actionable)/float64(total.all))))
}

// wanted are texts that identify five messages of the week, each showing a rule.
var wanted = []string{
	"why do I see payments with",
	"どなたかレビュー",
	"apakah monthly batch",
	"lgtm",
	"build #4811",
}

// samples has tri-classify explain five of its decisions in words.
func (d *demo) samples(ctx context.Context, events []event.Classified) error {
	var chosen bytes.Buffer
	for _, text := range wanted {
		i := slices.IndexFunc(events, func(e event.Classified) bool {
			return strings.Contains(e.Content, text)
		})
		if i < 0 {
			return sysexit.With(sysexit.Software, fmt.Errorf("the week has no message with %q", text))
		}
		line, err := json.Marshal(events[i].Event)
		if err != nil {
			return err
		}
		chosen.Write(append(line, '\n'))
	}
	samples := d.path("five.ndjson")
	if err := os.WriteFile(samples, chosen.Bytes(), 0o600); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	words, err := d.tool(ctx, "tri-classify", "--explain", samples)
	if err != nil {
		return err
	}
	d.page(faint, string(words))
	return nil
}

// read reads a whole file of records.
func read[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	return decode[T](path, text)
}

func decode[T any](from string, text []byte) ([]T, error) {
	var out []T
	dec := json.NewDecoder(bytes.NewReader(text))
	for dec.More() {
		var v T
		if err := dec.Decode(&v); err != nil {
			return nil, sysexit.With(sysexit.Software, fmt.Errorf("%s: record %d: %w", from, len(out)+1, err))
		}
		out = append(out, v)
	}
	return out, nil
}

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/prompt"
	"tri/lib/judge/questiontype"
)

func init() {
	parts = append(parts, part{"types", "types: what kind of question opens a matter, by rules", typesPart})
}

// confusion counts openings by the type a reader gave and the one the rules say.
type confusion map[[2]string]int

func (c confusion) of(want string) (hits, n int) {
	for pair, count := range c {
		if pair[0] == want {
			n += count
			if pair[1] == want {
				hits += count
			}
		}
	}
	return hits, n
}

func (c confusion) all() (hits, n int) {
	for _, kind := range kinds {
		h, m := c.of(kind)
		hits, n = hits+h, n+m
	}
	return hits, n
}

func typesPart(out io.Writer, in inputs) error {
	rooms, err := labelledRooms(filepath.Join(in.data, "labels"))
	if err != nil {
		return err
	}
	more, err := labelledRooms(filepath.Join(in.data, "labels", "openings"))
	if err != nil {
		return err
	}
	prompts, err := prompt.Load("")
	if err != nil {
		return err
	}
	j := typed{tables: map[string]confusion{}, minutes: map[string][]float64{}}
	for _, half := range labelHalves {
		j.tables[half] = confusion{}
	}
	for _, r := range append(rooms, more...) {
		if err := j.add(in, r); err != nil {
			return err
		}
	}
	for _, half := range labelHalves {
		j.tables[half].print(out, half)
	}
	fmt.Fprintf(out, "%-16s %10s  rubric begins\n", "said", "minutes")
	for _, kind := range kinds {
		rubric, err := prompts.Rubric(kind)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(rubric, "\n")
		fmt.Fprintf(out, "%-16s %10s  %s\n", kind, expected(j.minutes[kind]), first)
	}
	if *mistaken {
		fmt.Fprintln(out, strings.Join(j.mistakes, "\n"))
	}
	return nil
}

// typed is what the rules have said of the openings.
type typed struct {
	tables   map[string]confusion // by half
	minutes  map[string][]float64 // by type
	mistakes []string             // of the tuned half
}

// add asks the rules about a room's openings. They are told whether the message
// asks as the filter tells them.
func (j *typed) add(in inputs, r room) error {
	messages, err := loadRoom(in.chat, r.name)
	if err != nil {
		return err
	}
	byID, err := classified(messages, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	events, err := pick(r, byID)
	if err != nil {
		return err
	}
	for i, l := range r.labels {
		if l.kind == "" {
			continue
		}
		k := questiontype.Judge(events[i].Content, events[i].IsQuestion)
		j.tables[r.half][[2]string{l.kind, k.Type}]++
		j.minutes[k.Type] = append(j.minutes[k.Type], k.Minutes)
		if r.half == "tuned" && l.kind != k.Type {
			j.mistakes = append(j.mistakes,
				fmt.Sprintf("%s\t%s\tsaid %s by %s", l.id, l.kind, k.Type, k.Reason))
		}
	}
	return nil
}

// expected is the least and the most minutes that the rules have said for a type.
func expected(minutes []float64) string {
	if len(minutes) == 0 {
		return "not said"
	}
	return fmt.Sprintf("%g to %g", slices.Min(minutes), slices.Max(minutes))
}

// print has a row for each type that a reader gave and a column for each that
// the rules say.
func (c confusion) print(out io.Writer, half string) {
	fmt.Fprintf(out, "%-30s %4s  %-18s", half+", by a reader", "N", "right")
	for _, said := range kinds {
		fmt.Fprintf(out, " %13s", said)
	}
	fmt.Fprintln(out)
	line := func(name string, hits, n int) {
		if n == 0 {
			fmt.Fprintf(out, "  %-28s %4d  %-18s", name, n, "none")
			return
		}
		share, low, high := interval(hits, n)
		fmt.Fprintf(out, "  %-28s %4d  %5.1f%% (%3.0f-%3.0f)  ", name, n, 100*share, 100*low, 100*high)
	}
	for _, want := range kinds {
		hits, n := c.of(want)
		line(want, hits, n)
		for _, said := range kinds {
			fmt.Fprintf(out, " %13d", c[[2]string{want, said}])
		}
		fmt.Fprintln(out)
	}
	hits, n := c.all()
	line("all", hits, n)
	usual := 0
	for _, kind := range kinds {
		_, m := c.of(kind)
		usual = max(usual, m)
	}
	share, _, _ := interval(usual, n)
	fmt.Fprintf(out, "  (always the commonest: %.1f%%)\n", 100*share)
}

package main

import (
	"fmt"
	"io"
	"strings"

	"tri/lib/config"
	"tri/lib/dispatch"
	"tri/lib/event"
	"tri/lib/prompt"
	"tri/lib/thread"
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

// typer is the rules as a home without a configuration has them.
func typer(out io.Writer) (func(*event.Classified) (*thread.Facts, error), *prompt.Set, error) {
	prompts, err := prompt.Load("")
	if err != nil {
		return nil, nil, err
	}
	facts, err := dispatch.Facts(dispatch.Options{
		Config: new(config.Config), Prompts: prompts,
		Say: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
	})
	return facts, prompts, err
}

func typesPart(out io.Writer, in inputs) error {
	rooms, err := labelledRooms(in.data)
	if err != nil {
		return err
	}
	facts, prompts, err := typer(out)
	if err != nil {
		return err
	}
	tables := map[string]confusion{"tuned": {}, "untouched": {}}
	minutes := map[string]float64{}
	var mistakes []string
	for _, r := range rooms {
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
			e := *events[i]
			e.Classification = event.Actionable // the rules are measured here, not the filter
			f, err := facts(&e)
			if err != nil {
				return err
			}
			tables[r.half][[2]string{l.kind, f.QuestionType}]++
			minutes[f.QuestionType] = f.ExpectedMin
			if r.half == "tuned" && l.kind != f.QuestionType {
				mistakes = append(mistakes, fmt.Sprintf("%s\t%s\tsaid %s", l.id, l.kind, f.QuestionType))
			}
		}
	}
	for _, half := range labelHalves {
		tables[half].print(out, half)
	}
	fmt.Fprintf(out, "%-16s %8s  rubric begins\n", "said", "minutes")
	for _, kind := range kinds {
		rubric, err := prompts.Rubric(kind)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(rubric, "\n")
		fmt.Fprintf(out, "%-16s %8s  %s\n", kind, expected(minutes, kind), first)
	}
	if *mistaken {
		fmt.Fprintln(out, strings.Join(mistakes, "\n"))
	}
	return nil
}

func expected(minutes map[string]float64, kind string) string {
	if m, ok := minutes[kind]; ok {
		return fmt.Sprintf("%.0f", m)
	}
	return "not said"
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

package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tri/lib/record/event"
)

func init() {
	parts = append(parts,
		part{"filter", "filter: does what is dropped need nobody, and is what is kept worth it?", filterPart})
}

var (
	plotFile = flag.String("plot", "",
		"filter: draw misses against the share called actionable into `FILE`, as SVG")
	mistaken = flag.Bool("mistakes", false,
		"filter, types: name the messages of the tuned halves that are judged wrongly")
	aimMisses = 2.0  // per 100 dropped, at most
	aimCalled = 40.0 // percent, at most
)

// said is what a filter says of a message, beside what a person says of it.
type said struct {
	question, ack, actionable bool
	score                     float64 // of being actionable, 0 to 1
	want                      label
}

// counts is one yes-or-no judgement against the labels.
type counts struct{ both, only, missed int }

func (c *counts) add(got, want bool) {
	switch {
	case got && want:
		c.both++
	case got:
		c.only++
	case want:
		c.missed++
	}
}

func (c counts) precision() float64 { return ratio(c.both, c.both+c.only) }
func (c counts) recall() float64    { return ratio(c.both, c.both+c.missed) }
func (c counts) f1() float64        { return ratio(2*c.both, 2*c.both+c.only+c.missed) }

func ratio(n, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}

// share writes a share, or that there is none because nothing was said or wanted.
func share(x float64) string {
	if math.IsNaN(x) {
		return "   -"
	}
	return fmt.Sprintf("%.2f", x)
}

// figures are what is printed of a set of messages.
type figures struct {
	n, called, missed         int
	question, ack, actionable counts
}

func measure(all []said) figures {
	f := figures{n: len(all)}
	for _, s := range all {
		f.question.add(s.question, s.want.question)
		f.ack.add(s.ack, s.want.ack)
		f.actionable.add(s.actionable, s.want.actionable)
	}
	f.called = f.actionable.both + f.actionable.only
	f.missed = f.actionable.missed
	return f
}

func (f figures) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%-30s %4d", name, f.n)
	for _, c := range []counts{f.question, f.ack, f.actionable} {
		fmt.Fprintf(out, "  %s %s %s", share(c.precision()), share(c.recall()), share(c.f1()))
	}
	dropped := f.n - f.called
	miss, low, high := interval(f.missed, dropped)
	called, _, _ := interval(f.called, f.n)
	fmt.Fprintf(out, "  %5.1f (%4.1f-%4.1f) of %4d  %5.1f%%\n", 100*miss, 100*low, 100*high,
		dropped, 100*called)
}

// The filters that run over every room.
const (
	asShipped    = iota
	behindThread // with the guesses of tri-thread, as tri-supervise runs it
	withHelpers  // told who the helpers are
	bare         // the document's bare table of rules
	filters
)

// filterPart runs every filter over every room.
func filterPart(out io.Writer, in inputs) error {
	rooms, err := labelledRooms(filepath.Join(in.data, "labels"))
	if err != nil {
		return err
	}
	slack, err := labelledRooms(filepath.Join(in.data, "labels/slack"))
	if err != nil {
		return err
	}
	halves := labelHalves
	for _, r := range slack {
		r.half = "slack " + r.half
		if rooms = append(rooms, r); !slices.Contains(halves, r.half) {
			halves = append(slices.Clip(halves), r.half)
		}
	}
	sets, err := filterSets(in, rooms)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-30s %4s  %-14s  %-14s  %-14s  %-26s %s\n%-35s", "", "N", "question", "ack",
		"actionable", "misses per 100 dropped", "called", "")
	fmt.Fprintln(out, strings.Repeat("  P    R    F1  ", 3))
	for _, set := range sets {
		fmt.Fprintln(out, set.name)
		for _, half := range halves {
			for _, r := range rooms {
				if r.half == half {
					measure(set.each[r.name+" "+half]).print(out, "  "+r.name+" "+half)
				}
			}
			measure(set.all[half]).print(out, "  all "+half)
		}
	}
	if err := printAgreement(out, in.data, rooms); err != nil {
		return err
	}
	if *mistaken {
		nameMistakes(out, sets[asShipped].all["tuned"])
	}
	if *plotFile == "" {
		return nil
	}
	lines := []curve{
		{"untouched half", sweep(sets[asShipped].all["untouched"])},
		{"tuned half", sweep(sets[asShipped].all["tuned"])},
	}
	table := measure(sets[bare].all["untouched"])
	at := measure(sets[asShipped].all["untouched"])
	return os.WriteFile(*plotFile,
		[]byte(drawPlot(lines, []mark{{"as shipped", pointOf(at), true},
			{"the document's bare rules", pointOf(table), false}})), 0o644)
}

// filterSet is what one form of the filter says.
type filterSet struct {
	name string
	all  map[string][]said // by half
	each map[string][]said // by room and half
}

// filterSets runs each form of the filter over the labelled messages of rooms.
func filterSets(in inputs, rooms []room) (sets [filters]filterSet, err error) {
	sets = [filters]filterSet{{name: "no list of helpers"}, {name: "the same behind tri-thread"},
		{name: "helpers listed where known"}, {name: "the document's bare rules"}}
	for i := range sets {
		sets[i].all, sets[i].each = map[string][]said{}, map[string][]said{}
	}
	texts := map[string][filters]map[string]said{}
	for _, r := range rooms {
		if _, done := texts[r.name]; !done {
			if texts[r.name], err = judgements(in, r.name); err != nil {
				return sets, err
			}
		}
		for i := range sets {
			got, err := beside(r, texts[r.name][i])
			if err != nil {
				return sets, err
			}
			sets[i].all[r.half] = append(sets[i].all[r.half], got...)
			sets[i].each[r.name+" "+r.half] = got
		}
	}
	return sets, nil
}

// printAgreement compares the first reading with the second of the same reader
// and with that of another, who had not seen it.
func printAgreement(out io.Writer, data string, rooms []room) error {
	for _, again := range []struct {
		folder, name string
	}{{"again", "read twice"}, {"second", "second reader, blind"}} {
		question, ack, actionable, err := readAgain(data, again.folder, rooms)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d; the readings agree on", again.name, question.n)
		for _, a := range []struct {
			name string
			agreement
		}{{"question", question}, {"ack", ack}, {"actionable", actionable}} {
			fmt.Fprintf(out, "  %s %.1f%% (kappa %.2f)", a.name, 100*ratio(a.same, a.n), a.kappa())
		}
		fmt.Fprintln(out)
	}
	return nil
}

// judgements runs the filters over one room.
func judgements(in inputs, name string) (all [filters]map[string]said, err error) {
	messages, err := loadRoom(in.chat, name)
	if err != nil {
		return all, err
	}
	helpers, err := helpersOf(in.data, name)
	if err != nil {
		return all, err
	}
	threaded, err := inThreads(messages)
	if err != nil {
		return all, fmt.Errorf("%s: %w", name, err)
	}
	for i, run := range [...]struct {
		messages []byte
		helpers  []string
	}{asShipped: {messages, nil}, behindThread: {threaded, nil}, withHelpers: {messages, helpers}} {
		byID, err := classified(run.messages, run.helpers)
		if err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		all[i] = map[string]said{}
		for id, e := range byID {
			all[i][id] = said{question: e.IsQuestion, ack: e.IsAckOrEmoji,
				actionable: e.Classification == event.Actionable, score: score(e)}
		}
		if i == asShipped {
			all[bare] = map[string]said{}
			for id, e := range byID {
				all[bare][id] = bareRules(e.Content)
			}
		}
	}
	return all, nil
}

func beside(r room, byID map[string]said) ([]said, error) {
	got := make([]said, len(r.labels))
	for i, l := range r.labels {
		s, ok := byID[l.id]
		if !ok {
			return nil, fmt.Errorf("labels of %s, %s: there is no message %q", r.name, r.half, l.id)
		}
		s.want = l
		got[i] = s
	}
	return got, nil
}

// score orders messages by how much they look actionable: what was called so by
// how sure the filter is, the rest the other way round below it.
func score(e *event.Classified) float64 {
	if e.Classification == event.Actionable {
		return e.ClassifierConfidence
	}
	return 1 - e.ClassifierConfidence
}

var (
	bareQuestion = regexp.MustCompile(`(?i)\?\s*$|\b(what|why|how|where|when|who|which)\b`)
	bareAck      = regexp.MustCompile(`(?i)^\W*(ok|okay|lgtm|noted|got it|thanks|thank you|thx)?\W*$`)
)

// bareRules is the table of triage §3.2 and nothing more. Nobody mentions a bot
// in these rooms and no message names a thread, so its other rows never hold.
func bareRules(content string) said {
	s := said{question: bareQuestion.MatchString(content),
		ack: len([]rune(content)) < 30 && bareAck.MatchString(content)}
	s.actionable = s.question && !s.ack
	return s
}

// nameMistakes prints ids only; who wants the words opens the room.
func nameMistakes(out io.Writer, all []said) {
	for _, s := range all {
		for _, j := range []struct {
			name      string
			got, want bool
		}{{"question", s.question, s.want.question}, {"ack", s.ack, s.want.ack},
			{"actionable", s.actionable, s.want.actionable}} {
			if j.got != j.want {
				fmt.Fprintf(out, "%s\t%s\tsaid %t\n", s.want.id, j.name, j.got)
			}
		}
	}
}

// point is one setting of the threshold, both in percent.
type point struct{ called, misses float64 }

func pointOf(f figures) point {
	return point{100 * ratio(f.called, f.n), 100 * ratio(f.missed, f.n-f.called)}
}

// sweep moves the threshold over every score that occurs.
func sweep(all []said) []point {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b said) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	left := 0
	for _, s := range sorted {
		if s.want.actionable {
			left++
		}
	}
	var points []point
	for i, s := range sorted {
		if i == 0 || s.score != sorted[i-1].score {
			points = append(points, point{100 * ratio(i, len(sorted)), 100 * ratio(left, len(sorted)-i)})
		}
		if s.want.actionable {
			left--
		}
	}
	return points
}

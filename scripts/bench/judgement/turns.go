package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
	"tri/lib/record/event"
	"tri/lib/record/turn"
)

func init() {
	parts = append(parts,
		part{"turns", "Turns: two messages of one person, against one reader's labels", turnsPart},
		part{"relations",
			"Relations: what an asker's message does to the open question, against one reader's labels",
			relationsPart})
}

// linked is a line of data/turns: whether a person's message continues the one before.
type linked struct {
	room, first, second, half string
	same                      bool
}

func readLinked(path string) (all []linked, err error) {
	text, err := os.ReadFile(path)
	for n, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		f := strings.Split(l, "\t")
		if len(f) != 5 || f[4] != "same" && f[4] != "apart" {
			return nil, fmt.Errorf("%s:%d: not a room, two ids, a half and same or apart", path, n+1)
		}
		all = append(all, linked{f[0], f[1], f[2], f[3], f[4] == "same"})
	}
	return all, err
}

func records[T any](path string) (all []T, err error) {
	text, err := os.ReadFile(path)
	for l := range bytes.Lines(text) {
		var v T
		if err := json.Unmarshal(l, &v); err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		all = append(all, v)
	}
	return all, err
}

// roomOf runs a room through tri-thread, tri-turn and tri-classify, without its annotation.
func roomOf(path string) (map[string]event.Classified, error) {
	events, err := records[map[string]any](path)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, e := range events {
		e["thread_id"] = nil
		b, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		text.Write(append(b, '\n'))
	}
	var threaded, turned, out bytes.Buffer
	c, err := classify.New(classify.Options{Now: func() time.Time { return time.Unix(0, 0) }})
	if err != nil {
		return nil, err
	}
	err = errors.Join(pass(&text, &threaded, conversation.Stage()), pass(&threaded, &turned, turn.Stage()),
		pass(&turned, &out, c.Stage()))
	all := map[string]event.Classified{}
	for l := range bytes.Lines(out.Bytes()) {
		var e event.Classified
		if err := json.Unmarshal(l, &e); err != nil {
			return nil, err
		}
		all[e.MessageID] = e
	}
	return all, err
}

func pass[T any](in io.Reader, out io.Writer, st stream.Stage[T]) error {
	_, err := stream.Run(context.Background(), stream.Input{Stdin: in, After: -1},
		stream.Output{Stdout: out}, st)
	return err
}

// yesNo counts decisions between yes and no.
type yesNo struct{ hit, said, want, n int }

func (c *yesNo) add(said, want bool) {
	c.n++
	for to, is := range map[*int]bool{&c.said: said, &c.want: want, &c.hit: said && want} {
		if is {
			*to++
		}
	}
}

func (c *yesNo) f1() float64 { return 2 * float64(c.hit) / float64(max(1, c.said+c.want)) }

func (c *yesNo) print(out io.Writer, name string) {
	p, pl, ph := interval(c.hit, c.said)
	r, rl, rh := interval(c.hit, c.want)
	fmt.Fprintf(out, "  %-26s n %4d  precision %.3f [%.3f, %.3f]  recall %.3f [%.3f, %.3f]  F1 %.3f\n", name,
		c.n, p, pl, ph, r, rl, rh, c.f1())
}

// timers are the windows of the timers that turns are compared with, in seconds.
var timers = []float64{2.5, 5, 10, 15, 30, 45, 60, 90, 120, 180, 300}

func turnsPart(out io.Writer, in inputs) error {
	for _, sample := range []string{"turns", "stretches"} {
		labels, err := readLinked(filepath.Join(in.data, "turns", sample+".tsv"))
		if err != nil {
			return err
		}
		ours, others := map[string]*grouping{}, map[string]map[float64]*grouping{}
		var room map[string]event.Classified
		for i, l := range labels {
			if i == 0 || labels[i-1].room != l.room {
				if room, err = roomOf(filepath.Join(in.chat, "..", l.room+".ndjson")); err != nil {
					return err
				}
			}
			first, second := room[l.first], room[l.second]
			said := first.TurnID == second.TurnID
			for _, name := range []string{l.half, l.half + ", " + l.room} {
				if ours[name] == nil {
					ours[name], others[name] = &grouping{}, map[float64]*grouping{}
				}
				ours[name].add(l, said)
				for _, w := range timers {
					if others[name][w] == nil {
						others[name][w] = &grouping{}
					}
					others[name][w].add(l, gap(first, second) <= w)
				}
			}
		}
		fmt.Fprintf(out, "  %s: %d lines, ONE reader\n", sample, len(labels))
		for _, name := range sorted(ours) {
			best := timers[0]
			for _, w := range timers {
				if others[name][w].f1() > others[name][best].f1() {
					best = w
				}
			}
			ours[name].print(out, name)
			others[name][2.5].print(out, "  a timer of 2.5 s")
			others[name][best].print(out, fmt.Sprintf("  the best timer, %g s", best))
		}
	}
	return annotated(out, in)
}

// annotated compares whole turns with the annotated conversations of rooms with real seconds: the truth is
// one person's messages in one conversation with nobody else of it between, at most 120 s apart. tri-thread
// was not fitted to stripe.
func annotated(out io.Writer, in inputs) error {
	for _, name := range []string{"stripe.0", "rust.0", "mediawiki.0"} {
		path := filepath.Join(in.chat, name+".ndjson")
		room, err := roomOf(path)
		if err != nil {
			return err
		}
		lines, err := records[event.Event](path)
		if err != nil {
			return err
		}
		roots, last, g := map[string]bool{}, map[string]event.Event{}, &grouping{whole: true}
		for _, e := range lines {
			if e.ThreadID != nil {
				roots[*e.ThreadID] = true
			}
		}
		for _, e := range lines {
			conversation := e.MessageID
			switch {
			case e.ThreadID != nil:
				conversation = *e.ThreadID
			case !roots[e.MessageID]:
				continue // not annotated
			}
			near := func(o event.Event, most float64) bool {
				return o.Sender.ID == e.Sender.ID && seconds(e.CreateTime)-seconds(o.CreateTime) <= most
			}
			l := linked{first: e.MessageID, second: e.MessageID}
			if before := last["conversation "+conversation]; near(before, 120) {
				l.first, l.same = before.MessageID, true
			} else if own := last["person "+e.Sender.ID]; near(own, turn.Gap) {
				l.first = own.MessageID
			}
			g.add(l, room[l.first].TurnID == room[l.second].TurnID)
			last["conversation "+conversation], last["person "+e.Sender.ID] = e, e
		}
		g.print(out, name+", annotated")
	}
	return nil
}

// grouping compares links with a reader's, and, of stretches whose every message is there, whole turns. A
// message whose author said nothing shortly before has a line with itself, which is not a link.
type grouping struct {
	yesNo
	truth, said map[string]string // the turn of a message
	whole       bool
}

func (g *grouping) add(l linked, said bool) {
	if g.truth == nil {
		g.truth, g.said = map[string]string{}, map[string]string{}
	}
	if l.first == l.second {
		g.whole = true
	} else {
		g.yesNo.add(said, l.same)
	}
	for turns, same := range map[*map[string]string]bool{&g.truth: l.same, &g.said: said} {
		id := l.second
		if before, ok := (*turns)[l.first]; ok && same {
			id = before
		}
		(*turns)[l.second] = id
	}
}

func (g *grouping) print(out io.Writer, name string) {
	g.yesNo.print(out, name)
	if !g.whole {
		return
	}
	// The messages of a turn, as the other grouping has them.
	turns := func(of, in map[string]string) (all map[string]map[string]int) {
		all = map[string]map[string]int{}
		for m, id := range of {
			if all[id] == nil {
				all[id] = map[string]int{}
			}
			all[id][in[m]]++
		}
		return all
	}
	theirs := turns(g.said, g.truth)
	exact, many, split := 0, 0, 0
	for _, parts := range turns(g.truth, g.said) {
		n := 0
		for id, k := range parts {
			n += k
			if len(parts) == 1 && len(theirs[id]) == 1 {
				exact++
			}
		}
		if n > 1 {
			many++
			if len(parts) > 1 {
				split++
			}
		}
	}
	p, low, high := interval(split, many)
	whole := 2 * float64(exact) / float64(len(theirs)+len(turns(g.truth, g.said)))
	fmt.Fprintf(out, "  %-26s whole turns: exact F1 %.3f; of several messages %d of %d split: %.3f "+
		"[%.3f, %.3f]\n",
		"", whole, split, many, p, low, high)
}

// gap returns the seconds between two messages.
func gap(a, b event.Classified) float64 { return seconds(b.CreateTime) - seconds(a.CreateTime) }

func sorted[K string | float64, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

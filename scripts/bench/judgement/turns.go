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
	"time"

	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
	"tri/lib/record/event"
	"tri/lib/record/turn"
)

func init() {
	parts = append(parts,
		part{"turns", "Turns: two messages of one person, against two readers' labels", turnsPart},
		part{"relations",
			"Relations: what an asker's message does to the open question, against one reader's labels",
			relationsPart})
}

// line is a message as a reader sees it.
type line struct{ At, Who, Text string }

// twoSaid is a place of turns.ndjson.
type twoSaid struct {
	ID, Room string
	AID      string `json:"a_id"`
	BID      string `json:"b_id"`
	A, B     line
}

// readerLabel is a reader's word on a place.
type readerLabel struct {
	ID   string
	Same bool
}

// errNoLabels says that a part was left out.
var errNoLabels = errors.New("no labels: -labels names the folder with them")

// labelled reads places and the labels of two readers, by id.
func labelled[T any](in inputs, name string) (places []T, a, b map[string]readerLabel, err error) {
	if in.labels == "" {
		return nil, nil, nil, errNoLabels
	}
	places, err = records[T](filepath.Join(in.labels, name+".ndjson"))
	by := [2]map[string]readerLabel{{}, {}}
	for i, reader := range []string{"A", "B"} {
		said, failed := records[readerLabel](filepath.Join(in.labels, name+"."+reader+".ndjson"))
		err = errors.Join(err, failed)
		for _, l := range said {
			by[i][l.ID] = l
		}
	}
	return places, by[0], by[1], err
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

func turnsPart(out io.Writer, in inputs) error {
	places, a, b, err := labelled[twoSaid](in, "turns")
	if errors.Is(err, errNoLabels) {
		fmt.Fprintln(out, err)
		return nil
	}
	if err != nil {
		return err
	}
	agree := 0
	ours := map[string]*yesNo{}
	timers := map[float64]*yesNo{}
	rooms := map[string]map[string]event.Classified{}
	for _, p := range places {
		if a[p.ID].Same != b[p.ID].Same {
			continue
		}
		agree++
		want := a[p.ID].Same
		if rooms[p.Room] == nil {
			if rooms[p.Room], err = roomOf(filepath.Join(in.chat, "..", p.Room)); err != nil {
				return err
			}
		}
		first, second := rooms[p.Room][p.AID], rooms[p.Room][p.BID]
		for _, name := range []string{"all rooms", p.Room} {
			if ours[name] == nil {
				ours[name] = &yesNo{}
			}
			ours[name].add(first.TurnID == second.TurnID, want)
		}
		for _, w := range []float64{2.5, 5, 10, 15, 30, 45, 60, 90, 120, 300} {
			if timers[w] == nil {
				timers[w] = &yesNo{}
			}
			timers[w].add(gap(p) <= w, want)
		}
	}
	fmt.Fprintf(out, "  %d places, the readers agree on %d; those are scored. Split turns: 1 - recall.\n",
		len(places), agree)
	for _, name := range sorted(ours) {
		ours[name].print(out, name)
	}
	for _, w := range sorted(timers) {
		timers[w].print(out, fmt.Sprintf("timer per person, %g s", w))
	}
	return nil
}

func gap(p twoSaid) float64 {
	from, err := time.Parse(time.RFC3339, p.A.At)
	to, err2 := time.Parse(time.RFC3339, p.B.At)
	if err != nil || err2 != nil {
		return -1
	}
	return to.Sub(from).Seconds()
}

func sorted[K string | float64, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

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
	"tri/lib/judge/relation"
	"tri/lib/record/event"
	"tri/lib/record/turn"
)

func init() {
	parts = append(parts,
		part{"turns", "Turns: two messages of one person, against two readers' labels", turnsPart},
		part{"relations", "Relations: what an asker's message does, against two readers' labels", relationsPart})
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

// asking is a place of relations.ndjson.
type asking struct {
	ID, Room, Half, Asker string
	Question, Message     line
	SoFar                 []line `json:"so_far"`
}

// readerLabel is a reader's word on a place.
type readerLabel struct {
	ID   string
	Same bool
	Kind string
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
	err = errors.Join(pass(&text, &threaded, conversation.Stage()), pass(&threaded, &turned, turn.Stage()), pass(&turned, &out, c.Stage()))
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
	_, err := stream.Run(context.Background(), stream.Input{Stdin: in, After: -1}, stream.Output{Stdout: out}, st)
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
	fmt.Fprintf(out, "  %-26s n %4d  precision %.3f [%.3f, %.3f]  recall %.3f [%.3f, %.3f]  F1 %.3f\n", name, c.n, p, pl, ph, r, rl, rh, c.f1())
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
	fmt.Fprintf(out, "  %d places, the readers agree on %d; those are scored. Split turns: 1 - recall.\n", len(places), agree)
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

func relationsPart(out io.Writer, in inputs) error {
	places, a, b, err := labelled[asking](in, "relations")
	if errors.Is(err, errNoLabels) {
		fmt.Fprintln(out, err)
		return nil
	}
	if err != nil {
		return err
	}
	kinds := []string{relation.Ack, relation.Status, relation.Cancel, relation.Redirect, relation.Answer, relation.Branch, relation.Append}
	scored := map[string]map[string]*yesNo{"open": {}, "untouched": {}}
	rooms, agree, falseCancels := map[string]map[string]event.Classified{}, 0, 0
	for _, p := range places {
		if rooms[p.Room] == nil {
			if rooms[p.Room], err = roomOf(filepath.Join(in.chat, "..", p.Room)); err != nil {
				return err
			}
		}
		got := judged(p, rooms[p.Room])
		if got == relation.Cancel && a[p.ID].Kind != got && b[p.ID].Kind != got {
			falseCancels++
		}
		if a[p.ID].Kind != b[p.ID].Kind {
			continue
		}
		agree++
		want := strings.Replace(a[p.ID].Kind, relation.New, relation.Branch, 1)
		for _, kind := range kinds {
			if scored[p.Half][kind] == nil {
				scored[p.Half][kind] = &yesNo{}
			}
			scored[p.Half][kind].add(got == kind, want == kind)
		}
	}
	fmt.Fprintf(out, "  %d messages, the readers agree on %d; those are scored, new as branch. False cancels of all: %d.\n", len(places), agree, falseCancels)
	for _, half := range sorted(scored) {
		sum, n := 0.0, 0
		for _, kind := range kinds {
			if c := scored[half][kind]; c != nil && c.want > 0 {
				c.print(out, half+", "+kind)
				sum, n = sum+c.f1(), n+1
			}
		}
		fmt.Fprintf(out, "  %s, macro F1 of %d kinds: %.3f\n", half, n, sum/float64(max(1, n)))
	}
	return nil
}

// judged has the rules judge a place: the asker's question and what they said since are the one open item;
// if a helper's question was last, it waits for an answer.
func judged(p asking, all map[string]event.Classified) string {
	item := relation.Item{Texts: []string{p.Question.Text}}
	for _, l := range p.SoFar {
		if l.Who == p.Asker && l.At >= p.Question.At {
			item.Texts = append(item.Texts, l.Text)
		}
	}
	if n := len(p.SoFar); n > 0 && p.SoFar[n-1].Who != p.Asker {
		item.Asked = strings.ContainsAny(p.SoFar[n-1].Text, "?？")
	}
	m := relation.Message{Text: p.Message.Text}
	for _, e := range all {
		if e.CreateTime == p.Message.At && e.Sender.ID == p.Asker && strings.HasPrefix(e.Content, strings.TrimSuffix(p.Message.Text, " […]")) {
			m.Text, m.Names, m.Ack, m.Asks = e.Content, e.Mentions, e.IsAckOrEmoji, e.Classification == event.Actionable
			break
		}
	}
	return relation.Judge(m, []relation.Item{item}).Kind
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/base/stream"
	"tri/lib/judge/conversation"
)

func init() {
	parts = append(parts, part{"conversation", "The conversations: tri-thread against people's annotation",
		conversations})
}

// annotatedRooms are those with conversations marked by people. Every other hour
// of #ubuntu, by its date, is tuned; of the others a room is one or the other whole.
var annotatedRooms = []struct {
	name  string
	tuned func(log int) bool
}{
	{"ubuntu", func(log int) bool { return log%2 == 0 }},
	{"rust.0", func(int) bool { return true }},
	{"mediawiki.0", func(int) bool { return true }},
	{"stripe.0", func(int) bool { return false }},
	{"ubuntu-meeting.0", func(int) bool { return false }},
}

// placed is a message by its conversation in the annotation and in our records.
type placed struct{ gold, auto string }

// conversations runs each room whole, without its annotation, and scores the
// messages annotated.
func conversations(out io.Writer, in inputs) error {
	scored := map[string][]placed{}
	var rows []string
	for _, room := range annotatedRooms {
		logs, err := disentangled(filepath.Join(in.chat, room.name+".ndjson"))
		if err != nil {
			return err
		}
		for i, log := range logs {
			half := "untouched"
			if room.tuned(i) {
				half = "tuned"
			}
			name := strings.TrimSuffix(room.name, ".0")
			row := half + ", #" + name
			if scored[row] == nil {
				rows = append(rows, row)
			}
			scored[row] = append(scored[row], log...)
			scored[half+", all rooms"] = append(scored[half+", all rooms"], log...)
		}
	}
	fmt.Fprintf(out, "%-28s %5s %6s %6s   %-24s %6s %6s %6s\n", "", "N", "1-VI", "1-1", "(95%)",
		"exact P", "R", "F1")
	for _, row := range append(rows, "tuned, all rooms", "untouched, all rooms") {
		m := compare(scored[row])
		share, low, high := interval(m.overlap, m.n)
		fmt.Fprintf(out, "%-28s %5d %6.1f %6.1f   (%.1f to %.1f) %14.1f %6.1f %6.1f\n",
			row, m.n, m.vi, 100*share, 100*low, 100*high, m.precision, m.recall, m.f1)
	}
	fmt.Fprintln(out, "1-VI / 1-1 published for whole #ubuntu, with joins and parts, which are not in ours:")
	fmt.Fprintln(out, "80.6 / 53.7 for the classic heuristic, 88.9 / 69.5 for a trained linear model.")
	fmt.Fprintln(out, "The intervals take messages for independent; those of one conversation are not.")
	return nil
}

// disentangled returns the annotated messages of a file, log by log, with where
// tri-thread puts them. A message before the annotated stretch carries a thread
// only since one inside goes back to it, and is left out, as the papers do.
func disentangled(path string) ([][]placed, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type record struct {
		MessageID string  `json:"message_id"`
		ThreadID  *string `json:"thread_id"`
	}
	var gold []record
	var bare bytes.Buffer
	for line := range bytes.Lines(text) {
		var e map[string]any
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		e["thread_id"] = nil
		stripped, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		gold = append(gold, r)
		bare.Write(append(stripped, '\n'))
	}
	var threaded bytes.Buffer
	if _, err := stream.Run(context.Background(), stream.Input{Stdin: &bare, After: -1},
		stream.Output{Stdout: &threaded}, conversation.Stage()); err != nil {
		return nil, err
	}
	var logs [][]placed
	log := ""
	for i := 0; ; i++ {
		line, err := threaded.ReadBytes('\n')
		if err == io.EOF {
			return logs, nil
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("what tri-thread wrote: %w", err)
		}
		if r.MessageID != gold[i].MessageID {
			return nil, fmt.Errorf("what tri-thread wrote: %s where %s belongs", r.MessageID,
				gold[i].MessageID)
		}
		if name := r.MessageID[:strings.LastIndex(r.MessageID, "-")]; name != log {
			logs, log = append(logs, nil), name
		}
		last := &logs[len(logs)-1]
		if gold[i].ThreadID == nil {
			*last = (*last)[:0] // the stretch has not begun
			continue
		}
		p := placed{*gold[i].ThreadID, r.MessageID}
		if r.ThreadID != nil {
			p.auto = *r.ThreadID
		}
		*last = append(*last, p)
	}
}

// likeness are the measures of Kummerfeld et al. (2019), in percent.
type likeness struct {
	n                     int
	vi                    float64 // 1 - variation of information / log2 n
	overlap               int     // messages under the best one-to-one bestMatching
	precision, recall, f1 float64 // conversations of two or more that are exactly right
}

func compare(pairs []placed) likeness {
	joint, golds, autos := map[placed]int{}, map[string]int{}, map[string]int{}
	for _, p := range pairs {
		joint[p]++
		golds[p.gold]++
		autos[p.auto]++
	}
	m := likeness{n: len(pairs)}
	n, vi, exact := float64(m.n), 0.0, 0
	for p, both := range joint {
		b, g, a := float64(both), golds[p.gold], autos[p.auto]
		vi -= b / n * (math.Log2(b/float64(g)) + math.Log2(b/float64(a)))
		if both > 1 && both == g && both == a {
			exact++
		}
	}
	m.vi = 100 * (1 - vi/math.Log2(n))
	m.overlap = bestMatching(joint, golds, autos)
	m.precision, m.recall = 100*float64(exact)/clusters(autos), 100*float64(exact)/clusters(golds)
	if exact > 0 {
		m.f1 = 2 * m.precision * m.recall / (m.precision + m.recall)
	}
	return m
}

// clusters counts the clusters of two or more.
func clusters(sizes map[string]int) float64 {
	n := 0.0
	for _, size := range sizes {
		if size > 1 {
			n++
		}
	}
	return n
}

// bestMatching is the most messages that agree when each of our conversations may
// stand for one of the annotation's: the assignment problem, by the Hungarian
// method with potentials (Kuhn; Jonker and Volgenant), rows and columns from 1.
func bestMatching(joint map[placed]int, golds, autos map[string]int) int {
	row, col := numbered(golds), numbered(autos)
	size := max(len(row), len(col))
	gain := make([][]int, size+1)
	for i := range gain {
		gain[i] = make([]int, size+1)
	}
	for p, n := range joint {
		gain[row[p.gold]][col[p.auto]] = n
	}
	u, v := make([]int, size+1), make([]int, size+1)
	taken, way := make([]int, size+1), make([]int, size+1)
	for i := 1; i <= size; i++ {
		taken[0] = i
		least, seen := make([]int, size+1), make([]bool, size+1)
		for j := range least {
			least[j] = math.MaxInt
		}
		j := 0
		for taken[j] != 0 {
			seen[j] = true
			from, delta, next := taken[j], math.MaxInt, 0
			for k := 1; k <= size; k++ {
				if seen[k] {
					continue
				}
				if cost := -gain[from][k] - u[from] - v[k]; cost < least[k] {
					least[k], way[k] = cost, j
				}
				if least[k] < delta {
					delta, next = least[k], k
				}
			}
			for k := 0; k <= size; k++ {
				if seen[k] {
					u[taken[k]] += delta
					v[k] -= delta
				} else {
					least[k] -= delta
				}
			}
			j = next
		}
		for ; j != 0; j = way[j] {
			taken[j] = taken[way[j]]
		}
	}
	total := 0
	for j := 1; j <= size; j++ {
		total += gain[taken[j]][j]
	}
	return total
}

func numbered(sizes map[string]int) map[string]int {
	n := map[string]int{}
	for name := range sizes {
		n[name] = len(n) + 1
	}
	return n
}

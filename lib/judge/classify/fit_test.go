package classify

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/ndjson"
)

var fitWeights = flag.Bool("fit", false,
	"fit the weights of the signs anew and print them, with what they come to on rooms left out")

// fitted is a labelled message: the signs that hold of it, and what readers say.
type fitted struct {
	room  string
	signs signs
	bound bool // not weighed: the rules alone decide it,
	kept  bool // and so
	want  bool
	much  float64 // how much it counts
}

// TestFit fits weights, and measures them on each room with those of the others:
//
//	go test ./lib/judge/classify -run TestFit -fit -v
//
// It reads the labels to tune on and, for a little, the conversations that people
// annotated: who began one is likely to be helped in it.
func TestFit(t *testing.T) {
	if !*fitWeights {
		t.Skip("only on demand")
	}
	all := fittedMessages(t)
	var rooms []string
	for _, f := range all {
		if !slices.Contains(rooms, f.room) {
			rooms = append(rooms, f.room)
		}
	}
	type scored struct {
		points float64
		want   bool
	}
	var out []scored
	for _, room := range rooms {
		w := logistic(all, func(f *fitted) bool { return f.room != room })
		for i := range all {
			if f := &all[i]; f.room == room && f.much == 1 {
				points := w.of(f.signs)
				if f.bound {
					points = map[bool]float64{false: -100, true: 100}[f.kept]
				}
				out = append(out, scored{points, f.want})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.points, a.points) })
	for _, percent := range []int{34, 36, 38, 40, 42} {
		called, hits, want := len(out)*percent/100, 0, 0
		for i, s := range out {
			if s.want {
				want++
				if i < called {
					hits++
				}
			}
		}
		t.Logf("rooms left out: %d%% called (from %.0f points): %.2f misses per 100 dropped, F1 %.3f",
			percent, 100*out[called-1].points,
			100*float64(want-hits)/float64(len(out)-called), 2*float64(hits)/float64(called+want))
	}
	w := logistic(all, func(*fitted) bool { return true })
	var table strings.Builder
	fmt.Fprintf(&table, "atFirst = %.0f\n", 100*w[signCount])
	for n, row := range weights {
		count := 0
		for _, f := range all {
			if f.signs.has(sign(n)) {
				count++
			}
		}
		fmt.Fprintf(&table, "%.0f\t%s\t%d\n", 100*w[n], row.name, count)
	}
	t.Log(table.String())
}

// weighing is a weight a sign, and one for the start behind them.
type weighing [signCount + 1]float64

func (w *weighing) of(s signs) float64 {
	sum := w[signCount]
	for n := range signCount {
		if s.has(sign(n)) {
			sum += w[n]
		}
	}
	return sum
}

// logistic is ridge regression of the messages that are taken, by Newton's steps.
func logistic(all []fitted, take func(*fitted) bool) *weighing {
	const ridge, steps = 8, 12
	w := new(weighing)
	for range steps {
		var slope weighing
		var bend [signCount + 1][signCount + 1]float64
		for i := range all {
			f := &all[i]
			if f.bound || !take(f) {
				continue
			}
			on := []int{int(signCount)}
			for n := range signCount {
				if f.signs.has(sign(n)) {
					on = append(on, int(n))
				}
			}
			p, want := 1/(1+math.Exp(-w.of(f.signs))), 0.0
			if f.want {
				want = 1
			}
			for _, a := range on {
				slope[a] += f.much * (want - p)
				for _, b := range on {
					bend[a][b] += f.much * p * (1 - p)
				}
			}
		}
		for n := range signCount {
			slope[n] -= ridge * w[n]
			bend[n][n] += ridge
		}
		bend[signCount][signCount] += 1e-6
		for n, d := range solve(&bend, slope) {
			w[n] += d
		}
	}
	return w
}

// solve is Gauss's elimination, with the largest pivot.
func solve(m *[signCount + 1][signCount + 1]float64, b weighing) weighing {
	n := len(b)
	for i := range n {
		p := i
		for k := i; k < n; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[p][i]) {
				p = k
			}
		}
		m[i], m[p], b[i], b[p] = m[p], m[i], b[p], b[i]
		for k := i + 1; k < n; k++ {
			f := m[k][i] / m[i][i]
			for j := i; f != 0 && j < n; j++ {
				m[k][j] -= f * m[i][j]
			}
			b[k] -= f * b[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			b[i] -= m[i][j] * b[j]
		}
		b[i] /= m[i][i]
	}
	return b
}

// fittedMessages reads the rooms. No message of an untouched half is among them.
func fittedMessages(t *testing.T) (all []fitted) {
	const chat, labels = "../../../../shared/data/chat", "../../../scripts/bench/judgement/data/labels"
	rooms, err := filepath.Glob(filepath.Join(chat, "*.ndjson"))
	if err != nil || len(rooms) == 0 {
		t.Fatalf("no rooms in %s: %v", chat, err)
	}
	for _, path := range rooms {
		name := strings.TrimSuffix(filepath.Base(path), ".ndjson")
		tuned, untouched := map[string]bool{}, map[string]bool{}
		files, _ := filepath.Glob(filepath.Join(labels, name+".*tuned*.tsv"))
		files2, _ := filepath.Glob(filepath.Join(labels, name+".untouched*.tsv"))
		for _, file := range slices.Concat(files, files2) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for row := range strings.Lines(string(text)) {
				if part := strings.Split(row, "\t"); strings.Contains(file, ".untouched") {
					untouched[part[0]] = true
				} else {
					tuned[part[0]] = part[3] == "1"
				}
			}
		}
		all = append(all, roomMessages(t, path, tuned, untouched)...)
	}
	return all
}

func roomMessages(t *testing.T, path string, tuned, untouched map[string]bool) (all []fitted) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type message struct {
		ID     string  `json:"message_id"`
		Thread *string `json:"thread_id"`
		Sender struct {
			ID string `json:"id"`
		} `json:"sender"`
	}
	type conversation struct {
		opener string
		said   int
		people map[string]bool
	}
	var messages []message
	talks := map[string]*conversation{}
	var bare []byte
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var m message
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
		fields["thread_id"] = json.RawMessage("null")
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		bare = append(append(bare, line...), '\n')
		if m.Thread != nil {
			if talks[*m.Thread] == nil {
				talks[*m.Thread] = &conversation{opener: m.Sender.ID, people: map[string]bool{}}
			}
			talks[*m.Thread].said++
			talks[*m.Thread].people[m.Sender.ID] = true
		}
	}
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := c.state()
	var offset int64
	i := 0
	var scan ndjson.Scanner
	for line := range bytes.Lines(bare) {
		m := messages[i]
		i++
		if err := scan.Scan(bytes.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
		e := new(Event)
		if err := c.Prepare(ndjson.Record{Bytes: line, Members: scan.Members, Seq: -1, Offset: offset},
			e); err != nil {
			t.Fatal(err)
		}
		offset += int64(len(line))
		st.place(e)
		s := e.verdict.stand.weighed
		f := fitted{room: filepath.Base(path), signs: s, bound: s == 0,
			kept: e.verdict.classification() == "actionable", much: 1}
		want, labelled := tuned[m.ID]
		switch {
		case labelled:
			f.want = want
		case untouched[m.ID] || m.Thread == nil || f.bound || talks[*m.Thread].said < 3 ||
			len(talks[*m.Thread].people) < 2:
			continue
		default:
			f.want, f.much = talks[*m.Thread].opener == m.Sender.ID, 0.3
		}
		all = append(all, f)
	}
	return all
}

func (s signs) has(n sign) bool { return s>>n&1 != 0 }

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/stream"
	"tri/lib/judge/classify"
)

func init() {
	parts = append(parts,
		part{"fit", "fit: the filter's weights, and how right they are on communities left out", fitPart})
}

var (
	modelFile = flag.String("model", "", "fit: write the weights, fitted on all communities, to `FILE`")
	operating = flag.Float64("logit", -1.2, "fit: the logit `X` from which a message is actionable")
	less      = flag.Int("less", 1, "fit: only every `N`-th stretch of 40, for a learning curve")
)

// Ridges, chosen on communities left out. What the rules found may weigh less, since they were made from some
// of these rooms.
const (
	ridgeRole  = 8
	ridgeWorth = 20
	ridgeRules = 200
	ridgeAck   = 4
	slackMuch  = 2   // how much a message of Slack counts, against one of IRC
	ackLogit   = 0.5 // from which a message only acknowledges
	rounds     = 30  // of coordinate descent
)

// example is a labelled message.
type example struct {
	classify.Traced
	who      string
	labelled bool
	want     label
	helped   bool // its writer is being helped thereabouts
}

// fitRoom is a room, and what readers say of its messages.
type fitRoom struct {
	name, community string
	messages        []byte
	who             map[string]string
	labels          map[string]label
}

// fitting holds the rooms, and what has been computed of them.
type fitting struct {
	rooms      []fitRoom
	classifier *classify.Classifier
	heard      map[string]weights   // of words, by what they tell of and the communities left out
	traced     map[string][]example // by room and model
}

func fitPart(out io.Writer, in inputs) error {
	f := &fitting{heard: map[string]weights{}, traced: map[string][]example{}}
	if err := f.read(in); err != nil {
		return err
	}
	var err error
	if f.classifier, err = classify.New(classify.Options{}); err != nil {
		return err
	}
	sets := map[string][]said{}
	var names []string
	for _, r := range f.rooms {
		traces, err := f.traces(r)
		if err != nil {
			return err
		}
		for name, all := range traces {
			for _, of := range []string{r.community, kindOf(r)} {
				if strings.Contains(name, "from") && of == r.community {
					continue
				}
				of += ", " + name
				if !slices.Contains(names, of) {
					names = append(names, of)
				}
				for _, e := range all {
					sets[of] = append(sets[of], said{question: e.Question, ack: e.Acknowledgement,
						actionable: e.Actionable, want: e.want})
				}
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		measure(sets[name]).print(out, name)
	}
	for _, name := range names {
		open, missed := 0, 0
		for _, s := range sets[name] {
			open += bit(s.want.kind != "" && s.want.actionable)
			missed += bit(s.want.kind != "" && s.want.actionable && !s.actionable)
		}
		fmt.Fprintf(out, "%-30s openings missed %d of %d\n", name, missed, open)
	}
	if *modelFile == "" {
		return nil
	}
	model, err := f.model("")
	if err != nil {
		return err
	}
	return os.WriteFile(*modelFile, []byte(model), 0o666)
}

// traces returns what the filter makes of a room, by its weights: as they are built in; fitted without the
// room's community, with other values of actionable_from, and with each stretch of labels as a new room.
func (f *fitting) traces(r fitRoom) (map[string][]example, error) {
	model, err := f.model(r.community)
	if err != nil {
		return nil, err
	}
	all := map[string][]example{}
	for _, from := range points {
		name := "left out"
		if from != 0 {
			name = fmt.Sprintf("left out, from %+d", from)
		}
		if all[name], err = f.trace(r, model, from); err != nil {
			return nil, err
		}
	}
	if all["as shipped"], err = f.trace(r, "", 0); err != nil {
		return nil, err
	}
	begun, err := newRooms(r, 8)
	if err != nil {
		return nil, err
	}
	all["left out, new rooms"], err = f.trace(begun, model, 0)
	return all, err
}

// points are the values of actionable_from that are compared.
var points = []int{-150, -100, -50, 0, 50, 100}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func kindOf(r fitRoom) string {
	if slices.Contains([]string{"elm", "racket"}, r.community) {
		return "all of Slack"
	}
	return "all of IRC"
}

// read reads the rooms that have labels to fit on. No label of an untouched half is read.
func (f *fitting) read(in inputs) error {
	for _, folder := range []string{"labels", "labels/slack"} {
		rooms, err := labelledRooms(filepath.Join(in.data, folder))
		if err != nil {
			return err
		}
		for _, r := range rooms {
			if r.half != "tuned" {
				continue
			}
			text, err := loadRoom(in.chat, r.name)
			if err != nil {
				return err
			}
			name, _, _ := strings.Cut(r.name, "-20") // racket-2017 and racket-2019 are one community
			room := fitRoom{r.name, name, text, map[string]string{}, map[string]label{}}
			for i, l := range r.labels {
				if i/40%*less == 0 {
					room.labels[l.id] = l
				}
			}
			for line := range bytes.Lines(text) {
				room.who[gjson.GetBytes(line, "message_id").Str] = gjson.GetBytes(line, "sender.id").Str
			}
			f.rooms = append(f.rooms, room)
		}
	}
	return nil
}

// trace runs a model over a room, "" for the one that is built in, with actionable_from, and returns what it
// makes of the labelled messages.
func (f *fitting) trace(r fitRoom, model string, from int) ([]example, error) {
	key := fmt.Sprintf("%s %d\n%s", r.name, from, model)
	if all, ok := f.traced[key]; ok {
		return all, nil
	}
	var all []example
	k, err := classify.New(classify.Options{Model: model, Config: config.Classifier{ActionableFrom: from},
		Now: func() time.Time { return time.Unix(0, 0) },
		Trace: func(id string, of classify.Traced) {
			l, ok := r.labels[id]
			all = append(all, example{Traced: of, who: r.who[id], labelled: ok, want: l})
		}})
	if err != nil {
		return nil, err
	}
	in := stream.Input{Stdin: bytes.NewReader(r.messages), After: -1, Window: classify.Window}
	_, err = stream.Run(context.Background(), in, stream.Output{Stdout: io.Discard}, k.Stage())
	if err != nil {
		return nil, err
	}
	const near = 12 // messages
	for i := range all {
		for _, o := range all[max(0, i-near):min(len(all), i+near+1)] {
			all[i].helped = all[i].helped || o.labelled && o.want.actionable && o.who == all[i].who
		}
	}
	all = slices.DeleteFunc(all, func(e example) bool { return !e.labelled })
	f.traced[key] = all
	return all, nil
}

// rows are examples in the form that the fit needs.
type rows struct {
	on   [][]uint32
	want []bool
	much []float64
}

func (s *rows) add(r fitRoom, on []uint32, want bool) {
	much := 1.0
	if kindOf(r) == "all of Slack" {
		much = slackMuch
	}
	s.on, s.want, s.much = append(s.on, on), append(s.want, want), append(s.much, much)
}

// weights are those of values by number, in logits.
type weights struct {
	start float64
	by    []float64
}

// words fits, without some communities, what a message's own words tell: of the part that its writer takes,
// or that it only acknowledges.
func (f *fitting) words(ack bool, but ...string) (weights, error) {
	slices.Sort(but)
	key := fmt.Sprint(ack, slices.Compact(but))
	if w, ok := f.heard[key]; ok {
		return w, nil
	}
	var s rows
	for _, r := range f.rooms {
		all, err := f.trace(r, "start\t-\t0\t0\t0\n", 0)
		if err != nil {
			return weights{}, err
		}
		for _, e := range all {
			if !slices.Contains(but, r.community) {
				s.add(r, slices.Concat(e.Words, e.Aloud), ack && e.want.ack || !ack && e.helped)
			}
		}
	}
	ridge := float64(ridgeRole)
	if ack {
		ridge = ridgeAck
	}
	f.heard[key] = s.fit(func(uint32) float64 { return ridge })
	return f.heard[key], nil
}

// model fits without a community. The parts that people of a community take are computed by weights fitted
// without it, so that what is fitted on them meets parts as uncertain as those of an unknown room.
func (f *fitting) model(but string) (string, error) {
	var s rows
	for _, r := range f.rooms {
		if r.community == but {
			continue
		}
		role, err := f.words(false, but, r.community)
		if err != nil {
			return "", err
		}
		all, err := f.trace(r, f.text(role, weights{}, weights{}), 0)
		if err != nil {
			return "", err
		}
		for _, e := range all {
			s.add(r, slices.Concat(e.Aloud, e.Around), e.want.actionable)
		}
	}
	worth := s.fit(func(n uint32) float64 {
		if classify.Ruled(n) {
			return ridgeRules
		}
		return ridgeWorth
	})
	worth.start -= *operating
	role, err := f.words(false, but)
	if err != nil {
		return "", err
	}
	ack, err := f.words(true, but)
	ack.start -= ackLogit
	return f.text(role, worth, ack), err
}

// text writes weights as classify reads them, in hundredths of a logit.
func (f *fitting) text(role, worth, ack weights) string {
	points := func(x float64) int { return int(math.Round(100 * x)) }
	at := func(w weights, n int) int {
		if n < len(w.by) {
			return points(w.by[n])
		}
		return 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "start\t-\t%d\t%d\t%d\n", points(role.start), points(worth.start), points(ack.start))
	for n := range max(len(role.by), len(worth.by), len(ack.by)) {
		if x, y, z := at(role, n), at(worth, n), at(ack, n); x != 0 || y != 0 || z != 0 {
			fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", f.classifier.Feature(uint32(n)), x, y, z)
		}
	}
	return b.String()
}

// fit is ridge regression, logistic, by coordinate descent. ridge is by number of a value.
func (s *rows) fit(ridge func(uint32) float64) (w weights) {
	type cell struct {
		row int
		x   float64
	}
	var by [][]cell
	for i, on := range s.on {
		for _, n := range on {
			for len(by) <= int(n) {
				by = append(by, nil)
			}
			if k := len(by[n]); k > 0 && by[n][k-1].row == i {
				by[n][k-1].x++
			} else {
				by[n] = append(by[n], cell{i, 1})
			}
		}
	}
	w.by = make([]float64, len(by))
	logit := make([]float64, len(s.on))
	everywhere := make([]cell, len(s.on))
	for i := range everywhere {
		everywhere[i] = cell{i, 1}
	}
	step := func(cells []cell, g, h float64) float64 {
		for _, c := range cells {
			p, want := 1/(1+math.Exp(-logit[c.row])), 0.0
			if s.want[c.row] {
				want = 1
			}
			g += s.much[c.row] * c.x * (want - p)
			h += s.much[c.row] * c.x * c.x * p * (1 - p)
		}
		for _, c := range cells {
			logit[c.row] += g / h * c.x
		}
		return g / h
	}
	const least = 5 // messages that have a value
	for range rounds {
		w.start += step(everywhere, 0, 1e-6)
		for n, cells := range by {
			if len(cells) >= least {
				r := ridge(uint32(n))
				w.by[n] += step(cells, -r*w.by[n], r)
			}
		}
	}
	return w
}

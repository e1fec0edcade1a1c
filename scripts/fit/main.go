// Fit fits the decider of tri-classify on labelled rooms, and measures it on each community with what was
// fitted on the others.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
)

var (
	data        = flag.String("data", "../shared/data", "folder of chat as events")
	labels      = flag.String("labels", "scripts/bench/judgement/data/labels", "folder of labels")
	out         = flag.String("out", "", "fit on all communities and write `FILE`, instead of measuring")
	only        = flag.String("only", "", "leave out these communities, one after another; default all")
	half        = flag.String("half", "tuned", "labels to measure on: tuned or untouched")
	from        = flag.Int("from", -40, "score from which a message is actionable, in hundredths of a logit")
	rounds      = flag.Int("rounds", 100, "steps of boosting")
	lambda      = flag.Float64("lambda", 8, "ridge")
	rate        = flag.Float64("rate", 0.3, "share of a step that is taken")
	slackWeight = flag.Float64("slack", 2, "weight of a message of a community without annotated conversations")
	openWeight  = flag.Float64("open", 2, "weight of a message that opens something")
)

type label struct{ q, k, a, open bool }

type row struct {
	id            string
	room          int
	x             [classify.Features]uint8
	grams         []uint32
	words         int
	mark          bool
	opener        int // -1 unknown, 0, 1
	lab           *label
	bound, wanted bool
	q, k          bool
	first         bool // of a topic of several people
}

type room struct {
	name, community string
	variant         int
	text            []byte
	labels          map[string]*label // tuned
	judged          map[string]*label
	opener          map[string]int
	first           map[string]bool
	rows            []row
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func readLabels(path string, into map[string]*label) {
	text, err := os.ReadFile(path)
	check(err)
	for line := range strings.Lines(string(text)) {
		p := strings.Split(strings.TrimSpace(line), "\t")
		into[p[0]] = &label{p[1] == "1", p[2] == "1", p[3] == "1", p[4] != "-"}
	}
}

func load() (rooms []*room) {
	for _, dir := range []string{"chat", "slack"} {
		files, _ := filepath.Glob(filepath.Join(*data, dir, "*.ndjson"))
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".ndjson")
			raw, err := os.ReadFile(path)
			check(err)
			l, j := map[string]*label{}, map[string]*label{}
			sub := ""
			if dir == "slack" {
				sub = "slack"
			}
			tuned, _ := filepath.Glob(filepath.Join(*labels, sub, name+".tuned*.tsv"))
			for _, f := range tuned {
				readLabels(f, l)
			}
			judged, _ := filepath.Glob(filepath.Join(*labels, sub, name+"."+*half+"*.tsv"))
			for _, f := range judged {
				readLabels(f, j)
			}
			community := strings.Split(strings.Split(name, "-")[0], ".")[0]
			var bare, gold bytes.Buffer
			type conv struct {
				opener string
				n      int
				who    map[string]bool
			}
			talks := map[string]*conv{}
			type ev struct {
				ID     string  `json:"message_id"`
				Thread *string `json:"thread_id"`
				Sender struct {
					ID string `json:"id"`
				} `json:"sender"`
			}
			var evs []ev
			roots := map[string]string{}
			for line := range bytes.Lines(raw) {
				var e ev
				check(json.Unmarshal(line, &e))
				evs = append(evs, e)
				var fields map[string]json.RawMessage
				check(json.Unmarshal(line, &fields))
				if e.Thread != nil {
					t := talks[*e.Thread]
					if t == nil {
						t = &conv{opener: e.Sender.ID, who: map[string]bool{}}
						talks[*e.Thread] = t
						roots[*e.Thread] = e.ID
					}
					t.n++
					t.who[e.Sender.ID] = true
					fields["thread_id"], _ = json.Marshal(roots[*e.Thread])
					b, _ := json.Marshal(fields)
					gold.Write(append(b, '\n'))
				} else {
					gold.Write(line)
				}
				fields["thread_id"] = json.RawMessage("null")
				b, _ := json.Marshal(fields)
				bare.Write(append(b, '\n'))
			}
			op, first := map[string]int{}, map[string]bool{}
			for _, e := range evs {
				if e.Thread != nil {
					if t := talks[*e.Thread]; t.n >= 3 && len(t.who) >= 2 {
						op[e.ID] = 0
						if t.opener == e.Sender.ID {
							op[e.ID] = 1
						}
						if roots[*e.Thread] == e.ID {
							first[e.ID] = true
						}
					}
				}
			}
			var threaded bytes.Buffer
			_, err = stream.Run(context.Background(), stream.Input{Stdin: bytes.NewReader(bare.Bytes()), After: -1}, stream.Output{Stdout: &threaded}, conversation.Stage())
			check(err)
			rooms = append(rooms, &room{name: name, community: community, text: bare.Bytes(), labels: l, judged: j, opener: op, first: first})
			rooms = append(rooms, &room{name: name, community: community, variant: 1, text: threaded.Bytes(), labels: l, judged: j, opener: op, first: first})
			if len(talks) > 0 {
				rooms = append(rooms, &room{name: name, community: community, variant: 2, text: gold.Bytes(), labels: l, judged: j, opener: op, first: first})
			}
		}
	}
	return rooms
}

func observe(rooms []*room, d *classify.Decider) {
	for ri, r := range rooms {
		c, err := classify.New(classify.Options{Decider: d})
		check(err)
		r.rows = r.rows[:0]
		in := stream.Input{Stdin: bytes.NewReader(r.text), After: -1}
		check(c.Observe(context.Background(), in, func(o *classify.Observation) {
			var e struct {
				ID      string `json:"message_id"`
				Content string `json:"content"`
			}
			check(json.Unmarshal(o.Line, &e))
			w := row{id: e.ID, room: ri, x: o.Features, grams: o.Grams, words: o.Words, opener: -1, q: o.Question, k: o.Ack, bound: o.Bound, wanted: o.Wanted}
			w.mark = strings.Contains(e.Content, "?")
			w.first = r.first[e.ID]
			if v, ok := r.opener[e.ID]; ok {
				w.opener = v
			}
			w.lab = r.labels[e.ID]
			r.rows = append(r.rows, w)
		}))
	}
}

func communities(rooms []*room) (all []string) {
	seen := map[string]bool{}
	for _, r := range rooms {
		if !seen[r.community] {
			seen[r.community] = true
			all = append(all, r.community)
		}
	}
	return all
}

func main() {
	flag.Parse()
	fmt.Printf("%d rounds, rate %g, ridge %g, weights %g and %g, actionable from %d\n", *rounds, *rate, *lambda, *slackWeight, *openWeight, *from)
	rooms := load()
	for _, held := range append(communities(rooms), "") {
		if *only != "" && !strings.Contains(*only, held) {
			continue
		}
		if held == "" && *out == "" || held != "" && *out != "" {
			continue
		}
		m := fitAll(rooms, held)
		if held != "" {
			report(rooms, m, held)
		} else {
			check(os.WriteFile(*out, m.Bytes(), 0o644))
		}
	}
	total()
}

func fitAll(rooms []*room, held string) *classify.Decider {
	d := new(classify.Decider)
	observe(rooms, d)
	fitGrams(rooms, held, d)
	observe(rooms, d)
	d.Text = *fitHead(rooms, held, true)
	observe(rooms, d)
	d.Wants = *fitHead(rooms, held, false)
	return d
}

type tally struct{ tp, fp, fn, n int }

func (t *tally) add(got, want bool) {
	t.n++
	switch {
	case got && want:
		t.tp++
	case got:
		t.fp++
	case want:
		t.fn++
	}
}
func (t *tally) f1() float64 { return 2 * float64(t.tp) / float64(max(1, 2*t.tp+t.fp+t.fn)) }

type sums struct {
	q, k, a, old       tally
	open, openMissed   int
	first, firstMissed int
	scores             []float64
	wants              []bool
}

var totals = map[string]*sums{}
var order []string

func (s *sums) String() string {
	called := s.a.tp + s.a.fp
	return fmt.Sprintf("N %4d  q %.3f  k %.3f  a %.3f (P %.2f R %.2f)  misses %.1f  called %.1f%% true %.1f%%  openings missed %d of %d topics first %d of %d  %s", s.a.n, s.q.f1(), s.k.f1(), s.a.f1(), float64(s.a.tp)/float64(max(1, called)), float64(s.a.tp)/float64(max(1, s.a.tp+s.a.fn)),
		100*float64(s.a.fn)/float64(max(1, s.a.n-called)), 100*float64(called)/float64(s.a.n), 100*float64(s.a.tp+s.a.fn)/float64(s.a.n), s.openMissed, s.open, s.firstMissed, s.first, s.at(0.40)+s.at(0.46)+s.at(0.55)+s.at(0.63))
}

func report(rooms []*room, m *classify.Decider, held string) {
	for _, r := range rooms {
		if r.community != held {
			continue
		}
		kind := []string{"none", "inferred", "gold"}[r.variant]
		group := "irc "
		if len(r.opener) == 0 {
			group = "slack "
		}
		for _, key := range []string{r.name + " " + kind, group + kind} {
			if totals[key] == nil {
				totals[key] = new(sums)
				order = append(order, key)
			}
			s := totals[key]
			for i := range r.rows {
				w := &r.rows[i]
				score := m.Wants.Score(&w.x) - *from
				if w.bound {
					score = map[bool]int{false: -999, true: 999}[w.wanted]
				}
				if w.first {
					s.first++
					if score <= 0 {
						s.firstMissed++
					}
				}
				l := r.judged[w.id]
				if l == nil {
					continue
				}
				s.scores = append(s.scores, float64(score))
				s.wants = append(s.wants, l.a)
				s.q.add(w.q, l.q)
				s.k.add(w.k, l.k)
				s.a.add(score > 0, l.a)
				if l.open {
					s.open++
					if score <= 0 {
						s.openMissed++
					}
				}
			}
		}
	}
	for _, key := range order {
		if strings.HasPrefix(key, held) {
			fmt.Printf("%-24s %s\n", key, totals[key])
		}
	}
}

func total() {
	for _, key := range order {
		if strings.HasPrefix(key, "irc ") || strings.HasPrefix(key, "slack ") {
			fmt.Printf("%-24s %s\n", key, totals[key])
		}
	}
}

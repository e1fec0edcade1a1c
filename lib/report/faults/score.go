package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tri/lib/base/ndjson"
	"tri/lib/base/stats"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// Score is the result of a drill, and a line of drills.ndjson.
type Score struct {
	At         string   `json:"at"`         // RFC 3339
	Version    string   `json:"version"`    // of the programs
	Validators []string `json:"validators"` // validator_model of the verdicts: code, or the model
	Seeds      []int64  `json:"seeds"`      // of the drills
	Good       Good     `json:"good"`
	Faults     []Count  `json:"faults"`
	Missed     []Miss   `json:"missed"`          // faults that passed, at most maxMissed
	Alone      bool     `json:"alone,omitempty"` // of a second agent without code: not kept
	Doubled    int      `json:"doubled"`         // further verdicts on the same return
	Lost       int      `json:"lost"`            // planted faults without a verdict
}

// Good counts the returns without a fault. Low and High are the bounds of the 95% interval of the
// false-alarm rate.
type Good struct {
	Total  int     `json:"total"`
	Passed int     `json:"passed"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Count is the result for one kind of fault: caught, missed, or void if the good return did not
// pass either, so that a refusal proves nothing. Low and High are the bounds of the 95% interval of
// the share caught among those caught and missed.
type Count struct {
	Fault string `json:"fault"`
	// Decidable is false for faults that the cited lines do not show.
	Decidable bool    `json:"decidable"`
	Planted   int     `json:"planted"`
	Caught    int     `json:"caught"`
	Missed    int     `json:"missed"`
	Void      int     `json:"void"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

// Miss is a fault that was not caught.
type Miss struct {
	Of    string `json:"of"`
	Fault string `json:"fault"`
	Where string `json:"where"`
	What  string `json:"what"`
}

const maxMissed = 200 // of a score

// Ok reports whether the drill is conclusive and no fault was missed that the return and its lines
// show.
func (s *Score) Ok() bool {
	caught, missed := 0, 0
	for _, c := range s.Faults {
		if c.Decidable {
			caught, missed = caught+c.Caught, missed+c.Missed
		}
	}
	return caught > 0 && missed == 0
}

// Marked is the part of a verdict that the score uses.
type Marked struct {
	Verdict        string       `json:"verdict"`
	ValidatorModel string       `json:"validator_model"`
	Drill          *draft.Drill `json:"drill"`
}

// plantID identifies a planted fault.
type plantID struct {
	of, fault string
	seed      int64
}

// tally counts verdicts in any order.
type tally struct {
	worst      map[plantID]Marked // of the verdicts on the same return, the one that counts
	order      []plantID
	validators []string
	doubled    int
	alone      bool
}

// Add counts a verdict; it refuses one that is not of a drill. Of several verdicts on the same
// return, the one that passed it counts if it has a fault, and the one that did not pass it if it
// is good.
func (t *tally) Add(m Marked) error {
	if m.Drill == nil || m.Drill.Fault != None && !slices.Contains(Faults, m.Drill.Fault) ||
		m.Verdict == "" || m.Drill.Of == "" {
		return fmt.Errorf("is not a verdict of a drill")
	}
	if t.worst == nil {
		t.worst = map[plantID]Marked{}
	}
	if m.ValidatorModel != "" && !slices.Contains(t.validators, m.ValidatorModel) {
		t.validators = append(t.validators, m.ValidatorModel)
	}
	t.alone = t.alone || m.Drill.Alone
	id := plantID{m.Drill.Of, m.Drill.Fault, m.Drill.Seed}
	had, doubled := t.worst[id]
	switch {
	case !doubled:
		t.order = append(t.order, id)
	case (had.Verdict == verdict.Pass) == (m.Drill.Fault != None):
		t.doubled++
		return nil
	default:
		t.doubled++
	}
	t.worst[id] = m
	return nil
}

// Score returns the result of the verdicts so far.
func (t *tally) Score() *Score {
	s := &Score{Validators: slices.Sorted(slices.Values(t.validators)), Seeds: []int64{}, Missed: []Miss{},
		Doubled: t.doubled, Alone: t.alone}
	passed := map[string]bool{} // by Of, for good returns
	for _, id := range t.order {
		if m := t.worst[id]; id.fault == None {
			s.Good.Total++
			ok := m.Verdict == verdict.Pass
			if ok {
				s.Good.Passed++
			}
			if before, known := passed[id.of]; !known || before {
				passed[id.of] = ok
			}
		}
	}
	s.Good.Low, s.Good.High = stats.Share{Hits: s.Good.Total - s.Good.Passed, N: s.Good.Total}.Interval()
	counts := map[[2]string]*Count{}
	for _, id := range t.order {
		if !slices.Contains(s.Seeds, id.seed) {
			s.Seeds = append(s.Seeds, id.seed)
		}
		if id.fault != None {
			s.count(t.worst[id], passed[id.of], counts)
		}
	}
	slices.Sort(s.Seeds)
	s.Lost = t.lost()
	s.gather(counts)
	return s
}

func (s *Score) count(m Marked, passed bool, counts map[[2]string]*Count) {
	key := [2]string{m.Drill.Fault, fmt.Sprint(m.Drill.Decidable)}
	c := counts[key]
	if c == nil {
		c = &Count{Fault: m.Drill.Fault, Decidable: m.Drill.Decidable}
		counts[key] = c
	}
	c.Planted++
	switch {
	case m.Verdict == verdict.Pass:
		c.Missed++
		if len(s.Missed) < maxMissed {
			s.Missed = append(s.Missed, Miss{m.Drill.Of, m.Drill.Fault, m.Drill.Where, m.Drill.What})
		}
	case passed:
		c.Caught++
	default:
		c.Void++
	}
}

// gather sorts the counts in the order of Faults, decidable ones first.
func (s *Score) gather(counts map[[2]string]*Count) {
	s.Faults = []Count{}
	for _, decidable := range []string{"true", "false"} {
		for _, f := range Faults {
			if c := counts[[2]string{f, decidable}]; c != nil {
				c.Low, c.High = stats.Share{Hits: c.Caught, N: c.Caught + c.Missed}.Interval()
				s.Faults = append(s.Faults, *c)
			}
		}
	}
}

// lost counts the faults that good returns list as planted and that have no verdict.
func (t *tally) lost() int {
	type run struct {
		of   string
		seed int64
	}
	due := map[run]int{}
	for id, m := range t.worst {
		if id.fault == None {
			due[run{id.of, id.seed}] += m.Drill.Planted
		}
	}
	for id := range t.worst {
		if id.fault != None {
			due[run{id.of, id.seed}]--
		}
	}
	n := 0
	for _, left := range due {
		n += max(left, 0)
	}
	return n
}

// Read scores the verdicts of a drill. Verdicts without a drill mark are refused.
func Read(ctx context.Context, in stream.Input) (*Score, error) {
	var t tally
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var m Marked
		if err := json.Unmarshal(rec.Bytes, &m); err != nil {
			return stream.Refuse("%w", err)
		}
		if err := t.Add(m); err != nil {
			return stream.Refuse("%w", err)
		}
		return nil
	})
	if len(t.order) == 0 && err == nil {
		err = sysexit.With(sysexit.No, fmt.Errorf("there are no verdicts, so nothing is proved"))
	}
	return t.Score(), err
}

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/report/sample"
)

// before is how many days the team answered by itself.
const before = 14

// byHand is a question from before: people answer it themselves.
func (t *team) byHand() {
	at, room := t.end.AddDate(0, 0, -t.days).Add(time.Duration(t.rng.IntN(before*24*3600))*time.Second),
		t.pick(rooms)
	e := t.say(at, room, "", t.pick(people), "does anybody know why the "+t.pick(nouns)+" "+t.sentence(8)+"?",
		event.Actionable, "question:ends-with-mark")
	if t.chance(0.8) {
		t.say(at.Add(t.between(2*time.Minute, 20*time.Hour)), room, e.MessageID, t.pick(people),
			"it is the "+t.sentence(9), event.Ambient, "nothing-asked")
	}
}

// records are the small logs: drills, canaries and labels.
func (t *team) records() map[string]func(*sheet) error {
	return map[string]func(*sheet) error{
		"drills.ndjson": func(s *sheet) error {
			for week := t.days / 7; week >= 0; week-- {
				err := s.line(json.RawMessage(fmt.Sprintf(`{"at":%q,"version":"v0.4.0","validators":["large-4"],"seeds":[%d],"good":{"total":40,"passed":38,"low":0.0138,"high":0.165},"faults":[{"fault":"bad_path","decidable":true,"planted":38,"caught":38,"missed":0,"void":0,"low":0.9082,"high":1},{"fault":"bad_line","decidable":true,"planted":38,"caught":38,"missed":0,"void":0,"low":0.9082,"high":1},{"fault":"bad_content","decidable":true,"planted":38,"caught":38,"missed":0,"void":0,"low":0.9082,"high":1}],"missed":[],"doubled":0,"lost":0}`,
					stamp(t.end.AddDate(0, 0, -7*week)), week+1)))
				if err != nil {
					return err
				}
			}
			return nil
		},
		sample.File: t.writeLabels,
	}
}

// writeLabels judges a sample of the last week.
func (t *team) writeLabels(s *sheet) error {
	const size = 400
	rank := 0
	for i := len(t.events) - 1; i >= 0 && rank < size; i -= 25 {
		e := t.events[i]
		if e.Classification == event.Actionable || e.Sender.Type == "bot" {
			continue
		}
		rank++
		l := sample.Label{
			At: stamp(t.end.Add(time.Duration(rank-size-10) * time.Second)), By: "ana", Platform: e.Platform,
			ChatID: e.ChatID, MessageID: e.MessageID,
			ClassifierVersion: e.ClassifierVersion, Classification: e.Classification, Label: sample.Nothing,
			Seed: 7, Rank: rank, Frame: 14_000, Sample: size,
		}
		if err := s.line(l); err != nil {
			return err
		}
	}
	return nil
}

// long are escalations whose runs the journal tells of; the dispatcher was away
// when some of them ended.
func (t *team) long(files map[string]any) {
	n := 0
	for _, in := range t.journal {
		r := in.Run
		if r == nil || r.Kind != run.Investigate || r.Status != run.Done || n >= 12 ||
			instant(in.At).Before(t.end.AddDate(0, 0, -20)) {
			continue
		}
		n++
		ended := instant(in.At)
		if n%4 == 0 {
			ended = ended.Add(-10 * time.Minute)
		}
		res := *r
		res.By, res.Starts, res.EndedAt = run.Dispatcher, 1, stamp(ended)
		dir := filepath.Join("runs", r.RunID)
		files[filepath.Join(dir, "request.json")] = run.Order{RunID: r.RunID, By: run.Dispatcher,
			At: r.StartedAt}
		files[filepath.Join(dir, "result.json")] = res
	}
}

func instant(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err) // our own
	}
	return at
}

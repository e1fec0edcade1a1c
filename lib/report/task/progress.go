package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// Kinds of progress.
const (
	ToolCall  = "tool_call" // the agent was seen to call a tool
	Thought   = "thought"   // the agent's own words
	Milestone = "milestone" // the item moved, or the agent began or ended
)

// interval is the time in which one step of a run is shown: the last one.
const interval = 5 * time.Second

// Progress is an observed step.
type Progress struct {
	At   string `json:"ts"`
	Kind string `json:"kind"`
	Data string `json:"data"` // untrusted
}

// steps collects the steps of a run, the last one of each interval. The zero value is empty.
type steps struct {
	held  *Progress // the last one of the current interval
	until time.Time // its end
}

// add appends to dst what a step makes final.
func (s *steps) add(dst []Progress, p Progress) []Progress {
	at := text.ParseTime(p.At)
	if s.held != nil && at.Before(s.until) && !at.Before(s.until.Add(-interval)) { // else the clock was set
		s.held = &p
		return dst
	}
	if s.held != nil {
		dst = append(dst, *s.held)
	}
	s.held, s.until = &p, at.Add(interval)
	return dst
}

// flush appends the step that is held back.
func (s *steps) flush(dst []Progress) []Progress {
	if s.held != nil {
		dst = append(dst, *s.held)
	}
	s.held = nil
	return dst
}

// step reads a line of a run's stream.
func step(line []byte) (p Progress, ok bool) {
	var e struct {
		At string `json:"at"`
		agent.Event
	}
	if json.Unmarshal(line, &e) != nil {
		return p, false
	}
	p = Progress{At: e.At, Kind: Milestone, Data: strings.TrimSpace(e.Kind + " " + e.Text)}
	switch e.Kind {
	case agent.Tool:
		p.Kind, p.Data = ToolCall, strings.TrimSpace(e.Tool+" "+e.Text)
	case agent.Thought:
		p.Kind, p.Data = Thought, e.Text
	case agent.Milestone:
		p.Data = e.Text
	}
	return p, p.Data != ""
}

// read appends the steps of a run's stream from a byte offset, and returns the offset of the next line.
func (v *View) read(dst []Progress, s *steps, id string, at int64) ([]Progress, int64, error) {
	next, err := run.Tail(v.Home.Path(run.Folder(v.Home, id)), at, func(lines []byte) error {
		for line := range bytes.Lines(lines) {
			if p, ok := step(line); ok {
				dst = s.add(dst, p)
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return dst, at, nil // the run has not begun
	}
	return dst, next, err
}

// progress returns the steps of a task: those of its item, and of its latest run at most one an interval, in
// the order of their times.
func (v *View) progress(t *Task) ([]Progress, error) {
	var s steps
	var own []Progress
	if id := t.run(); id != "" {
		var err error
		if own, _, err = v.read(nil, &s, id, 0); err != nil {
			return nil, err
		}
		own = s.flush(own)
	}
	all := []Progress{}
	for _, c := range t.thread.StatusHistory {
		for len(own) > 0 && text.ParseTime(own[0].At).Before(text.ParseTime(c.At)) {
			all, own = append(all, own[0]), own[1:]
		}
		all = append(all, Progress{At: c.At, Kind: Milestone, Data: moved(c.From, c.To, c.Why)})
	}
	return append(all, own...), nil
}

func moved(from, to, why string) string {
	s := to
	if from != "" {
		s = from + " -> " + to
	}
	if why != "" {
		s += ": " + why
	}
	return s
}

// run returns the latest run of the task, "" if there is none.
func (t *Task) run() string {
	for _, id := range []*string{t.thread.ValidatorTaskID, t.thread.InvestigatorTaskID} {
		if id != nil {
			return *id
		}
	}
	return ""
}

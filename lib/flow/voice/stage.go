package voice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tri/lib/base/ndjson"
	"tri/lib/base/stats"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	voices "tri/lib/judge/voice"
	"tri/lib/record/draft"
)

// Stage reads returns and writes them with their drafts worded and cut. Everything else of a record stays
// as it is.
type Stage struct {
	*Voice
	UUID func() string // of each run of the agent
	Out  io.Writer
	Say  func(format string, args ...any)
}

// Each handles each return. A record that is not a return is refused.
func (s *Stage) Each(ctx context.Context, in stream.Input) error {
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		ret := new(draft.Return)
		if err := json.Unmarshal(rec.Bytes, ret); err != nil {
			return stream.Refuse("%w", err)
		}
		if ret.DraftLanguage == "" && ret.DraftReply == "" {
			return stream.Refuse("is not a return: it has no draft_reply")
		}
		if err := s.in(ctx, ret); err != nil {
			return err
		}
		if v := ret.Voice; v != nil && v.Why != "" {
			s.Say("%s:%d: not rephrased: %s", rec.Source, rec.Line, v.Why)
		}
		line, err := spliced(rec.Bytes, ret)
		if err != nil {
			return err
		}
		_, err = s.Out.Write(line)
		return sysexit.With(sysexit.IO, err)
	})
	return err
}

// in applies the voice with a temporary folder for the agent.
func (s *Stage) in(ctx context.Context, ret *draft.Return) error {
	if s.Agent == nil {
		return s.Apply(ctx, ret, Run{})
	}
	dir, err := os.MkdirTemp("", "tri-voice-")
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("make run folder: %w", err))
	}
	return errors.Join(s.Apply(ctx, ret, Run{Dir: dir, SessionID: s.UUID()}), os.RemoveAll(dir))
}

// spliced returns the line of a record with the fields that a voice sets, in place of its own.
func spliced(line []byte, ret *draft.Return) ([]byte, error) {
	set := map[string]any{}
	if v := ret.Voice; v != nil {
		set["voice"], set["cuts"] = v, ret.Cuts
		if v.Original != "" {
			set["draft_reply"] = ret.DraftReply
		}
		if v.By != "" && ret.Usage != nil {
			set["usage"] = ret.Usage
		}
	}
	out := []byte("{")
	put := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(ndjson.AppendString(out, key), ':'), value...)
	}
	ours := []string{"voice", "cuts"}
	err := ndjson.Members(line, func(key, value []byte) error {
		switch name := string(key); {
		case slices.Contains(ours, name) && ret.Voice != nil:
		case set[name] != nil:
			b, err := json.Marshal(set[name])
			put(name, b)
			return err
		default:
			put(name, value)
		}
		return nil
	})
	for _, name := range ours {
		if b, merr := json.Marshal(set[name]); merr == nil && set[name] != nil && string(b) != "null" {
			put(name, b)
		}
	}
	return append(out, '}', '\n'), err
}

// pair is a line of the reference texts: a draft, and the same in the team's voice.
type pair struct {
	Draft     string `json:"draft"`
	Reference string `json:"reference"`
}

// Measured is the outcome of a comparison with reference texts.
type Measured struct {
	Line
	Before float64 `json:"distance_before"` // of the drafts themselves
	Limit  float64 `json:"max_drift"`
	OK     bool    `json:"ok"`
}

// Score has the model rephrase the drafts of reference pairs, compares its texts with the references by
// voice.Distance, and records the result. A text that is refused counts with the draft's own distance.
func (s *Stage) Score(ctx context.Context, in stream.Input) (*Measured, error) {
	m := &Measured{Line: Line{At: text.Timestamp(s.Now()), Kind: Score}, Limit: s.Drift}
	var distances, before []float64
	asking := *s.Voice
	asking.Log, asking.After = nil, 0 // a score is made also while the model is off
	quiet := Stage{Voice: &asking, UUID: s.UUID}
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var p pair
		if err := json.Unmarshal(rec.Bytes, &p); err != nil || p.Draft == "" || p.Reference == "" {
			return stream.Refuse("want draft and reference")
		}
		ret := &draft.Return{DraftReply: p.Draft, DraftLanguage: voices.Language}
		if err := quiet.in(ctx, ret); err != nil {
			return err
		}
		if ret.Voice.Rephrased {
			m.KeptOf++
		}
		m.By = ret.Voice.By
		distances = append(distances, voices.Distance(ret.DraftReply, p.Reference))
		before = append(before, voices.Distance(p.Draft, p.Reference))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.N = len(distances); m.N < fewest {
		return nil, sysexit.With(sysexit.Data,
			fmt.Errorf("score: %d pairs; fewer than %d have no interval", m.N, fewest))
	}
	m.Distance, m.Low, m.High = stats.Median(distances)
	m.Before, _, _ = stats.Median(before)
	m.OK = m.Distance <= m.Limit
	return m, s.Log.append(m.Line)
}

// fewest pairs for which stats.Median has an interval.
const fewest = 6

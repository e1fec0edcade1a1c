package voice

import (
	"encoding/json"
	"fmt"

	"tri/lib/base/durable"
)

// LogName is the log below the home of what the model did: a line for each draft and each score.
const LogName = "voice.ndjson"

// Kinds of line.
const (
	Draft = "draft" // the model was asked to rephrase a draft
	Score = "score" // it was compared with reference texts
)

// Line is one line of the log.
type Line struct {
	At   string `json:"at"` // RFC 3339
	Kind string `json:"kind"`
	By   string `json:"by,omitempty"` // the model

	Kept bool   `json:"kept,omitempty"` // of a draft: the model's text was taken
	Why  string `json:"why,omitempty"`  // of a draft: why not

	// Of a score: the median distance of N texts from their references, with its 95% interval, and how
	// many of the model's texts were kept.
	N        int     `json:"n,omitempty"`
	KeptOf   int     `json:"kept_of_n,omitempty"`
	Distance float64 `json:"distance,omitempty"`
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
}

// The model is not asked while more than half of its last latest texts were refused, or while its last
// score is above the limit. A new score begins the count anew.
const latest = 20

// Log is voice.ndjson of a home. A nil Log holds nothing.
type Log struct{ Home *durable.Home }

// off says why the model is not asked, "" if it is.
func (l *Log) off(limit float64) (why string, err error) {
	if l == nil {
		return "", nil
	}
	var kept []bool
	err = l.Home.Lines(LogName, 0, func(line []byte) error {
		var r Line
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read %s: %w", LogName, err)
		}
		if r.Kind == Draft {
			kept = append(kept, r.Kept)
			return nil
		}
		kept, why = nil, ""
		if r.Distance > limit {
			why = fmt.Sprintf("the model is off: its score is %.2f, above max_drift %.2f", r.Distance, limit)
		}
		return nil
	})
	if why != "" || err != nil || len(kept) < latest {
		return why, err
	}
	refused := 0
	for _, k := range kept[len(kept)-latest:] {
		if !k {
			refused++
		}
	}
	if refused > latest/2 {
		why = fmt.Sprintf("the model is off: %d of its last %d texts were refused; tri-voice --score asks it again", refused, latest)
	}
	return why, nil
}

func (l *Log) append(r Line) error {
	if l == nil {
		return nil
	}
	return durable.Append(l.Home, LogName, r)
}

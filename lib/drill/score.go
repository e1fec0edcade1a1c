package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"tri/lib/draft"
	"tri/lib/ndjson"
	"tri/lib/stream"
	"tri/lib/sysexit"
	"tri/lib/verdict"
)

// Score is what a drill came to.
type Score struct {
	Good   Good    `json:"good"`
	Faults []Count `json:"faults"`
	Missed []Miss  `json:"missed"` // what passed and must not have
}

// Good counts the returns without a fault.
type Good struct {
	Total  int `json:"total"`
	Passed int `json:"passed"`
}

// Count is how one fault fared. Void are those whose good return did not pass
// either: that they were refused proves nothing.
type Count struct {
	Fault   string `json:"fault"`
	Planted int    `json:"planted"`
	Caught  int    `json:"caught"`
	Missed  int    `json:"missed"`
	Void    int    `json:"void"`
}

// Miss is a fault that nobody caught.
type Miss struct {
	Of    string `json:"of"`
	Fault string `json:"fault"`
}

// Ok reports whether the drill proves something and nothing was missed.
func (s *Score) Ok() bool {
	caught := 0
	for _, c := range s.Faults {
		caught += c.Caught
	}
	return caught > 0 && len(s.Missed) == 0
}

// marked is what the score reads of a verdict.
type marked struct {
	Verdict string       `json:"verdict"`
	Drill   *draft.Drill `json:"drill"`
}

// Read scores the verdicts of a drill. Verdicts without the mark of one are
// refused.
func Read(ctx context.Context, in stream.Input) (*Score, error) {
	var all []marked
	passed := map[string]bool{} // of the good return, by Of
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var m marked
		if err := json.Unmarshal(rec.Bytes, &m); err != nil {
			return stream.Refuse("%w", err)
		}
		if m.Drill == nil || !slices.Contains(append(Faults, None), m.Drill.Fault) || m.Verdict == "" {
			return stream.Refuse("is no verdict of a drill")
		}
		if m.Drill.Fault == None {
			passed[m.Drill.Of] = m.Verdict == verdict.Pass
		}
		all = append(all, m)
		return nil
	})
	if all == nil && err == nil {
		err = sysexit.With(sysexit.No, fmt.Errorf("there are no verdicts, so nothing is proved"))
	}
	return tally(all, passed), err
}

func tally(all []marked, passed map[string]bool) *Score {
	s := &Score{Missed: []Miss{}}
	counts := make([]Count, len(Faults))
	for i, f := range Faults {
		counts[i].Fault = f
	}
	for _, m := range all {
		if m.Drill.Fault == None {
			s.Good.Total++
			if m.Verdict == verdict.Pass {
				s.Good.Passed++
			}
			continue
		}
		c := &counts[slices.Index(Faults, m.Drill.Fault)]
		c.Planted++
		switch {
		case m.Verdict == verdict.Pass:
			c.Missed++
			s.Missed = append(s.Missed, Miss{m.Drill.Of, m.Drill.Fault})
		case passed[m.Drill.Of]:
			c.Caught++
		default:
			c.Void++
		}
	}
	s.Faults = counts
	return s
}

// Table prints s for a person.
func (s *Score) Table(w io.Writer) {
	fmt.Fprintf(w, "%-12s %8s %8s %8s %8s\n", "fault", "planted", "caught", "missed", "void")
	for _, c := range s.Faults {
		fmt.Fprintf(w, "%-12s %8d %8d %8d %8d\n", c.Fault, c.Planted, c.Caught, c.Missed, c.Void)
	}
	fmt.Fprintf(w, "good returns: %d, of which %d passed\n", s.Good.Total, s.Good.Passed)
	for _, m := range s.Missed {
		fmt.Fprintf(w, "missed: %s in %s\n", m.Fault, draft.Visible(m.Of))
	}
}

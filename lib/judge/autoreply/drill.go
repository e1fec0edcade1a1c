package autoreply

import (
	"encoding/json"
	"fmt"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/stats"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// DrillFile is the log of drills in the home, to which tri-drill --score appends.
const DrillFile = "drills.ndjson"

// Drill is a line of it, as far as it is judged here: known faults were planted into good returns, and the
// real validator checked them.
type Drill struct {
	At     string  `json:"at"` // RFC 3339
	Faults []Fault `json:"faults"`
}

// Fault is the result for one kind of fault.
type Fault struct {
	Fault     string `json:"fault"`
	Decidable bool   `json:"decidable"` // the cited lines show it
	Caught    int    `json:"caught"`
	Missed    int    `json:"missed"`
}

// Missed returns how many of the decidable faults passed the validator.
func (d *Drill) Missed() (s stats.Share) {
	for _, f := range d.Faults {
		if f.Decidable {
			s.Hits, s.N = s.Hits+f.Missed, s.N+f.Caught+f.Missed
		}
	}
	return s
}

// Drills returns the drills of a home since a time, oldest first. The log has a few lines a day at most.
func Drills(h *durable.Home, from time.Time) (all []Drill, err error) {
	err = h.Lines(DrillFile, 0, func(line []byte) error {
		var d Drill
		if err := json.Unmarshal(line, &d); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", DrillFile, err))
		}
		if !text.ParseTime(d.At).Before(from) {
			all = append(all, d)
		}
		return nil
	})
	return all, err
}

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/stats"
	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/report/history"
)

// planted are the faults that AC-04 names.
var planted = []string{"bad_path", "bad_line", "bad_content"}

// drilled computes AC-04 from the latest drill that the home has a record of.
func drilled(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-04", Says: "fabricated references caught in the latest drill",
		Bar: "all, of three kinds", Result: stats.Unsure}
	all, err := autoreply.Drills(f.home, time.Time{})
	if err != nil || len(all) == 0 {
		c.Note, c.Unit = "no drill yet: tri-drill | tri-validate | tri-drill --score", percents
		return c, err
	}
	last := all[len(all)-1]
	var s stats.Share
	kinds := 0
	for _, want := range planted {
		for _, x := range last.Faults {
			if x.Fault == want && x.Caught+x.Missed > 0 {
				kinds++
				s.Hits, s.N = s.Hits+x.Caught, s.N+x.Caught+x.Missed
			}
		}
	}
	c.share(s)
	c.Note = fmt.Sprintf("drilled %s", clock(last.At))
	switch {
	case kinds < len(planted):
		c.Note += fmt.Sprintf("; %d of %d kinds were planted", kinds, len(planted))
	case s.Hits == s.N:
		c.Result = stats.Pass
	default:
		c.Result = stats.Fail
	}
	return c, nil
}

// long is an escalation, from its folder and the journal.
type long struct {
	*run.Result
	ended    time.Time
	returned bool // it wrote a return
	attached bool // a person attached while it ran
	taken    *history.Run
}

// escalations reads the escalations that ended after a time, ordered by their end.
func escalations(h *durable.Home, l *history.Ledger, from time.Time) ([]long, error) {
	ids, err := run.IDs(h)
	if err != nil {
		return nil, err
	}
	var out []long
	for _, id := range ids {
		folder := run.Folder(h, id)
		if !h.Exists(folder + "/request.json") {
			continue // part of the dispatcher's own work
		}
		x, err := run.Load(h, id)
		if err != nil {
			return nil, err
		}
		if x == nil || text.ParseTime(x.EndedAt).Before(from) {
			continue
		}
		e := long{Result: x, ended: text.ParseTime(x.EndedAt), returned: json.Valid(x.Value)}
		e.attached = h.Exists(folder + "/attached.ndjson")
		if l != nil {
			e.taken = l.Run(id)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b long) int { return a.ended.Compare(b.ended) })
	return out, nil
}

func (f *facts) escalations() ([]long, error) {
	return escalations(f.home, f.month, f.now.Add(-28*day))
}

// escalated computes AC-07: escalations that ended, wrote a return, were taken up and validated.
func escalated(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-07", Says: "escalations that went all the way, 28 days", Bar: "at least 1",
		Unit: percents, Result: stats.Unsure}
	all, err := f.escalations()
	if err != nil {
		return c, err
	}
	validated := map[string]bool{}
	for _, r := range f.month.Runs {
		if r.Kind == run.Validate && r.Status == run.Done {
			validated[fmt.Sprint(r.Key, " ", r.Cycle, " ", r.Round)] = true
		}
	}
	var s stats.Share
	waits := 0
	for _, l := range all {
		if t, err := thread.Load(f.home, l.Key); err != nil {
			return c, err
		} else if t != nil && !t.AtRest() && t.InvestigatorTaskID != nil && *t.InvestigatorTaskID == l.RunID {
			waits++ // to be taken up, or validated
			continue
		}
		through := l.By != run.Dispatcher // an escalation that a person started is not validated
		if t := l.taken; t != nil {
			through = validated[fmt.Sprint(t.Key, " ", t.Cycle, " ", t.Round)]
		}
		s.Add(l.returned && through)
	}
	c.share(s)
	switch {
	case s.N == 0 && waits > 0:
		c.Note = fmt.Sprintf("%d ended, and not validated yet", waits)
	case s.N == 0:
		c.Note = "no escalation has ended"
	case s.Hits > 0:
		c.Result = stats.Pass
	default:
		c.Result = stats.Fail
	}
	if s.Hits < s.N {
		c.Note = fmt.Sprintf("%d ended without a return that was validated", s.N-s.Hits)
	}
	return c, nil
}

// attached computes AC-08: whether a person watched a running escalation live.
func attached(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-08", Says: "escalations that somebody attached to, 28 days", Bar: "at least 1",
		Unit: percents, Result: stats.Unsure}
	all, err := f.escalations()
	var s stats.Share
	for _, l := range all {
		s.Add(l.attached)
	}
	if s.Hits == 0 {
		c.Note = "no person attached to one; tri-escalate attach shows one live"
		return c, err
	}
	c.share(s)
	c.Result = stats.Pass
	return c, err
}

// away is the longest time that a running dispatcher needs to take up an escalation after its end:
// it checks at least every 30 s.
const away = 90 * time.Second

// survived computes AC-09: escalations that ended while no dispatcher was running, and were taken
// up by the next one.
func survived(f *facts) (Criterion, error) {
	c := Criterion{ID: "AC-09", Says: "escalations ended without a dispatcher, taken up later",
		Bar: "all, at least 1", Unit: percents, Result: stats.Unsure}
	all, err := f.escalations()
	if err != nil {
		return c, err
	}
	var s stats.Share
	for _, l := range all {
		switch {
		case l.By != run.Dispatcher:
		case l.taken == nil && f.now.Sub(l.ended) > away:
			s.Add(false)
		case l.taken != nil && l.taken.Taken.Sub(l.ended) > away:
			s.Add(true)
		}
	}
	c.share(s)
	switch {
	case s.N == 0:
		c.Note = "none ended while the dispatcher was away"
	case s.Hits == s.N:
		c.Result = stats.Pass
	default:
		c.Result, c.Note = stats.Fail, fmt.Sprintf("%d have not been taken up", s.N-s.Hits)
	}
	return c, nil
}

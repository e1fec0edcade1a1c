package dispatch

import (
	"slices"

	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// takeRun applies the end of a run, after settling its cost.
func (d *Dispatcher) takeRun(j job, res *run.Result) error {
	person := ""
	if t := d.threads[j.key]; t != nil {
		person = t.OriginalSenderID
	}
	if person == "" {
		_, person = d.book.For(res.RunID)
	}
	usage := res.Usage
	if usage == nil && res.Failure == nil {
		usage = &draft.Usage{CostUSD: new(0.0)} // done by code alone
	}
	if err := d.book.Settle(res.RunID, res.Key, person, usage, d.Now()); err != nil {
		return err
	}
	d.looked = "" // the run may have cost less than was reserved
	return d.take(thread.Input{
		At: res.EndedAt, Key: j.key, Run: res, Escalate: d.longerLook(j, res), LastRound: d.rounds() < 2, Resumes: resumes(res),
	})
}

// resumes reports whether the next cycle may continue a run: an agent has made a draft in a session.
func resumes(res *run.Result) bool {
	return res.Kind == run.Investigate && res.Status == run.Done && res.SessionID != "" && !budget.Free(res.Agent)
}

// rounds returns how many drafts a cycle may have: the first, and one for each time the validator sends it
// back.
func (d *Dispatcher) rounds() int {
	return min(d.Config.Investigator.MaxRounds, 1+d.Config.Validator.MaxRounds)
}

// settleLost settles the cost of runs that were killed and are not repeated, since their thread has moved
// on. A run that is still due is settled when it ends.
func (d *Dispatcher) settleLost() error {
	now := d.Now()
	ids, err := run.IDs(d.Home)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return d.running[id] })
	return run.SettleLost(d.Home, d.book, ids, now)
}

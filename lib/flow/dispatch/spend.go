package dispatch

import (
	"errors"
	"io/fs"

	"tri/lib/agent/supervise"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// takeRun takes in the end of a run, what it took first.
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
		usage = &draft.Usage{CostUSD: new(0.0)} // code alone did it
	}
	if err := d.book.Settle(res.RunID, res.Key, person, usage, d.Now()); err != nil {
		return err
	}
	d.looked = "" // less may have been taken than was reserved
	return d.take(thread.Input{At: res.EndedAt, Key: j.key, Run: res, Escalate: d.longerLook(j, res), LastRound: d.rounds() < 2})
}

// rounds is how many drafts a cycle may have: the first, and one for each bounce.
func (d *Dispatcher) rounds() int {
	return min(d.Config.Investigator.MaxRounds, 1+d.Config.Validator.MaxRounds)
}

// settleLost writes down what runs took that were killed and are not done again,
// since their thread has moved on. What is due settles when it ends.
func (d *Dispatcher) settleLost() error {
	ids, err := d.Home.List("runs")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if d.book.Settled(id) || d.running[id] || d.canary.span > 0 && id == d.canary.runID(d.canary.number(d.Now())) {
			continue
		}
		usage, over, err := d.spentBy(id)
		if err != nil {
			return err
		}
		if !over {
			continue
		}
		key, person := d.book.For(id)
		if err := d.book.Settle(id, key, person, usage, d.Now()); err != nil {
			return err
		}
	}
	return nil
}

// spentBy is what a run took that nobody waits for any more, nil where that is not
// known, and whether it is over.
func (d *Dispatcher) spentBy(id string) (usage *draft.Usage, over bool, err error) {
	res, err := run.Load(d.Home, id)
	if err != nil {
		return nil, false, err
	}
	if res != nil {
		return res.Usage, true, nil
	}
	dir := "runs/" + id
	if long := "escalations/" + id; d.Home.Exists(long) {
		dir = long
	}
	state, err := supervise.Watchdog(d.Home.Path(dir), d.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil // it came to no agent
	}
	return state.Usage, state.EndedAt != nil, err
}

package longrun

import (
	"errors"

	"tri/lib/record/budget"
	"tri/lib/record/run"
)

// Runs that people start are paid for like those of the pipeline: reserved before
// they begin and settled when they have ended. A person's order is not held back by
// a limit, but it counts, so that tri-dispatch starts less beside it. What
// tri-dispatch asked for it pays for itself.

// paid is what a run of a person's is to the budget.
func (d *Desk) paid(r *Request) budget.Run {
	a := &d.Config.Investigator
	return budget.Run{
		ID: r.RunID, Key: r.Thread.Key, Person: r.By, Work: budget.Escalate, Ordered: true,
		Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens,
	}
}

// reserve sets aside what a run may take, durably, before it begins.
func (d *Desk) reserve(r *Request) error {
	if r.By == dispatcher {
		return nil
	}
	book, err := budget.Open(d.Home, d.Config.Budget)
	if err != nil {
		return err
	}
	return errors.Join(book.Take(d.paid(r), d.Now()), book.Close())
}

// fits reports whether the budget has room for a run.
func (d *Desk) fits(r *Request) (bool, error) {
	book, err := budget.Open(d.Home, d.Config.Budget)
	if err != nil {
		return false, err
	}
	p := d.paid(r)
	p.Ordered = false
	return book.Reserved(p.ID) || book.Fits(p, d.Now()), book.Close()
}

// account settles a run that has ended, where it is a person's.
func (d *Desk) account(x *run.Exit) error {
	if x.By == dispatcher {
		return nil
	}
	book, err := budget.Open(d.Home, d.Config.Budget)
	if err != nil {
		return err
	}
	if book.Reserved(x.RunID) {
		err = book.Settle(x.RunID, x.Key, x.By, x.Usage, d.Now())
	}
	return errors.Join(err, book.Close())
}

// accountLost settles the runs that were killed between their end and its account.
// One whose runner is gone has no end yet: it may be started again, and poll gives
// it one.
func (d *Desk) accountLost() error {
	book, err := budget.Open(d.Home, d.Config.Budget)
	if err != nil {
		return err
	}
	for _, id := range book.Unsettled(budget.Escalate) {
		if err != nil || !isID.MatchString(id) {
			continue
		}
		var x *run.Exit
		if x, err = run.LoadExit(d.Home, id); err == nil && x != nil && x.By != dispatcher {
			err = book.Settle(id, x.Key, x.By, x.Usage, d.Now())
		}
	}
	return errors.Join(err, book.Close())
}

package dispatch

import (
	"errors"
	"slices"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/notify"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// spending reserves the cost of a run before it starts, and settles it at its end. A thread for which the
// budget has no room waits with its messages, and is resumed when there is room again.
type spending struct {
	quiet
	Options
	store  *store
	pool   *pool
	book   *budget.Book
	broke  []string        // keys of threads waiting for budget, in order of arrival
	broken map[string]bool // the same keys, as a set
	looked string          // day on which none of them could be resumed
	said   map[string]bool // limits reported to the operator, by day
}

func newSpending(d *Dispatcher) *spending {
	return &spending{Options: d.Options, store: d.store, pool: d.pool, broken: map[string]bool{},
		said: map[string]bool{}}
}

func (s *spending) open() (err error) {
	s.book, err = budget.Open(s.Home, s.Config.Budget)
	return err
}

func (s *spending) close() error { return s.book.Close() }

// begun settles the cost of runs that were killed and are not repeated, since their thread has moved on. A
// run that is still due is settled when it ends.
func (s *spending) begun(open []*thread.Thread) error {
	ids, err := run.IDs(s.Home)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return s.pool.running[id] })
	return errors.Join(run.SettleLost(s.Home, s.book, ids, s.Now()), s.moved(open...))
}

// moved notes the threads that wait for budget.
func (s *spending) moved(ts ...*thread.Thread) error {
	for _, t := range ts {
		if runID, _ := t.Broke(); runID != "" && !s.broken[t.Key] {
			s.broke, s.broken[t.Key] = append(s.broke, t.Key), true
		}
	}
	return nil
}

// paid returns the run as the budget counts it.
func (s *spending) paid(j job, t *thread.Thread) budget.Run {
	r := budget.Run{ID: j.runID, Key: t.Key, Person: t.OriginalSenderID, Work: budget.Investigate,
		Ordered: t.Ordered}
	agent := &s.Config.Investigator
	switch {
	case j.kind == run.Validate:
		r.Work, agent = budget.Validate, &s.Config.Validator
	case j.long:
		r.Work = budget.Escalate
	}
	return cost(r, agent)
}

// cost fills in what is known about an agent's runs.
func cost(r budget.Run, a *config.Agent) budget.Run {
	r.Agent, r.USD, r.Tokens = a.Agent, a.MaxBudgetUSD, a.MaxTokens
	return r
}

// starting reserves the maximum cost of a run. If the budget has no room, the thread is set aside.
func (s *spending) starting(j *job, t *thread.Thread) (*thread.Input, error) {
	r := s.paid(*j, t)
	if j.before != nil || r.Work == budget.Validate &&
		(budget.Free(r.Agent) || t.InvestigatorReturn.Before != nil) {
		return nil, nil // done by code alone, at no cost
	}
	now := s.Now()
	err := s.book.Take(r, now)
	over := new(budget.Over)
	if !errors.As(err, &over) {
		return nil, err
	}
	why := thread.Spent{RunID: j.runID, Why: err.Error(), Day: day(now)}
	return &thread.Input{At: text.Timestamp(now), Key: j.key, Spent: &why}, s.report(over, now)
}

// ended settles the cost of a run.
func (s *spending) ended(t *thread.Thread, res *run.Result) error {
	person := ""
	if t != nil {
		person = t.OriginalSenderID
	}
	if person == "" {
		_, person = s.book.For(res.RunID)
	}
	usage := res.Usage
	if usage == nil && res.Failure == nil {
		usage = &draft.Usage{CostUSD: new(0.0)} // done by code alone
	}
	s.looked = "" // the run may have cost less than was reserved
	return s.book.Settle(res.RunID, res.Key, person, usage, s.Now())
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// report tells the operator that a limit is reached, once a day for each limit.
func (s *spending) report(over *budget.Over, now time.Time) error {
	name := day(now) + " " + over.Limit
	if s.said[name] {
		return nil
	}
	s.said[name] = true
	const then = "Questions wait, and are taken up when there is budget again, or by tri-approve redo."
	s.Say("%v. %s", over, then)
	return s.show(notify.Signal{ID: "budget-" + text.SHA256(name)[:24], Title: "Budget spent",
		Text: over.Error() + ".\n" + then})
}

// idle resumes the oldest thread that waits for budget and has room.
func (s *spending) idle(now time.Time) []thread.Input {
	if s.looked == day(now) {
		return nil
	}
	for i := 0; i < len(s.broke); i++ {
		key := s.broke[i]
		runID, validate := "", false
		t := s.store.open[key]
		if t != nil {
			runID, validate = t.Broke()
		}
		if runID == "" { // the thread has moved on in the meantime
			s.forget(i)
			i--
			continue
		}
		j := job{kind: run.Investigate, runID: runID, key: key, long: t.IsEscalated}
		if validate {
			j.kind = run.Validate
		}
		if !s.pool.room(j) {
			return nil // tried again when a run ends
		}
		if !s.book.Fits(s.paid(j, t), now) {
			continue
		}
		s.forget(i)
		return []thread.Input{{At: text.Timestamp(now), Key: key, Resumed: &thread.Resumed{RunID: runID}}}
	}
	if len(s.broke) > 0 {
		s.looked = day(now)
	}
	return nil
}

func (s *spending) forget(i int) {
	delete(s.broken, s.broke[i])
	s.broke = slices.Delete(s.broke, i, i+1)
}

package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/notify"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// paid returns the run as the budget counts it.
func (d *Dispatcher) paid(j job, t *thread.Thread) budget.Run {
	r := budget.Run{ID: j.runID, Key: t.Key, Person: t.OriginalSenderID, Work: budget.Investigate, Ordered: t.Ordered}
	agent := &d.Config.Investigator
	switch {
	case j.kind == run.Validate:
		r.Work, agent = budget.Validate, &d.Config.Validator
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

// pay reserves the maximum cost of a run. If the budget has no room, the thread is set aside with its
// messages.
func (d *Dispatcher) pay(j job, t *thread.Thread) (bool, error) {
	r := d.paid(j, t)
	if j.before != nil || r.Work == budget.Validate && (budget.Free(r.Agent) || t.InvestigatorReturn.Before != nil) {
		return true, nil // done by code alone, at no cost
	}
	now := d.Now()
	err := d.book.Take(r, now)
	over := new(budget.Over)
	if !errors.As(err, &over) {
		return err == nil, err
	}
	delete(d.running, j.runID)
	d.poor = append(d.poor, thread.Input{At: text.Timestamp(now), Key: j.key, Spent: &thread.Spent{RunID: j.runID, Why: err.Error(), Day: day(now)}})
	return false, d.tellSpent(over, now)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// settleRefused applies all refused runs as one batch.
func (d *Dispatcher) settleRefused() error {
	ins := d.poor
	d.poor = nil
	if err := d.take(ins...); err != nil {
		return err
	}
	for _, in := range ins {
		if t := d.threads[in.Key]; t != nil {
			d.noteBroke(t)
		}
	}
	return nil
}

func (d *Dispatcher) noteBroke(t *thread.Thread) {
	if runID, _ := t.Broke(); runID != "" && !d.broken[t.Key] {
		d.broke, d.broken[t.Key] = append(d.broke, t.Key), true
	}
}

// tellSpent reports to the operator that a limit is reached, once a day for each limit.
func (d *Dispatcher) tellSpent(over *budget.Over, now time.Time) error {
	name := day(now) + " " + over.Limit
	if d.said[name] {
		return nil
	}
	d.said[name] = true
	const then = "Questions wait, and are taken up when there is budget again, or by tri-approve redo."
	d.Say("%v. %s", over, then)
	sum := sha256.Sum256([]byte(name))
	return d.show(notify.Signal{ID: "budget-" + hex.EncodeToString(sum[:12]), Title: "Budget spent", Text: over.Error() + ".\n" + then})
}

// show requests a card in the operators' channel, if there is one.
func (d *Dispatcher) show(s notify.Signal) error {
	g := d.Config.Gate.Chat
	if g.ChatID == "" {
		return nil
	}
	s.At, s.Kind, s.By, s.Platform, s.ChatID = text.Timestamp(d.Now()), notify.Card, "tri-dispatch", g.Platform, g.ChatID
	return notify.Ask(d.Home, s)
}

// resume resumes threads that wait for budget, oldest first, as far as there is room: each reserves its
// cost before the next is considered.
func (d *Dispatcher) resume(ctx context.Context) error {
	now := d.Now()
	if len(d.broke) == 0 || d.looked == day(now) || len(d.queue) > 0 || ctx.Err() != nil {
		return nil
	}
	for i := 0; i < len(d.broke); i++ {
		key := d.broke[i]
		t := d.threads[key]
		runID, validate := "", false
		if t != nil {
			runID, validate = t.Broke()
		}
		if runID == "" { // the thread has moved on in the meantime
			d.forgetBroke(i)
			i--
			continue
		}
		j := job{kind: run.Investigate, runID: runID, key: key, long: t.IsEscalated}
		if validate {
			j.kind = run.Validate
		}
		if !d.room(j) {
			return nil // tried again when a run ends
		}
		if !d.book.Fits(d.paid(j, t), now) {
			continue
		}
		d.forgetBroke(i)
		if err := d.take(thread.Input{At: text.Timestamp(now), Key: key, Resumed: &thread.Resumed{RunID: runID}}); err != nil {
			return err
		}
		return d.startRuns(ctx)
	}
	d.looked = day(now)
	return nil
}

func (d *Dispatcher) forgetBroke(i int) {
	delete(d.broken, d.broke[i])
	d.broke = append(d.broke[:i], d.broke[i+1:]...)
}

// room reports whether a run could start now.
func (d *Dispatcher) room(j job) bool {
	if j.long {
		return d.long < d.Config.Dispatch.Concurrency
	}
	return d.active < d.Config.Dispatch.Concurrency
}

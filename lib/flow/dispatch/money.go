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

// paid is what a run is to the budget.
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

// cost fills in what is known of an agent's runs.
func cost(r budget.Run, a *config.Agent) budget.Run {
	r.Agent, r.USD, r.Tokens = a.Agent, a.MaxBudgetUSD, a.MaxTokens
	return r
}

// pay reserves what a run may take. Where nothing is left the thread is put aside:
// its messages wait with it.
func (d *Dispatcher) pay(j job, t *thread.Thread) (bool, error) {
	r := d.paid(j, t)
	if j.before != nil || r.Work == budget.Validate && (budget.Free(r.Agent) || t.InvestigatorReturn.Before != nil) {
		return true, nil // code alone does it
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

// settleRefused takes in at once what was refused.
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

// tellSpent tells the operator that a limit is reached, once a day for each.
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

// show asks for a card in the operators' channel, where there is one.
func (d *Dispatcher) show(s notify.Signal) error {
	g := d.Config.Gate.Chat
	if g.ChatID == "" {
		return nil
	}
	s.At, s.Kind, s.By, s.Platform, s.ChatID = text.Timestamp(d.Now()), notify.Card, "tri-dispatch", g.Platform, g.ChatID
	return notify.Ask(d.Home, s)
}

// resume lets threads go on for which there is budget again, the oldest first and
// as many as there is room for: each reserves before the next is asked.
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
		if runID == "" { // it went on without us
			d.forgetBroke(i)
			i--
			continue
		}
		j := job{kind: run.Investigate, runID: runID, key: key, long: t.IsEscalated}
		if validate {
			j.kind = run.Validate
		}
		if !d.room(j) {
			return nil // when a run ends
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

// room reports whether a run could start at once.
func (d *Dispatcher) room(j job) bool {
	if j.long {
		return d.long < d.Config.Dispatch.Concurrency
	}
	return d.active < d.Config.Dispatch.Concurrency
}

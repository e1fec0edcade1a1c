package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"tri/lib/base/durable"
	"tri/lib/judge/autoreply"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Fly has a known-bad draft that is made of a good return judged by the real
// validator; see lib/report/faults. No canary means that none could be made or judged.
type Fly func(ctx context.Context, good *draft.Return, codebase, of string, seed uint64, r *run.Run) (*autoreply.Canary, *draft.Usage, error)

// canaries are when they fly. A day has so many spans of time as it has canaries;
// each has one at most, however often the dispatcher is started in it.
type canaries struct {
	span   time.Duration // 0: none fly
	flown  int64         // number of the latest span that has had its own
	flying bool
	landed chan landed
}

// landed is the end of a canary, which is nil where there was none.
type landed struct {
	runID  string
	canary *autoreply.Canary
	usage  *draft.Usage
	err    error
}

func (d *Dispatcher) openCanaries() error {
	d.canary = canaries{flown: -1, landed: make(chan landed, 1)}
	if d.Config.Canary.PerDay <= 0 || d.Fly == nil || d.Once || d.Shadow {
		return nil
	}
	d.canary.span = time.Duration(float64(24*time.Hour) / d.Config.Canary.PerDay)
	_, err := readLines(d.Home, autoreply.CanaryFile, 0, func(line []byte) error {
		var c autoreply.Canary
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("read %s: %w", autoreply.CanaryFile, err)
		}
		if at, err := time.Parse(time.RFC3339, c.At); err == nil {
			d.canary.flown = max(d.canary.flown, d.canary.number(at))
		}
		return nil
	})
	return err
}

// number is that of the span in which an instant lies.
func (c *canaries) number(at time.Time) int64 { return at.UnixNano() / int64(c.span) }

// runID is that of a span's canary: the same at every try.
func (c *canaries) runID(n int64) string { return run.ID("canary", "canary", int(n), 1) }

// fly lets a canary go when one is due. It never delays a question: it has its own
// place, and where the budget has nothing left it does without.
func (d *Dispatcher) fly(ctx context.Context, now time.Time) error {
	c := &d.canary
	if c.span == 0 || c.flying || len(d.answers.good) == 0 || c.number(now) <= c.flown {
		return nil
	}
	c.flown = c.number(now)
	id := c.runID(c.flown)
	h := fnv.New64a()
	fmt.Fprint(h, id) // a hash never fails
	seed := h.Sum64()
	of := d.answers.good[seed%uint64(len(d.answers.good))]
	if r := cost(budget.Run{ID: id, Work: budget.Canary}, &d.Config.Validator); !budget.Free(r.Agent) {
		if err := d.book.Take(r, now); errors.Is(err, budget.ErrSpent) {
			return nil
		} else if err != nil {
			return err
		}
	}
	c.flying = true
	go func() {
		l := landed{runID: id}
		l.canary, l.usage, l.err = d.judge(ctx, of, id, seed)
		c.landed <- l
	}()
	return nil
}

// judge is the canary's run.
func (d *Dispatcher) judge(ctx context.Context, of *answer, id string, seed uint64) (c *autoreply.Canary, u *draft.Usage, err error) {
	good, err := d.found(of)
	if err != nil || good == nil || good.DraftReply != of.text { // a person had to change it
		return nil, nil, err
	}
	r, err := run.Begin(d.Home, id)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.End()) }()
	limited, cancel := context.WithTimeout(ctx, d.limit(job{kind: run.Validate}))
	defer cancel()
	return d.Fly(limited, good, of.codebase, of.runID, seed, r)
}

// land writes down what became of a canary. One that went wrong is told of, and
// stops nothing.
func (d *Dispatcher) land(l landed) error {
	d.canary.flying = false
	now := d.Now()
	if l.err != nil && !errors.Is(l.err, durable.ErrLocked) && !errors.Is(l.err, context.Canceled) {
		d.Say("canary %s: %v", l.runID, l.err)
	}
	if key, _ := d.book.For(l.runID); d.book.Reserved(l.runID) && !errors.Is(l.err, context.Canceled) {
		if l.usage == nil && l.err == nil {
			l.usage = &draft.Usage{CostUSD: new(0.0)} // code alone saw it
		}
		if err := d.book.Settle(l.runID, key, "", l.usage, now); err != nil {
			return err
		}
	}
	if l.canary == nil {
		return nil
	}
	l.canary.At = now.UTC().Format(time.RFC3339)
	line, err := json.Marshal(l.canary)
	if err != nil {
		return fmt.Errorf("append to %s: %w", autoreply.CanaryFile, err)
	}
	log, err := d.Home.OpenLog(autoreply.CanaryFile)
	if err != nil {
		return err
	}
	_, err = log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil })
	if l.canary.Missed {
		d.Say("canary: the validator let a draft pass with a planted fault (%s, made of %s)", l.canary.Fault, l.canary.Of)
	}
	return errors.Join(err, log.Close())
}

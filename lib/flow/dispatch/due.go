package dispatch

import (
	"context"
	"slices"
	"strings"

	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// do carries out the effects that are due for a thread. It is called at every move and at start, and skips
// what is already done.
func (d *Dispatcher) do(t *thread.Thread) error {
	for _, e := range thread.Due(*t) {
		switch e.Kind {
		case thread.EffectInvestigate:
			j := job{kind: run.Investigate, runID: e.RunID, key: t.Key, long: e.Long, rank: rankNew}
			if t.InvestigatorRound > 1 {
				j.rank = rankAgain
			}
			d.pool.enqueue(j)
		case thread.EffectTell:
			if err := d.pool.tell(t, e.RunID); err != nil {
				return err
			}
		case thread.EffectValidate:
			d.pool.enqueue(job{kind: run.Validate, runID: e.RunID, key: t.Key, long: e.Long,
				rank: rankValidate})
		case thread.EffectOffer:
			r, err := d.gate.offer(t)
			if err == nil && r != nil {
				err = d.each(func(s subscriber) error { return s.offered(t, r) })
			}
			if err != nil {
				return err
			}
		case thread.EffectRetire:
			if err := d.gate.retire(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// startRuns starts queued runs, as far as there is room, and then what the subscribers want of an
// empty queue.
func (d *Dispatcher) startRuns(ctx context.Context) error {
	for progress := true; progress; {
		progress = false
		if !d.pool.full() {
			d.pool.queue = d.inTurn(d.pool.queue)
		}
		var refused []thread.Input
		for i := 0; i < len(d.pool.queue) && !d.pool.full(); {
			j := d.pool.queue[i]
			t := d.store.open[j.key]
			if !d.pool.room(j) || t != nil && slices.ContainsFunc(d.subscribers, func(s subscriber) bool {
				return s.holds(j, t)
			}) {
				i++
				continue
			}
			d.pool.queue = slices.Delete(d.pool.queue, i, i+1)
			started, in, err := d.start(ctx, j, t)
			if err != nil {
				return err
			}
			if progress = progress || !started; in != nil { // what it has queued may be before this one
				refused = append(refused, *in)
			}
		}
		if err := d.take(refused...); err != nil { // as one batch
			return err
		}
		for _, s := range d.subscribers {
			if progress || len(d.pool.queue) > 0 || ctx.Err() != nil {
				break
			}
			ins := s.idle(d.Now())
			if err := d.take(ins...); err != nil {
				return err
			}
			progress = len(ins) > 0
		}
	}
	return nil
}

// inTurn returns queued runs in the order in which they start: each person's first comes before anybody's
// second, and runs in progress count.
func (d *Dispatcher) inTurn(queue []job) []job {
	type place struct {
		job
		n int
	}
	type asker struct{ platform, id string }
	runs := map[asker]int{}
	person := func(j job) asker {
		if t := d.store.open[j.key]; t != nil {
			return asker{t.Platform, t.OriginalSenderID}
		}
		return asker{}
	}
	for _, l := range d.pool.live {
		runs[person(l.job)]++
	}
	places := make([]place, len(queue))
	for i, j := range queue {
		who := person(j)
		places[i] = place{j, runs[who]}
		runs[who]++
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.n - b.n })
	queue = make([]job, len(places))
	for i, p := range places {
		queue[i] = p.job
	}
	return queue
}

// start starts a run, or applies the result of a run that has already ended, which may queue further runs. It
// returns what a subscriber wants applied instead of the run.
func (d *Dispatcher) start(ctx context.Context, j job,
	t *thread.Thread) (started bool, instead *thread.Input, err error) {
	if t == nil || !isDue(t, j) {
		delete(d.pool.running, j.runID)
		return false, nil, nil
	}
	res, err := run.Load(d.Home, j.runID)
	if err != nil {
		return false, nil, err
	}
	if res != nil {
		delete(d.pool.running, j.runID)
		return false, nil, d.takeRun(j, res)
	}
	for _, s := range d.subscribers {
		if instead, err = s.starting(&j, t); err != nil || instead != nil {
			delete(d.pool.running, j.runID)
			return false, instead, err
		}
	}
	snapshot, err := d.around(t)
	if err != nil {
		return false, nil, err
	}
	d.pool.enliven(ctx, j)
	if j.kind == run.Investigate {
		if err := d.pool.tell(t, j.runID); err != nil {
			return false, nil, err
		}
	}
	var hints []Hint
	err = d.each(func(s subscriber) error {
		hints = append(hints, s.hints(j, t)...)
		return s.ran(t, j.runID)
	})
	if err == nil {
		d.pool.begin(ctx, j, snapshot, hints)
	}
	return err == nil, nil, err
}

func (d *Dispatcher) takeResult(r result) error {
	d.pool.ended(r.job)
	if r.run == nil {
		if t := d.store.open[r.job.key]; t != nil && isDue(t, r.job) {
			d.pool.enqueue(r.job)
		}
		return nil
	}
	return d.takeRun(r.job, r.run)
}

// around returns a copy of t that includes the earlier messages of the other items of its thread.
func (d *Dispatcher) around(t *thread.Thread) (*thread.Thread, error) {
	snapshot := *t
	if t.Root == "" {
		return &snapshot, nil
	}
	root, err := d.store.load(t.Root)
	if err != nil {
		return nil, err
	}
	said := slices.Concat(root.Context, root.Messages, t.Context)
	slices.SortStableFunc(said, func(a, b thread.Message) int { return strings.Compare(a.At, b.At) })
	snapshot.Context = slices.CompactFunc(said, func(a, b thread.Message) bool {
		return a.MessageID == b.MessageID
	})
	return &snapshot, nil
}

package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// TestFair: one person's many questions delay those of others, which came later, at most twofold.
func TestFair(t *testing.T) {
	flood, others := 1000, 20
	if testing.Short() {
		flood = 200
	}
	b := newBench(t)
	for n := range flood {
		b.add(fmt.Sprint("m", n), "mal", "", event.Actionable, fmt.Sprintf("why does part %d fail?", n))
	}
	for n := range others {
		b.add(fmt.Sprint("o", n), fmt.Sprint("person", n), "", event.Actionable,
			fmt.Sprintf("where is limit %d set?", n))
	}
	var mu sync.Mutex
	var starts []string
	began := func(th *thread.Thread) {
		mu.Lock()
		starts = append(starts, th.OriginalSenderID)
		mu.Unlock()
		time.Sleep(200 * time.Microsecond)
	}
	o := b.options()
	investigate, validate := o.Investigate, o.Validate
	o.Investigate = func(ctx context.Context, th *thread.Thread, h []Hint,
		r *run.Run) (*draft.Return, error) {
		began(th)
		return investigate(ctx, th, h, r)
	}
	o.Validate = func(ctx context.Context, th *thread.Thread, h []Hint,
		r *run.Run) (*verdict.Verdict, error) {
		began(th)
		return validate(ctx, th, h, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := Run(ctx, o); err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	first, last := -1, 0
	for i, who := range starts {
		if who == "mal" {
			continue
		}
		if last = i; first < 0 {
			first = i
		}
	}
	alone := 2 * others // an investigation and a validation each
	t.Logf("%d runs, %d of them before the first of the others; theirs, %d, took %d", len(starts), first,
		alone, last-first+1)
	if len(starts) != 2*(flood+others) || last-first+1 > 2*alone {
		t.Errorf("%d runs; the others' runs %d to %d", len(starts), first, last)
	}
}

// TestAway: a run that waits for a worker elsewhere holds up none here.
func TestAway(t *testing.T) {
	b := newBench(t)
	b.cfg.Dispatch.Concurrency, b.cfg.Validator.On = 1, config.Queue
	b.add("1", "ana", "", event.Actionable, "why?")
	b.add("2", "ben", "", event.Actionable, "where?")
	o := b.options()
	investigate, validate, second := o.Investigate, o.Validate, make(chan struct{})
	o.Investigate = func(ctx context.Context, th *thread.Thread, h []Hint,
		r *run.Run) (*draft.Return, error) {
		if th.OriginalSenderID == "ben" {
			close(second)
		}
		return investigate(ctx, th, h, r)
	}
	o.Validate = func(ctx context.Context, th *thread.Thread, h []Hint,
		r *run.Run) (*verdict.Verdict, error) {
		select {
		case <-second:
		case <-ctx.Done():
		}
		return validate(ctx, th, h, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := Run(ctx, o); err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	for _, id := range []string{"1", "2"} {
		if offers, _ := b.offers(id); offers != 1 {
			t.Errorf("question %s has %d offers", id, offers)
		}
	}
}

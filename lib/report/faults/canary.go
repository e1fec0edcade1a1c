package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tri/lib/judge/autoreply"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Canary makes known-bad drafts out of good returns and shows them to the real
// validator, and to nobody else.
type Canary struct {
	// Judge is the validator; without a run, by code alone.
	Judge func(ctx context.Context, ret *draft.Return, codebase string, others []thread.Hint, r *run.Run) (*verdict.Verdict, error)
}

// Fly plants a fault into a return that was good, and has it judged in a run. The
// seed decides which fault: one that the return with its cited lines shows. The
// canary is nil where there is none to plant, where the return is good no more, or
// where the validator could not judge: that is neither caught nor missed. Its At is
// the caller's to fill in.
func (c *Canary) Fly(ctx context.Context, good *draft.Return, codebase, of string, seed uint64, r *run.Run) (*autoreply.Canary, *draft.Usage, error) {
	if v, err := c.Judge(ctx, good, codebase, nil, nil); err != nil || v.Verdict != verdict.Pass {
		return nil, nil, err
	}
	bad, err := spoil(good, codebase, of, seed)
	if bad == nil || err != nil {
		return nil, nil, err
	}
	var others []thread.Hint
	for _, o := range bad.Others {
		others = append(others, thread.Hint{Source: o.Key, Text: o.Summary})
	}
	v, err := c.Judge(ctx, bad.Return, codebase, others, r)
	if err != nil {
		return nil, nil, err
	}
	unjudged := func(c verdict.Check) bool { return c.Name == "agent" && c.By == "code" && c.Result == verdict.Fail }
	if slices.ContainsFunc(v.Checks, unjudged) {
		return nil, v.Usage, nil
	}
	return &autoreply.Canary{Of: of, Fault: bad.Drill.Fault, Verdict: v.Verdict, Missed: v.Verdict == verdict.Pass}, v.Usage, nil
}

// spoil puts the first fault into a return, from a place that the seed says, for
// which there is room; nil where there is none.
func spoil(good *draft.Return, codebase, of string, seed uint64) (*Record, error) {
	root, err := os.OpenRoot(codebase)
	if err != nil {
		return nil, fmt.Errorf("make a canary: %w", err)
	}
	defer root.Close()
	d := &Drill{Root: root, Seed: int64(seed >> 1), Out: io.Discard, Say: func(string, ...any) {}}
	for i := range Faults {
		fault := Faults[(seed+uint64(i))%uint64(len(Faults))]
		bad, err := d.Plant(Record{Return: good}, fault, of, seed)
		switch {
		case errors.Is(err, ErrNoPlace):
		case err != nil:
			return nil, fmt.Errorf("make a canary: %w", err)
		case bad.Drill.Decidable:
			return &bad, nil
		}
	}
	return nil, nil
}

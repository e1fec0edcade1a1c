package faults

import (
	"context"
	"testing"

	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// TestCanary: a fault that the return shows is planted into what is good today,
// and what the validator says of it alone decides.
func TestCanary(t *testing.T) {
	root := codebase(t)
	returned := good().Return
	for _, tt := range []struct {
		name        string
		first, then string
		fails       bool // the agent
		flies       bool
		missed      bool
	}{
		{"caught", verdict.Pass, verdict.Bounce, false, true, false},
		{"missed", verdict.Pass, verdict.Pass, false, true, true},
		{"no longer good", verdict.Bounce, verdict.Pass, false, false, false},
		{"not judged", verdict.Pass, verdict.Escalate, true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kinds := map[string]bool{}
			for seed := range uint64(60) {
				c := Canary{Judge: func(_ context.Context, ret *draft.Return, dir string, _ []thread.Hint, r *run.Run) (*verdict.Verdict, error) {
					if r == nil {
						if ret != returned || ret.Drill != nil {
							t.Error("the good return is not what is looked at first")
						}
						return &verdict.Verdict{Verdict: tt.first}, nil
					}
					if ret.Drill == nil || !ret.Drill.Decidable || ret.Drill.Of != "i-1" {
						t.Errorf("planted %+v", ret.Drill)
					}
					v := &verdict.Verdict{Verdict: tt.then, Usage: &draft.Usage{InputTokens: 7}}
					if tt.fails {
						v.Checks = []verdict.Check{{Name: "agent", By: "code", Result: verdict.Fail}}
					}
					return v, nil
				}}
				got, usage, err := c.Fly(t.Context(), returned, root.Name(), "i-1", seed, new(run.Run))
				if err != nil || (got != nil) != tt.flies {
					t.Fatalf("seed %d: %+v, %v", seed, got, err)
				}
				if got == nil {
					continue
				}
				if kinds[got.Fault] = true; got.Missed != tt.missed || got.Verdict != tt.then || usage.InputTokens != 7 {
					t.Errorf("%+v %+v", got, usage)
				}
			}
			if tt.flies && len(kinds) < 8 {
				t.Errorf("only %d kinds: %v", len(kinds), kinds)
			}
		})
	}
}

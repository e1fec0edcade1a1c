package box

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/prompt"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// TestPatchOnce: a dispatcher that is killed after the fix was made, or in its middle, and asks again gets
// that fix: one run, one patch, and the cost of all its attempts.
func TestPatchOnce(t *testing.T) {
	b := newBench(t)
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	item := &thread.Thread{Codebase: b.dir, Messages: []thread.Message{{Content: "make it six"}}}
	patch := func(id, says string, runs int, usd float64) {
		t.Helper()
		ret, err := Patch(context.Background(), item, id, Box{Config: b.cfg, Prompts: prompts, Now: time.Now,
			Say: t.Logf, In: strings.NewReader(""), New: func(config.Agent, string) (agent.Agent, error) {
				return b.agent, nil
			}})
		all, list := b.open().recent(0)
		if list != nil || len(all) != runs {
			t.Fatalf("%s: %d runs, want %d; %v", id, len(all), runs, list)
		}
		i := slices.IndexFunc(all, func(r *Run) bool { return r.Meta.For == id })
		says = "A patch of " + says + " waits: tri-box merge " + idOf(all[i].Meta.RunName) + "."
		if err != nil || ret.SummaryForOrchestrator != says || *ret.Usage.CostUSD != usd {
			t.Errorf("%s: %+v, %v", id, ret, err)
		}
	}
	b.agent.play = change
	patch("r-1", "2 files", 1, 0.25)
	b.agent.play = func(context.Context, agent.Task) (agent.Result, error) {
		t.Error("it was made again")
		return agent.Result{}, errors.New("again")
	}
	patch("r-1", "2 files", 1, 0.25)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		res, _ := says("so far")(ctx, task)
		return res, agent.Fail(agent.OOM, errors.New("killed for its memory"))
	}
	if r, err := b.open().Start(context.Background(), Request{Type: Fix, Task: "make it six",
		For: "r-2"}); err == nil || r.State.Status != run.Crashed {
		t.Fatalf("%+v, %v", r, err)
	}
	b.agent.play = change
	patch("r-2", "2 files", 2, 0.5)
}

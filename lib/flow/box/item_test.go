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
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
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
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	item := &thread.Thread{Codebase: b.dir, Messages: []thread.Message{{Content: "make it six"}}}
	patch := func(id, says string, runs int, usd float64) {
		t.Helper()
		own, err := run.Begin(home, id)
		if err != nil {
			t.Fatal(err)
		}
		defer own.End()
		ret, err := Patch(context.Background(), item, own, Box{Config: b.cfg, Prompts: prompts, Now: time.Now,
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

// TestTold: what an asker or the operator adds while a fix is under way reaches its agent in the same
// session, and the result of an inbox's run says that it answers it.
func TestTold(t *testing.T) {
	for _, tt := range []struct{ name, inbox string }{{"operator", ""}, {"asker", "r-1"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			home, err := durable.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer home.Close()
			begun, session := make(chan string, 1), ""
			b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
				if !task.Resume {
					session = task.SessionID
					begun <- session
					<-ctx.Done()
					return agent.Result{}, ctx.Err()
				}
				if task.SessionID != session || !strings.Contains(task.Prompt, "and mind the test") {
					t.Errorf("%s continues %s with %s", task.SessionID, session, task.Prompt)
				}
				return change(ctx, task)
			}
			ended := make(chan error, 1)
			own, err := run.Begin(home, "r-1")
			if err != nil {
				t.Fatal(err)
			}
			x := b.open()
			go func() {
				if tt.inbox == "" {
					_, err := x.Start(t.Context(), Request{Type: Fix, Task: "make it six"})
					ended <- err
					return
				}
				_, err := Patch(t.Context(), &thread.Thread{Codebase: b.dir, Messages: []thread.Message{{
					Content: "make it six"}}}, own, Box{Config: b.cfg, Prompts: x.Prompts, Now: time.Now,
					Say: t.Logf, In: x.In, New: x.New})
				ended <- err
			}()
			<-begun
			told, err := b.open().Resume(t.Context(), "latest", "and mind the test")
			if tt.inbox != "" {
				if status(err) != sysexit.TempFail {
					t.Errorf("the words of an inbox have another writer: %v", err)
				}
				_, err = run.Tell(home, own.ID, time.Now(), run.Word{ID: "w-1", Kind: run.Append, By: "asker",
					Text: "and mind the test"})
			}
			if told != nil || err != nil {
				t.Errorf("told: %v, %v", told, err)
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if err := own.Publish(run.Result{RunID: own.ID}); err != nil {
				t.Fatal(err)
			}
			res, err := run.Load(home, own.ID)
			if err != nil || (len(res.Heard) == 1) != (tt.inbox != "") {
				t.Errorf("the result answers %v, %v", res, err)
			}
		})
	}
}

// TestToldTooLate: words that come when the agent of a run has ended continue the run.
func TestToldTooLate(t *testing.T) {
	b := newBench(t)
	b.agent.play = change
	name := b.start(Fix, "make it six").Meta.RunName
	x := b.open()
	lock, err := x.home.TryLock("runs/" + name + "/lock") // as while the tests run
	if err != nil {
		t.Fatal(err)
	}
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		if !task.Resume || strings.Count(task.Prompt, "and mind the test") != 1 {
			t.Errorf("%+v", task)
		}
		return change(ctx, task)
	}
	go func() {
		for words := []run.Word(nil); len(words) == 0 && t.Context().Err() == nil; {
			words, _ = run.Words(x.dir(name))
		}
		lock.Unlock()
	}()
	r, err := b.open().Resume(t.Context(), name, "and mind the test")
	if err != nil || r.State.Status != run.Review {
		t.Errorf("%+v, %v", r, err)
	}
}

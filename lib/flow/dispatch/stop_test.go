package dispatch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/supervise"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// script is an agent that runs a shell script, and reports 7 tokens when it starts.
type script struct{ text string }

func (s script) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	_, err := proc.Run(ctx, proc.Spec{
		Argv: []string{"/bin/sh", "-c", s.text}, Env: []string{"PATH=" + os.Getenv("PATH")}, RunDir: t.Dir,
		Hold: t.Hold, Sandbox: "off",
		Started: func(pid int) {
			t.See(agent.Event{Kind: agent.Started, PID: pid, Usage: &draft.Usage{InputTokens: 7}})
		},
	})
	return agent.Result{}, err
}

// alive returns the processes that a script has named in a file and that have not ended.
func alive(t *testing.T, name string) (pids []int) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(w); err == nil && run.ProcessOf(pid).Alive() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestStopped: when the asker withdraws, every process of the run ends at once, and what it has used is
// settled. A process that ignores SIGTERM is killed.
func TestStopped(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		most         time.Duration
	}{
		{"it ends when told", `sleep 60 & echo $$ $! >pids; touch begun; wait`, proc.Grace},
		{"it does not", `trap '' TERM; sh -c 'trap "" TERM; sleep 60' & echo $$ $! >pids; touch begun; while :; do wait; done`, proc.Grace + 10*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := newBench(t)
			b.add("1", "ana", "", event.Actionable, "why?")
			o := b.options()
			o.Once, o.Input.Follow = false, true
			var said, ended time.Time
			o.Investigate = func(ctx context.Context, _ *thread.Thread, _ []Hint,
				r *run.Run) (*draft.Return, error) {
				go func() {
					for _, err := os.Stat(dir + "/begun"); err != nil && ctx.Err() == nil; _,
						err = os.Stat(dir + "/begun") {
						time.Sleep(time.Millisecond)
					}
					said = time.Now()
					b.add("2", "ana", "1", event.Ambient, "never mind")
				}()
				a := supervise.Wrap(script{"cd " + dir + "; " + tt.script}, supervise.Options{Dir: r.Dir()})
				_, err := a.Run(ctx, agent.Task{Dir: r.Dir(), Hold: r.LockFile()})
				ended = time.Now()
				return nil, err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
			defer cancel()
			settled := make(chan []budget.Entry, 1)
			go func() {
				settled <- settlement(ctx, b)
				cancel()
			}()
			if err := Run(ctx, o); err != nil {
				t.Fatal(err)
			}
			if left := alive(t, dir+"/pids"); len(left) > 0 {
				for _, pid := range left {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				t.Errorf("processes %v live on", left)
			}
			if took := ended.Sub(said); took > tt.most {
				t.Errorf("it took %v from the withdrawal to the end", took)
			} else {
				t.Logf("%v from the withdrawal to the end", took)
			}
			if got := <-settled; len(got) != 1 || got[0].Tokens != 7 {
				t.Errorf("settled %+v, want 7 tokens", got)
			}
			th := b.thread("1")
			if th.Status != thread.Closed || th.CloseReason != "the asker withdrew the question" ||
				th.InvestigatorError != "" {
				t.Errorf("%s, %q, %q", th.Status, th.CloseReason, th.InvestigatorError)
			}
			if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
				t.Errorf("rebuild: %+v, %v", done, err)
			}
			b.run()
			if got := settlement(context.Background(), b); len(got) != 1 {
				t.Errorf("settled again: %+v", got)
			}
		})
	}
}

// TestLater: at the end of the dispatcher an agent can see that its run is asked for again, which the next
// dispatcher does.
func TestLater(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	var ids []string
	var cause error
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	o := b.options()
	o.Once, o.Input.Follow = false, true
	o.Investigate = func(ctx context.Context, _ *thread.Thread, _ []Hint, r *run.Run) (*draft.Return, error) {
		ids = append(ids, r.ID)
		stop()
		<-ctx.Done()
		cause = context.Cause(ctx)
		return nil, ctx.Err()
	}
	if err := Run(ctx, o); err != nil || !errors.Is(cause, agent.ErrLater) {
		t.Errorf("%v; the run ends for %v", err, cause)
	}
	o = b.options()
	o.Investigate = func(_ context.Context, _ *thread.Thread, _ []Hint, r *run.Run) (*draft.Return, error) {
		ids = append(ids, r.ID)
		return nil, agent.ErrNothing
	}
	if err := Run(t.Context(), o); err != nil || len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("runs %q, %v", ids, err)
	}
}

// settlement returns the settlements of a home, as soon as there is one.
func settlement(ctx context.Context, b *bench) (all []budget.Entry) {
	for len(all) == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
		f, err := os.Open(b.home.Path("spend.ndjson"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var e budget.Entry
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == budget.Settle {
				all = append(all, e)
			}
		}
		_ = f.Close()
	}
	return all
}

// TestLostLong: a long run that an earlier dispatcher left behind ends when it is no longer due.
func TestLostLong(t *testing.T) {
	b, f, options := far(t)
	b.add("1", "ana", "", event.Actionable, "long and endless?")
	ctx, cancel := context.WithCancel(context.Background())
	o := options()
	o.Once, o.Out = false, &onMove{cancel, "escalated"}
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	id := *b.thread("1").InvestigatorTaskID
	order, err := json.Marshal(map[string]any{"run_id": id, "by": run.Dispatcher, "thread": b.thread("1")})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.home.Replace("runs/"+id+"/request.json", order); err != nil {
		t.Fatal(err)
	}
	r, err := run.Begin(b.home, id)
	if err != nil {
		t.Fatal(err)
	}
	f.onStop = func() {
		if err := r.Publish(run.Result{RunID: id, Status: run.Failed, EndedAt: "2026-11-21T10:00:00Z",
			Usage: &draft.Usage{InputTokens: 9}}); err != nil {
			t.Error(err)
		}
		if err := r.End(); err != nil {
			t.Error(err)
		}
	}
	b.add("2", "ana", "1", event.Ambient, "never mind")
	without := options()
	without.Long = nil // it cannot end the run
	for _, o := range []Options{without, options()} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := Run(ctx, o); err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		cancel()
	}
	if !slices.Contains(f.called, id) {
		t.Errorf("stopped %q, want %s", f.called, id)
	}
	if got := settlement(context.Background(), b); len(got) != 1 || got[0].Tokens != 9 {
		t.Errorf("settled %+v", got)
	}
}

// TestStaleDrafts: of a question that is added to while it is investigated, only the draft that answers all
// of it is validated and offered; an addition during the validation ends that one.
func TestStaleDrafts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		when     string // the run during which a message comes
		validate int32
	}{
		{"while it is investigated", run.Investigate, 1},
		{"while it is validated", run.Validate, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.add("1", "ana", "", event.Actionable, "why?")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			o := b.options()
			o.Once, o.Input.Follow = false, true
			o.Out = &onMove{cancel, thread.PendingUser}
			var validated atomic.Int32
			added := false
			add := func(ctx context.Context, during string) {
				if during == tt.when && !added {
					added = true
					b.add("2", "ana", "1", event.Actionable, "and on staging?")
					if during == run.Validate {
						<-ctx.Done() // the validation of a stale draft ends
						return
					}
					for b.thread("1").PendingMessageIDs == nil || len(b.thread("1").PendingMessageIDs) == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			}
			o.Investigate = func(ctx context.Context, th *thread.Thread, h []Hint,
				r *run.Run) (*draft.Return, error) {
				add(ctx, run.Investigate)
				return b.investigate(ctx, th, h, r)
			}
			validate := o.Validate
			o.Validate = func(ctx context.Context, th *thread.Thread, h []Hint,
				r *run.Run) (*verdict.Verdict, error) {
				validated.Add(1)
				add(ctx, run.Validate)
				return validate(ctx, th, h, r)
			}
			if err := Run(ctx, o); err != nil {
				t.Fatal(err)
			}
			th := b.thread("1")
			if th.Status != thread.PendingUser || th.Cycle != 2 || len(th.Messages) != 2 ||
				validated.Load() != tt.validate {
				t.Errorf("%s, cycle %d, %d messages, %d validations", th.Status, th.Cycle, len(th.Messages),
					validated.Load())
			}
			b.run()
			if n, gone := b.offers("1"); n != 1 || gone != 0 {
				t.Errorf("%d offers, %d withdrawn", n, gone)
			}
			if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
				t.Errorf("rebuild: %+v, %v", done, err)
			}
		})
	}
}

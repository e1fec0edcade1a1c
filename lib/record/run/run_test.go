package run_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestPublish: a result closes a state that its owner left open, and does not change a closed one.
func TestPublish(t *testing.T) {
	for _, tt := range []struct {
		status string // before
		result run.Phase
		cancel bool
		want   string
		phase  run.Phase
	}{
		{run.Active, run.Done, false, run.Complete, run.Done},
		{run.Active, run.Nothing, false, run.Complete, run.Done},
		{run.Active, run.Failed, false, run.Crashed, run.Failed},
		{run.Active, run.Failed, true, run.Abandoned, run.Cancelled},
		{run.Review, run.Done, false, run.Review, run.Waiting},
		{run.Abandoned, run.Failed, false, run.Abandoned, run.Cancelled},
	} {
		h := home(t)
		id := run.ID("x", tt.status, 1, 1)
		r, err := run.Begin(h, id)
		if err != nil {
			t.Fatal(err)
		}
		err = run.Update(r.Dir(), func(s *run.State) { s.Status = tt.status })
		if tt.cancel {
			err = errors.Join(err, run.Cancel(h, id, "ana", time.Now()))
		}
		err = errors.Join(err,
			r.Publish(run.Result{RunID: id, Status: tt.result, EndedAt: "2026-01-02T03:04:05Z"}), r.End())
		s, bad := run.LoadState(r.Dir())
		if err = errors.Join(err, bad); err != nil || s.Status != tt.want || s.Phase != tt.phase {
			t.Errorf("%+v: %s %s, %v", tt, s.Status, s.Phase, err)
		}
	}
}

// TestSpent: the usage of a run counts once it is over; a run requested by a person is over only
// by its result, since it may be restarted.
func TestSpent(t *testing.T) {
	h := home(t)
	dead := run.Process{PID: 1 << 30, Start: 1}
	took := &draft.Usage{InputTokens: 7}
	state := func(id string, owner run.Process) string {
		err := run.Update(h.Path("runs/"+id), func(s *run.State) {
			s.Status, s.Owner, s.Usage = run.Active, owner, took
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ask := func(id, by string) string {
		text := fmt.Sprintf(`{"run_id":%q,"by":%q,"at":"2026-01-02T03:04:05Z","thread":{"key":"k"}}`, id, by)
		if err := h.Replace("runs/"+id+"/request.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		return id
	}
	n := 0
	id := func() string { n++; return run.ID("x", "", 1, n) }
	for name, tt := range map[string]struct {
		id     string
		over   bool
		tokens int64
	}{
		"no agent":          {id(), true, 0},
		"its owner lives":   {state(id(), run.ProcessOf(os.Getpid())), false, 0},
		"its owner is gone": {state(id(), dead), true, 7},
		"of the dispatcher": {ask(state(id(), dead), run.Dispatcher), true, 7},
		"of a person":       {ask(state(id(), dead), "ana"), false, 0},
		"not begun yet":     {ask(id(), "ana"), false, 0},
	} {
		usage, over, err := run.Spent(h, tt.id, time.Now())
		if err != nil || over != tt.over || tt.over && (usage == nil) != (tt.tokens == 0) ||
			usage != nil && over && usage.InputTokens != tt.tokens {
			t.Errorf("%s: %+v %t %v", name, usage, over, err)
		}
	}
}

// TestSettle: an account is kept once, and of nothing that was not reserved.
func TestSettle(t *testing.T) {
	h, now := home(t), time.Now()
	id := run.ID("x", "", 1, 1)
	err := run.Reserve(h, config.Budget{},
		budget.Run{ID: id, Key: "k", Person: "ana", Work: budget.Box, Ordered: true}, now)
	for range 2 {
		err = errors.Join(err, run.Settle(h, config.Budget{}, id, &draft.Usage{InputTokens: 7}, now))
	}
	err = errors.Join(err, run.Settle(h, config.Budget{}, run.ID("x", "", 1, 2), nil, now))
	text, bad := h.ReadFile(budget.LogName)
	if err = errors.Join(err, bad); err != nil || strings.Count(string(text), "\n") != 2 ||
		!strings.Contains(string(text), `"tokens":7`) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestSince(t *testing.T) {
	all := &draft.Usage{InputTokens: 10, OutputTokens: 5, CostUSD: new(0.75)}
	if u := run.Since(all, nil); u != all {
		t.Errorf("%+v", u)
	}
	u := run.Since(all, &draft.Usage{InputTokens: 4, OutputTokens: 9, CostUSD: new(0.25)})
	if u.InputTokens != 6 || u.OutputTokens != 0 || *u.CostUSD != 0.5 || *all.CostUSD != 0.75 {
		t.Errorf("%+v", u)
	}
}

// TestTail: whole lines are given once, a torn one when it is whole.
func TestTail(t *testing.T) {
	h := home(t)
	dir := h.Path("runs/r")
	at, got := int64(0), ""
	for _, text := range []string{"", "a\nb", "a\nbc\n", "a\nbc\nd\n"} {
		if text != "" {
			if err := h.Replace("runs/r/"+run.StreamName, []byte(text)); err != nil {
				t.Fatal(err)
			}
		} else if err := h.MkdirAll("runs/r"); err != nil {
			t.Fatal(err)
		}
		var err error
		if at, err = run.Tail(dir, at, func(lines []byte) error {
			got += string(lines) + "|"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got != "a\n|bc\n|d\n|" {
		t.Errorf("%q", got)
	}
}

// TestFirstLayout: a long run of the first layout is read where it is.
func TestFirstLayout(t *testing.T) {
	h := home(t)
	id := run.ID(run.Escalate, "k", 1, 1)
	for name, text := range map[string]string{
		"escalations/" + id + "/request.json": `{"run_id":"` + id +
			`","by":"tri-dispatch","at":"2026-01-02T03:04:05Z","thread":{"key":"k"}}`,
		"escalations/" + id + "/exit.json": `{"run_id":"` + id +
			`","key":"k","by":"tri-dispatch","status":"done","starts":2,"failure":null,"usage":{"input_tokens":3}}`,
		"escalations/" + id + "/return.json": `{"draft_reply":"x"}`,
		"escalations/" + id + "/killed":      `{}`,
		"runs/" + id + "/result.json": `{"run_id":"` + id +
			`","kind":"investigate","cycle":4,"round":2,"agent":"claude","status":"done"}`,
	} {
		if err := h.Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := run.Load(h, id)
	if err != nil || res.By != run.Dispatcher || res.Starts != 2 || res.Cycle != 4 || res.Agent != "claude" ||
		res.Usage.InputTokens != 3 || string(res.Value) != `{"draft_reply":"x"}` {
		t.Errorf("%+v, %v", res, err)
	}
	if ids, err := run.IDs(h); err != nil || len(ids) != 1 || !run.IsCancelled(h, id) {
		t.Errorf("%q, %v", ids, err)
	}
	r, err := run.Begin(h, id)
	if err != nil || !strings.Contains(r.Dir(), "escalations") {
		t.Fatalf("%+v, %v", r, err)
	}
	if held, err := run.Held(h, id); err != nil || !held || r.End() != nil {
		t.Errorf("%t, %v", held, err)
	}
}

package longrun

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// spent are the lines of the spend log that are of a run.
func spent(t *testing.T, d *Manager, id string) (all []budget.Entry) {
	t.Helper()
	if !d.Home.Exists(budget.LogName) {
		return nil
	}
	err := d.Home.Lines(budget.LogName, 0, func(line []byte) error {
		var e budget.Entry
		err := json.Unmarshal(line, &e)
		if e.RunID == id {
			all = append(all, e)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ended(t *testing.T, d *Manager, id string) {
	t.Helper()
	if err := d.Poll(soon(t), []string{id}, true, func(*run.Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
	// Its end is known before its account is written: the runner holds it until then.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if busy, err := run.Held(d.Home, id); !busy && err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("its runner does not end")
		}
	}
}

// TestPaid: a run started by a person is reserved before it begins and settled when it has ended, once,
// even if its runner is killed; the pipeline pays for its own runs.
func TestPaid(t *testing.T) {
	d := manager(t, config.None)
	ours := ask("1", "quick")
	begin(t, d, ours)
	ended(t, d, ours.RunID)
	if got := spent(t, d, ours.RunID); len(got) != 0 {
		t.Errorf("of the pipeline's: %+v", got)
	}

	hers := ask("2", "wait")
	hers.By = "ana"
	begin(t, d, hers)
	got := spent(t, d, hers.RunID)
	if len(got) != 1 || got[0].Kind != budget.Reserve || got[0].Person != "ana" ||
		got[0].Work != budget.Escalate || !got[0].Ordered {
		t.Errorf("before it ends: %+v", got)
	}
	begin(t, d, hers) // it is under way
	if err := d.Home.Replace("go", nil); err != nil {
		t.Fatal(err)
	}
	ended(t, d, hers.RunID)
	if got = spent(t, d, hers.RunID); len(got) != 2 || got[1].Kind != budget.Settle || got[1].Tokens != 22 ||
		got[1].Person != "ana" {
		t.Errorf("when it has ended: %+v", got)
	}

	if err := d.Home.Remove("go"); err != nil {
		t.Fatal(err)
	}
	killed := ask("3", "wait")
	killed.By = "ana"
	begin(t, d, killed)
	if err := syscall.Kill(runner(t, d, killed.RunID).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended(t, d, killed.RunID)
	ended(t, d, killed.RunID)
	if got = spent(t, d, killed.RunID); len(got) != 2 || got[1].Kind != budget.Settle {
		t.Errorf("killed: %+v", got)
	}
}

// TestSettleLost: a runner that is killed between the end of its run and the
// account of it is settled when the next is started.
func TestSettleLost(t *testing.T) {
	d := manager(t, config.None)
	r := ask("1", "x")
	r.By = "ana"
	if err := d.ask(r); err != nil {
		t.Fatal(err)
	}
	if err := d.reserve(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := d.settleEnded(&r); err != nil || len(spent(t, d, r.RunID)) != 1 {
		t.Errorf("%v; it has no end: %+v", err, spent(t, d, r.RunID))
	}
	x := run.Result{RunID: r.RunID, Key: r.Thread.Key, By: "ana", StartedAt: text.Timestamp(d.Now()),
		EndedAt: text.Timestamp(d.Now()), Status: run.Done, Starts: 1,
		Usage: &draft.Usage{CostUSD: new(0.5), InputTokens: 7}}
	own, err := run.Begin(d.Home, r.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(own.Publish(x), own.End()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.settleEnded(&r); err != nil {
			t.Fatal(err)
		}
	}
	if got := spent(t, d, r.RunID); len(got) != 2 || *got[1].CostUSD != 0.5 || got[1].Tokens != 7 {
		t.Errorf("%+v", got)
	}
	// No limit stops a person's order, but the limit is reported.
	d.Config.Budget.PerDay.USD = 0.6
	d.Config.Investigator.Agent = "claude"
	next := ask("2", "quick")
	next.By = "ana"
	if fits, err := d.settleEnded(&next); err != nil || fits {
		t.Errorf("%v, %v: 0.5 of 0.6 are taken", fits, err)
	}
	if err := d.reserve(&next); err != nil {
		t.Errorf("held back: %v", err)
	}
}

package box

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/run"
)

func (b *bench) paid(home *durable.Home) *Box {
	x := b.open()
	x.Pays = &Payer{Home: home, By: "ana"}
	return x
}

func (b *bench) spent(home *durable.Home) (all []budget.Entry) {
	b.Helper()
	err := home.Lines(budget.LogName, 0, func(line []byte) error {
		var e budget.Entry
		err := json.Unmarshal(line, &e)
		all = append(all, e)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// TestPaid: each attempt at a run is reserved before an agent starts, and settled with its own cost; one
// whose supervisor was killed is settled by the next call.
func TestPaid(t *testing.T) {
	b := newBench(t)
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	r, err := b.paid(home).Start(context.Background(), Request{Type: Scout, Task: "why?"})
	if err != nil {
		t.Fatal(err)
	}
	name := r.Meta.RunName
	got := b.spent(home)
	if len(got) != 2 || got[0].Kind != budget.Reserve || got[0].Work != budget.Box ||
		got[0].Person != "ana" || !got[0].Ordered ||
		got[1].Kind != budget.Settle || *got[1].CostUSD != 0.25 || got[1].Tokens != 15 ||
		got[1].RunID != got[0].RunID || got[1].Key != name {
		t.Fatalf("%+v", got)
	}
	if _, err := b.paid(home).Resume(context.Background(), name, "and then?"); err != nil {
		t.Fatal(err)
	}
	got = b.spent(home)
	if len(got) != 4 || *got[3].CostUSD != 0.25 || got[3].Tokens != 15 || got[3].RunID == got[0].RunID {
		t.Errorf("the second attempt: %+v", got[2:])
	}

	// As if its supervisor had been killed at work.
	x := b.paid(home)
	err = run.Update(x.dir(name), func(s *run.State) {
		s.Status, s.EndedAt, s.Failure, s.Owner = run.Active, nil, nil, run.Process{PID: 1 << 22, Start: 1}
		s.Settled = new(*s.Usage) // as Resume does
		s.Starts++
		s.Usage.InputTokens += 100
	})
	if err := errors.Join(err, x.mark(name, running), x.reserve(name)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := x.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	got = b.spent(home)
	if len(got) != 6 || got[5].Kind != budget.Settle || got[5].Tokens != 100 || *got[5].CostUSD != 0 {
		t.Errorf("killed: %+v", got[4:])
	}
}

// TestNobodyPays: without a configured home nothing is counted, and no home is created.
func TestNobodyPays(t *testing.T) {
	if p, err := PaidBy(t.TempDir(), "ana"); err != nil || p != nil {
		t.Errorf("%+v, %v", p, err)
	}
	b := newBench(t)
	b.start(Scout, "why?")
}

package report

import (
	"bytes"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stats"
	"tri/lib/judge/autoreply"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// TestUnattended: the brief shows events without a person's review: automatic replies, runs that
// wait for budget, planted faults that passed.
func TestUnattended(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	b := &builder{t: t, home: h}
	b.put(repliesLog, outbox.Reply{Platform: "local", ChatID: "dev", Key: "local.dev.1", Cycle: 1,
		Outcome: outbox.Posted, PostedAt: at(30), ReplyText: "Five.", ApprovedBy: decision.Dispatcher})
	b.put(dispatchLog, thread.Input{At: at(31), Key: "local.dev.2",
		Spent: &thread.Spent{RunID: "i-1", Why: "budget spent: 5 of 5 runs today", Day: "2026-03-02"}})
	b.put(autoreply.DrillFile, autoreply.Drill{At: at(32), Faults: []autoreply.Fault{
		{Fault: "bad_line", Decidable: true, Caught: 1, Missed: 1}, {Fault: "bad_path", Decidable: true, Caught: 2}}})
	brief := Morning(h, config.Default(), noon, noon.AddDate(0, 0, -1))
	var out bytes.Buffer
	if err := brief.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 answered, 1 of them automatically", "(automatic, read by no person)",
		"1 runs had to wait for budget",
		"the validator let 1 kind of planted faults pass, the last bad_line",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the brief does not say %q:\n%s", want, out.String())
		}
	}
	if brief.Automatic != 1 || brief.Refused != 1 || len(brief.Missed) != 1 || len(brief.Failed) != 0 {
		t.Errorf("%+v", brief)
	}
	trusted, err := Trust(h, config.Default(), noon)
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := trusted.Print(&out); err != nil || !strings.Contains(out.String(), "bad_line, 1 of 2") ||
		!strings.Contains(out.String(), "4  1 (25.0%)") || strings.Contains(out.String(), "bad_path") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// TestOneLabel: one label passes no criterion, though it is all there was to label.
func TestOneLabel(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for n, want := range map[int]string{1: stats.Unsure, 19: stats.Unsure, 20: stats.Pass} {
		a, err := Accept(h, config.Default(), noon, func() (float64, float64, float64, int, error) {
			return 0, 0, 0, n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if c := a.Criteria[len(a.Criteria)-1]; c.Result != want {
			t.Errorf("%d labels: %+v", n, c)
		}
	}
}

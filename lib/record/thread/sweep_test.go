package thread

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

// TestSweepIsSilent: of the finding of a sweep nothing is said without a verdict "pass" and two different
// references that support their claims, and a failure is not a silence.
func TestSweepIsSilent(t *testing.T) {
	for _, c := range []struct {
		name    string
		verdict string
		checks  string // results of the references, by code
		refs    string
		want    string
	}{
		{"two", verdict.Pass, "supports supports", "a.go:1 b.go:2", PendingUser},
		{"one", verdict.Pass, "supports", "a.go:1", Closed},
		{"the same twice", verdict.Pass, "supports supports", "a.go:1 a.go:1", Closed},
		{"one uncheckable", verdict.Pass, "supports uncheckable", "a.go:1 b.go:2", Closed},
		{"a search's", verdict.Pass, "supports found", "a.go:1 b.go:2", Closed},
		{"an agent's word", verdict.Pass, "supports agent", "a.go:1 b.go:2", Closed},
		{"escalated", verdict.Escalate, "supports supports", "a.go:1 b.go:2", Closed},
		{"a person wants it", verdict.Pass, "", "a.go:1", PendingUser},
		{"not validated", "", "", "a.go:1 b.go:2", Closed},
	} {
		var checks []verdict.Check
		for i, result := range strings.Fields(c.checks) {
			k := verdict.Check{Name: fmt.Sprint("ref ", i+1), By: "code", Result: result}
			switch result {
			case "found":
				k.Result, k.Note = verdict.Supports, "1 of 1 names found; "+verdict.NotJudged
			case "agent":
				k.Result, k.By = verdict.Supports, result
			}
			checks = append(checks, k)
		}
		var ret draft.Return
		for ref := range strings.FieldsSeq(c.refs) {
			ret.EvidenceRefs = append(ret.EvidenceRefs, draft.Ref{Kind: draft.KindFile, Ref: ref})
		}
		ret.DraftReply = "it is so"
		id, task := "v-1", "i-1"
		th := Thread{Key: key, Platform: config.PlatformSweep, Status: AwaitingValidation, Cycle: 1,
			InvestigatorRound: 1, ValidatorTaskID: &id, InvestigatorTaskID: &task, InvestigatorReturn: &ret,
			Ordered: c.name == "a person wants it"}
		value, err := json.Marshal(verdict.Verdict{Verdict: c.verdict, Checks: checks})
		if err != nil {
			t.Fatal(err)
		}
		res := &run.Result{RunID: id, Status: run.Done, Value: value}
		if c.verdict == "" {
			res.Status = run.Failed
		}
		apply := func(t Thread) Thread {
			t, _ = Apply(t, Input{At: "2026-11-21T10:00:00Z", Key: key, Run: res})
			return t
		}
		if got := apply(th); got.Status != c.want || got.Status == Closed && got.DraftPending != nil {
			t.Errorf("%s: %s (%s), want %s", c.name, got.Status, got.CloseReason, c.want)
		}
		chat := th
		if chat.Platform = "local"; apply(chat).Status == Closed {
			t.Errorf("%s: an item of a chat was closed", c.name)
		}
		th.Status, th.Ordered = Investigating, false
		res = &run.Result{RunID: task, Status: run.Failed, Error: "no model"}
		if got := apply(th); got.Status != PendingUser {
			t.Errorf("a failure is silent: %s", got.Status)
		}
		if res.Status = run.Nothing; apply(th).Status != Closed {
			t.Error("nothing found is told")
		}
	}
}

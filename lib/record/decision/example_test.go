package decision_test

import (
	"fmt"
	"time"

	"tri/lib/record/decision"
)

// Resolve folds the log: the first valid decision counts, and only an approver's is.
func ExampleResolve() {
	text := "It is 5: client.go:42."
	say := func(n int64, kind, by string) decision.Record {
		return decision.Record{N: n, At: "2026-03-02T10:00:00Z", Kind: kind, By: by, Via: "terminal",
			Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)}
	}
	log := []decision.Record{say(1, decision.Offer, "tri-dispatch"), say(2, decision.Approve, "mallory")}
	now := time.Date(2026, 3, 2, 10, 5, 0, 0, time.UTC)
	ana := decision.Policy{Approvers: []string{"ana"}}
	fmt.Println(decision.Resolve(log, ana, now)["local.dev.1"].Approved())
	log = append(log, say(3, decision.Approve, "ana"))
	fmt.Println(decision.Resolve(log, ana, now)["local.dev.1"].Approved())
	// Output:
	// false
	// true
}

package decision_test

import (
	"fmt"

	"tri/lib/record/decision"
)

// The state is a fold of the log: the first valid decision counts, and only an approver's is.
func ExampleState() {
	text := "It is 5: client.go:42."
	say := func(n int64, kind, by string) decision.Record {
		return decision.Record{N: n, At: "2026-03-02T10:00:00Z", Kind: kind, By: by, Via: "terminal",
			Key: "local.dev.1", Cycle: 1, Text: text, DraftSHA256: decision.Sum(text)}
	}
	log := []decision.Record{say(1, decision.Offer, "tri-dispatch"), say(2, decision.Approve, "mallory")}
	state := decision.NewState(decision.Policy{Approvers: []string{"ana"}})
	for _, r := range log {
		state.Add(r)
	}
	fmt.Println(state.Standing("local.dev.1").Approved())
	state.Add(say(3, decision.Approve, "ana"))
	fmt.Println(state.Standing("local.dev.1").Approved())
	// Output:
	// false
	// true
}

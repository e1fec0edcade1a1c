package draft_test

import (
	"fmt"
	"strings"

	"tri/lib/record/draft"
)

// Check holds a return to its schema and limits, and names every fault at once.
func ExampleReturn_Check() {
	r := &draft.Return{Confidence: "high", ConfidenceReason: "it is a constant",
		SummaryForOrchestrator: "The limit is 5.",
		DraftReply:             "It is 5.", DraftLanguage: "en"}
	for fault := range strings.SplitSeq(r.Check().Error(), "; ") {
		fmt.Println(fault)
	}
	// Output:
	// return: evidence_refs: is empty
	// without evidence confidence is low
	// investigator_round: is 0, want 1 to 9
}

package verdict_test

import (
	"fmt"

	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// Compute judges what code has found out about a draft.
func ExampleCompute() {
	v := verdict.Compute(verdict.Facts{Confidence: "high", Drift: verdict.None, Other: verdict.NoOverlap,
		Refs: []verdict.Ref{{Ref: "client.go:42", Result: verdict.Fabricated,
			Note: "there is no such file"}},
		Unsafe: []draft.Problem{{Name: "secret", Note: "a token", Fatal: true}}})
	fmt.Println(v.Verdict, v.SpotCheckResult)
	// Output:
	// bounce fabricated
}

// Worse folds an agent's verdict into that of code: it can only lower it.
func ExampleWorse() {
	bounce, pass := verdict.Verdict{Verdict: "bounce"}, verdict.Verdict{Verdict: "pass"}
	fmt.Println(verdict.Worse(bounce, pass).Verdict, verdict.Worse(pass, bounce).Verdict)
	// Output:
	// bounce bounce
}
